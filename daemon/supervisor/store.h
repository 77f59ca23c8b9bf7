/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's descriptor store: what lies there outlives odeond, and comes back to the
 * next one by name.
 *
 * Without a service manager, or in the foreground, there is none, and every function does nothing.
 * Whether the manager has room (FileDescriptorStoreMax=) cannot be asked; one that has not forgets
 * what it is given. Event loop thread only.
 *
 * store.D1  Descriptors are kept with FDPOLL=0: what hangs up or ends, as the pidfd of a client
 *     does, stays until it is removed.
 * store.D2  After store_barrier() has returned 0, or a waiter was told of no error, what was pushed
 *     before is in the store.
 * store.D3  What the intake holds and nobody took leaves the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STORE_NAME_MAX = 64 };

struct stored {
    char *name;
    int fd; /* -1: taken */
};

struct store {
    bool enabled;
    size_t n;
    struct stored *intake; /* what the service manager handed over at the start, sockets included */
};

/* Takes what was handed over to this process.  0 or negative errno. */
int store_open(struct store *store, bool enabled);
void store_close(struct store *store);

/* From the intake: the descriptor, now the caller's, or -1. */
int store_take(struct store *store, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The listening SOCK_SEQPACKET socket of a socket unit, whatever its name; -1: there is none. */
int store_take_listener(struct store *store);
bool store_has(const struct store *store, const char *name);
/* Likewise, but it stays there, and the store's; -1: there is none. */
int store_look(const struct store *store, const char *name);
/* store.D3.  How many there were. */
size_t store_drop_rest(struct store *store);
/* Nothing of the intake is left. */
bool store_is_taken(const struct store *store);
/* Closes what was not taken and leaves it in the store. */
void store_forget_rest(struct store *store);

/* 0 or negative errno.  The descriptor stays the caller's. */
int store_push(const struct store *store, int fd, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* store.D2, before there is an event loop: waits. */
int store_barrier(const struct store *store);
/* store.D2, once there is one: the waiter is told. 0, or negative errno: it is not. */
struct line_waiter;
int store_add(const struct store *store, struct line_waiter *waiter);
void store_remove(const struct store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
