/* SPDX-License-Identifier: Apache-2.0 */
/* The work queue's messages, for its plugin, its producers and its consumers (README.md).
 *
 *     producer ── work_put ──► queue ══ forwarded ══► the job's actor ── work_taken ──► producer
 *
 *     consumer ── work_ready ──► queue ── work_lease ──► job ── work_job ──► consumer
 *                                                        job ◄── work_done ──┘
 *                                                        job ── work_closed ──► consumer
 */
#pragma once

#include <odeon/message.h>
#include <odeon/monitor.h>

enum {
    WORK_BYTES_MAX = 3968, /* of a job: a kept state has 4096 bytes, the rest is its books */
    WORK_QUEUE_MAX = 16,   /* bytes of the queue's name, its ending 0 included */
    WORK_FLIGHT_MAX = 96,  /* jobs that consumers have, or have given back, at a time */
    WORK_CONSUMERS_MAX = 24,
    WORK_WAITERS_MAX = 4,
};

enum work_outcome {
    WORK_OK = 0,
    WORK_FULL = 1,      /* as many jobs wait, or are leased, as may */
    WORK_TOO_LARGE = 2, /* more than WORK_BYTES_MAX */
    WORK_BUSY = 3,      /* queues are full, nothing was taken: try again */
    WORK_LATE = 4,      /* this lease is over: the job is somebody else's, or waits */
    WORK_NO_SUCH = 5,   /* no job of this number is put away */
};

/* ---- Producers ---- */

/* A job. `kind` is the producer's own word, which the consumer sees. */
ODEON_MESSAGE_TAIL(work_put, 1, data, {
    uint64_t kind;
    uint8_t data[];
});
/* WORK_OK: the job is kept, whatever dies, until a consumer says that it is done. */
ODEON_MESSAGE(work_taken, 1, {
    uint64_t number;
    uint32_t outcome;
});
/* Is answered when no job waits and none is leased. */
ODEON_SIGNAL(work_wait, 1);
ODEON_MESSAGE(work_empty, 1, { uint64_t done, buried, lost; });

/* ---- Consumers: clients, or actors that accept work_job, work_closed and work_refused ---- */

/* To the queue: whoever sends it takes up to `window` jobs at a time from now on; 0: none. An actor
 * that begins anew after a crash sends it again. */
ODEON_MESSAGE(work_ready, 1, { uint32_t window; });
/* The answer, if there is no room for one more consumer. Who gets it is lent nothing from now on,
 * also if it was a consumer before. */
ODEON_MESSAGE(work_refused, 1, { uint32_t outcome; });
/* A job, leased for so long. It is lent for the `attempt`th time of `attempts` (0: any number);
 * with each kick these are more. */
ODEON_MESSAGE_TAIL(work_job, 1, data, {
    uint64_t number, kind, lease_ns;
    uint32_t attempt, attempts;
    uint8_t data[];
});
/* To the sender of work_job, each answered by work_closed: it is done, and its actor ends; it has
 * failed, and is tried again at once; the lease begins anew. Who is so late that the job is done,
 * and its actor has ended, has no such answer but a refusal (no-such-actor). */
ODEON_MESSAGE(work_done, 1, { uint32_t attempt; });
ODEON_MESSAGE(work_failed, 1, { uint32_t attempt; });
ODEON_MESSAGE(work_more, 1, { uint32_t attempt; });
ODEON_MESSAGE(work_closed, 1, {
    uint64_t number;
    uint32_t attempt;
    uint32_t outcome; /* WORK_OK, WORK_LATE */
});

/* ---- Operators ---- */

ODEON_SIGNAL(work_look, 1);
ODEON_MESSAGE(work_books, 1, {
    uint64_t waiting, leased, returned, done, buried, lost;
    uint32_t consumers, window; /* that all of them have together */
});
/* A job that was put away after its last attempt is tried again; answered by work_taken. */
ODEON_MESSAGE(work_kick, 1, { uint64_t number; });

/* ---- Between the queue and its jobs ---- */

ODEON_SIGNAL(work_go, 1);   /* a queue to itself: somebody may take something */
ODEON_SIGNAL(work_tick, 1); /* timers of both */
ODEON_MESSAGE(work_lease, 1, { odeon_ref consumer; });
/* The lease is over, the job is not done. */
enum work_why { WORK_WHY_OVER = 0, WORK_WHY_GONE = 1, WORK_WHY_FULL = 2 };
ODEON_MESSAGE(work_back, 1, {
    uint32_t why;    /* its consumer was too late, or has failed; has ended; has no room for it */
    uint32_t buried; /* 1: that was its last attempt */
});

ODEON_INTERFACE(work_queue, work_put, work_wait, work_ready, work_look, work_kick, work_go,
                work_tick, work_back, odeon_down);
ODEON_INTERFACE(work_item, work_put, work_lease, work_done, work_failed, work_more, work_tick,
                odeon_down);
