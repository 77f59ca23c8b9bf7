/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping, and what keeps it safe (docs/engine.md; the Mercury paper's selective wake-up). Model:
 * tests/model/gulp_steal_park.pml, whose rule names stand in brackets; K1 and K2 are wake.h's.
 *
 * K3  Whoever ends a search or begins a run while somebody sleeps looks for more work and wakes one
 *     [SEARCH_END, RUN_LOOK].
 * K4  Ports whose owner polls them ring nobody; if their owner is stuck in a handler, the stall
 *     timer has another worker look after them.  It is armed only while somebody is busy and
 *     somebody sleeps: an idle service makes no system call.
 * K5  A sleep with a limit ends at it only by claiming the own bit back; else a token is under way
 *     and waited for [TIMEOUT_CLAIM].
 *
 * Threads: the worker itself.
 */
#pragma once

#include "daemon/engine/wake.h"

int park_init(struct engine *engine);
void park_fini(struct engine *engine);
int park_worker_init(struct worker *w);
void park_worker_fini(struct worker *w);
/* A port's doorbell in every worker's epoll; each rings one sleeper. */
int park_watch_doorbell(struct engine *engine, uint32_t port, int doorbell_fd);
void park_unwatch_doorbell(struct engine *engine, int doorbell_fd);
/* The same for one worker, which comes or has gone. */
int park_watch_doorbell_by(struct worker *w, uint32_t port, int doorbell_fd);
void park_unwatch_doorbell_by(struct worker *w, int doorbell_fd);

/* After the own word was taken with busy set before it: looks whether a sleeper should help. */
void park_begin_run(struct worker *w, uint32_t source);
/* Behind a flush in the middle of a batch, or between the lanes of a mailbox, before the next
 * handler, which may never return: is there work for others, but for the source `except`, which is
 * being run? */
void park_mid_look(struct worker *w, uint32_t except);
void park_end_run(struct worker *w);
/* Has the control thread look at running handlers after a while, unless it will anyhow (stall.h,
 * WA1). */
void park_watch_arm(struct engine *engine);
/* Sleeps until woken, at most limit_ns (0: without a limit), unless there is something to do.
 * Called with nothing taken. */
enum park_end { PARK_WOKEN, PARK_TIMED_OUT };
enum park_end park_sleep(struct worker *w, uint64_t limit_ns);
/* Looks at doorbells without sleeping. */
void park_poll_doorbells(struct worker *w);
/* Claims the worker's sleepers bit and wakes it (K1); nothing if it is awake, or somebody else's
 * wake-up is under way. */
void park_wake_sleeper(struct engine *engine, uint32_t worker);
/* All workers stand: nobody searches any more, no hint is left. Each looks everywhere before it
 * sleeps again. */
void park_forget(struct engine *engine);
bool park_worker_sleeps(struct engine *engine, uint32_t worker);
