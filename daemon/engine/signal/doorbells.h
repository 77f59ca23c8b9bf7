/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker waits for in epoll_wait(): the token of whoever wakes it, the doorbells of ports,
 * the timer that has somebody look after ports (help.K4).
 *
 * Threads: doorbells_take() and doorbells_poll() by the worker itself; the rest by the control
 * thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

int doorbells_open(struct engine *engine);
void doorbells_close(struct engine *engine);
int doorbells_worker_init(struct worker *w);
void doorbells_worker_fini(struct worker *w);
/* A port's doorbell in every worker's epoll; each rings one sleeper. */
int doorbells_watch(struct engine *engine, uint32_t port, int doorbell_fd);
void doorbells_unwatch(struct engine *engine, int doorbell_fd);
/* The same for one worker, which comes or has gone. */
int doorbells_watch_by(struct worker *w, uint32_t port, int doorbell_fd);
void doorbells_unwatch_by(struct worker *w, int doorbell_fd);

/* What has happened: GOT_EVENT, GOT_TOKEN (somebody claimed our sleepers bit, and this is his
 * wake-up), 0. */
enum { GOT_EVENT = 1, GOT_TOKEN = 2 };
#define WITHOUT_LIMIT UINT64_MAX
/* Waits for at most so long. */
unsigned doorbells_take(struct worker *w, uint64_t limit_ns);
/* Looks at doorbells without sleeping. */
void doorbells_poll(struct worker *w);
