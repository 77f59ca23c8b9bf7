/* SPDX-License-Identifier: Apache-2.0 */
/* A service manager for tests: what of systemd matters to a service that must not lose anything.
 *
 * It starts odeond with descriptors (LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID), listens to what it is
 * told (NOTIFY_SOCKET), keeps descriptors for it and starts it again. As systemd 252 does it:
 *
 * manager.M1  FDSTORE=1 keeps the descriptors of its datagram under FDNAME; one that is kept
 *     already is not kept twice. FDSTOREREMOVE=1 drops all of that name.  Without FDPOLL=0 a
 *     descriptor that hangs up or fails is dropped.
 * manager.M2  The store outlives a restart, wanted or not, and ends with a stop.  Starting hands
 *     out duplicates.
 * manager.M3  BARRIER=1: its descriptor is closed when everything that was sent before has been
 *     taken.
 * manager.M4  Only the main process is listened to.  What it sent before its end is taken before
 *     its end is noticed.
 *
 * One thread of its own does all that; every function here may be called from the thread that runs
 * the tests. The object lives until manager_end(); what a failing test leaves behind ends with the
 * test program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/system/harness.h"

struct manager;

struct manager_options {
    const char *program;          /* NULL: the odeond of this build */
    const char *const *arguments; /* further words up to NULL */
    const char *environment;      /* one "KEY=VALUE" for the first start; NULL: none */
    bool activate;                /* hands over a listening control socket, as a socket unit does */
};

/* Makes a runtime directory and starts; does not wait. */
struct manager *manager_start(const struct manager_options *options);
/* Ends it in whatever state it is.  Returns NULL. */
struct manager *manager_end(struct manager *manager);

/* Directory, socket, log and figures, for the functions of harness.h that need no process id. */
struct service *manager_service(struct manager *manager);
/* Of the process that runs now; 0: none does. */
pid_t manager_pid(struct manager *manager);
/* How often it has been started, and how often READY=1 came. */
unsigned manager_starts(struct manager *manager);
unsigned manager_readies(struct manager *manager);
/* How often it has died of a signal that was not SIGKILL. */
unsigned manager_crashes(struct manager *manager);
/* How often it has exited with a status other than 0. */
unsigned manager_failures(struct manager *manager);
/* How often WATCHDOG=1 came. */
unsigned manager_feeds(struct manager *manager);
/* How often EXTEND_TIMEOUT_USEC= came, and the last one's value; 0: there was none. */
unsigned manager_extensions(struct manager *manager);
unsigned long manager_extended_us(struct manager *manager);
/* The last STATUS=; the caller frees it. */
char *manager_status(struct manager *manager);

/* `odeonctl executor set`, which is not refused. */
void manager_set(struct manager *manager, const char *setting);

/* Until the process that runs now has said READY=1. */
void manager_wait_ready(struct manager *manager);
/* Kills the process and waits for its end; the next one is started at once unless it is held back.
 * The killed one's id. */
pid_t manager_kill(struct manager *manager);
/* ... until the next one serves. */
void manager_kill_and_wait(struct manager *manager);
/* The executor alone, or the process, and its executor with it: until the next one serves. */
void manager_kill_executor(struct manager *manager);
void manager_kill_both(struct manager *manager);
/* As `systemctl restart`: SIGTERM, its end, the next start.  The wait status. */
int manager_restart(struct manager *manager);
/* As `systemctl stop`: SIGTERM, its end, the store is dropped.  The wait status. */
int manager_stop(struct manager *manager);
/* After a stop: starts it again. */
void manager_start_again(struct manager *manager);
/* While held, a process that has ended is not followed by another. */
void manager_hold(struct manager *manager, bool held);
/* While deaf, it takes nothing that it is told, as one that is stopped. */
void manager_set_deaf(struct manager *manager, bool deaf);
/* Of a deaf one: its socket has no more room, for words of somebody whom it does not listen to. */
void manager_fill(struct manager *manager);
/* Its socket is made anew; what lay in the former one is lost. */
void manager_replace_socket(struct manager *manager);
/* From the next start on.  `environment`: one "KEY=VALUE", for the next start alone; NULL: none. */
void manager_set_program(struct manager *manager, const char *program,
                         const char *const *arguments);
void manager_set_environment(struct manager *manager, const char *environment);

/* What is kept. */
size_t manager_store_count(struct manager *manager, const char *prefix);
/* A duplicate, -1: nothing of that name. */
int manager_store_get(struct manager *manager, const char *name);
/* All names, sorted, one a line, statistics by one name; the caller frees it. */
char *manager_store_list(struct manager *manager);
/* Puts something into the store that odeond did not. */
void manager_store_put(struct manager *manager, const char *name, int fd);
void manager_store_drop(struct manager *manager, const char *name);
