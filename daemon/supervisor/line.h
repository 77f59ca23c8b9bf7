/* SPDX-License-Identifier: Apache-2.0 */
/* The line to the service manager (NOTIFY_SOCKET): datagrams, some with a descriptor, and barriers.
 *
 * One of a process, as the socket is. Without a service manager nothing happens, and every barrier
 * has passed; one that cannot be reached is an error for whoever sends. Until line_start() there is
 * no event loop: what the socket does not take is waited for, some seconds. Afterwards nobody
 * waits. Event loop thread only.
 *
 * line.W1  Once there is a loop, no call waits for the service manager: what its socket does not
 *     take is queued here, and leaves when it does.
 * line.W2  Datagrams leave in the order of the calls, the barriers among them. A mere word
 *     (line_say) that would have to wait is left out; that the service is alive goes before them.
 * line.W3  A waiter is told once, when the service manager has taken everything that was sent
 *     before it was added, or that this cannot be known; never, if it is taken back.
 * line.W4  What had to wait and could not be sent after all is counted (line_lost), and so is a
 *     manager whose socket has gone: -EIO to everybody who has sent anything before that and waits
 *     for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/bounds.h"

/* More than all ports need to come and to go once: five descriptors, their client's, a barrier.
 * Each may hold a descriptor meanwhile. */
enum { LINE_WAITING_MAX = 12 * ODEON_PORTS_MAX };

struct line_waiter {
    struct line_waiter *next;
    uint64_t lost; /* its owner's: line_lost() before the first of what it waits for was sent */
    /* 0; -EIO: what was sent before may be lost; other negative errno: no barrier could be had */
    void (*passed)(struct line_waiter *waiter, int error);
};

/* Line feeds between the assignments. `fd` -1: none; it stays the caller's.  0 or negative errno,
 * -EIO where the manager has gone. */
int line_send(const char *text, int fd);
/* A word that is of no use later: it goes now, or is left out. False: for want of room, which comes
 * again. */
bool line_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The watchdog's word, which must not be late: before what waits, once, as soon as there is
 * room. */
void line_say_alive(void);
/* So many datagrams wait that whoever makes more of them should be refused. */
bool line_is_full(void);
/* line.W4.  What was sent when it was another number may be lost. */
uint64_t line_lost(void);

/* Before there is a loop: everything has been taken, or -ETIMEDOUT. */
int line_wait(void);
/* line.W3, at once where there is no service manager. 0, or negative errno: it is not added. */
int line_add(struct line_waiter *waiter);
void line_take_back(struct line_waiter *waiter);

/* 0, or negative errno: the socket cannot be watched, and nothing more can be sent. */
int line_start(uv_loop_t *loop);
/* Closes socket and handles; waiters that are left are told so (-ESHUTDOWN). */
void line_stop(void);
