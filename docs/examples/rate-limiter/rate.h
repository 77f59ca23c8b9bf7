/* SPDX-License-Identifier: Apache-2.0 */
/* The rate limiter's messages, for its plugin and its clients (README.md).
 *
 *     client ── rate_take ──► front ══ forwarded ══► limiter of the key
 *        ▲────────────────── rate_answer ──────────────┘
 *
 *     limiter ── rate_unused ──► front ── rate_leave ──► limiter ── rate_left ──► front
 */
#pragma once

#include <odeon/message.h>

enum {
    RATE_KEY_MAX = 44,   /* bytes of a key, its ending 0 included */
    RATE_FRONT_MAX = 16, /* of the front's name */
};

/* May this key have `cost` tokens? 0 only looks. A key has the characters of a name: letters,
 * digits, `_`, `.` and `-`. */
ODEON_MESSAGE(rate_take, 1, {
    uint32_t cost;
    char key[44];
});

enum rate_outcome {
    RATE_ALLOWED = 0,
    RATE_LIMITED = 1, /* in `wait_ms` it would be allowed, if nobody else takes anything */
    RATE_NEVER = 2,   /* it costs more than a full bucket has */
    RATE_NO_KEY = 3,  /* this cannot be a key */
    RATE_NO_ROOM = 4, /* as many keys are in use as there may be, or the service has no room */
    RATE_BUSY = 5,    /* queues are full; nothing was taken: try again in `wait_ms` */
};

ODEON_MESSAGE(rate_answer, 1, {
    uint32_t outcome; /* enum rate_outcome */
    uint32_t left;    /* whole tokens that the bucket has now */
    uint64_t wait_ms;
});

/* ---- Between limiter and front: the end of a key that is not used. ---- */

ODEON_SIGNAL(rate_tick, 1); /* a limiter's timer */
ODEON_MESSAGE(rate_unused, 1, { char key[44]; });
ODEON_SIGNAL(rate_leave, 1);
/* 0: the limiter has ended with this message; 1: it has been used meanwhile, and goes on */
ODEON_MESSAGE(rate_left, 1, { uint64_t stays; });

ODEON_INTERFACE(rate_front, rate_take, rate_unused, rate_left);
ODEON_INTERFACE(rate_limiter, rate_take, rate_tick, rate_leave);
