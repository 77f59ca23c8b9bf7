/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that hang when they are told to, and actors that keep workers busy beside them: messages,
 * and the page of shared memory through which the test sees what they do without asking the
 * service. */
#pragma once

#include <odeon/message.h>
#include <stdatomic.h>

enum { STUCK_RUNNERS = 24, STUCK_TOKENS = 8 /* each */, STUCK_TOLD = 64 /* one of so many */ };

/* until the page says release: 0 computes, 1 sleeps */
ODEON_MESSAGE(stuck_hang, 1, { uint64_t blocks; });
ODEON_MESSAGE(stuck_count, 1, { uint64_t n; }); /* to a hanger: is counted, and must be the next */
ODEON_MESSAGE(stuck_slow, 1, { uint64_t ns; }); /* the same, in any order, and takes its time */
ODEON_MESSAGE(stuck_link, 1, { odeon_ref next; });
ODEON_MESSAGE(stuck_token, 1, { uint64_t hops; });
/* number n of many that an actor sends itself; it tells some. Number `hang` does not return until
 * the page says release; none is sent behind a halt. */
ODEON_MESSAGE(stuck_turn, 1, {
    odeon_ref told;
    uint64_t n, hang, blocks, round;
});
ODEON_MESSAGE(stuck_told, 1, { uint64_t index, n, round; });
ODEON_INTERFACE(stuck_hanger, stuck_hang, stuck_count, stuck_turn, stuck_slow);
ODEON_INTERFACE(stuck_runner, stuck_link, stuck_token);

struct stuck_args {
    uint32_t index; /* of a runner, of a hanger */
    char page[96];  /* file */
};

/* Written by the test: release, halt.  By actors: the rest. */
struct stuck_page {
    _Atomic uint32_t release; /* hangers return */
    _Atomic uint32_t halt;    /* runners keep their tokens */
    _Atomic uint32_t entered, left;
    _Atomic uint32_t linked; /* runners that know the next one */
    _Atomic uint64_t unsent; /* tokens that could not be passed on */
    _Atomic uint64_t absorbed, counted[8], out_of_order;
    _Atomic uint64_t turns[8], told[8]; /* by hanger: begun; the last number that it has told */
    struct {
        _Alignas(64) _Atomic uint64_t hops;
    } runners[STUCK_RUNNERS];
};
