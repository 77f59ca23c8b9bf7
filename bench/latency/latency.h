/* SPDX-License-Identifier: Apache-2.0 */
/* What latency.so and odeon-latency agree on.
 *
 * Every message that is measured carries a time of CLOCK_MONOTONIC, which is the same in all
 * processes of a machine: the end of the work that it tells of (`ended_ns`), or the moment at which
 * it was to be sent (`at_ns`). Messages carry all that a run needs: the actors have no state, and
 * go on after the executor has been killed.
 */
#pragma once

#include <odeon/message.h>

/* One step of `n`: work, tell the client, send the next one to itself. Each `every`-th step (0:
 * none) takes slow_ns instead of work_ns. */
ODEON_MESSAGE(latency_step, 1, {
    odeon_ref client;
    uint64_t number, n;
    uint64_t work_ns, slow_ns, every;
    uint64_t sleeps; /* 1: work is to sleep, 0: to be busy */
});
/* One piece of work, answered. */
ODEON_MESSAGE(latency_request, 1, { uint64_t number, work_ns, sleeps; });
/* Sent when the work is done, as the last thing that the behaviour does. */
ODEON_MESSAGE(latency_done, 1, { uint64_t number, ended_ns; });

/* Timers from `number` to `n` are armed for first_ns + number * period_ns, and tell the client by
 * latency_done, whose time is the one for which it was armed. */
ODEON_MESSAGE(latency_arm, 1, {
    odeon_ref client;
    uint64_t first_ns, period_ns, number, n;
});
ODEON_MESSAGE(latency_due, 1, {
    odeon_ref client;
    uint64_t number, due_ns;
});

/* There and back: sent back as they are. */
ODEON_MESSAGE(latency_small, 1, { uint64_t at_ns; });
ODEON_MESSAGE(latency_large, 1, { uint64_t at_ns, filling[7]; });
ODEON_INTERFACE(latency_echo, latency_small, latency_large);

/* Through several actors: posted to a latency_front, answered to `client`. */
ODEON_MESSAGE(latency_ask, 1, {
    odeon_ref client;
    uint64_t at_ns, number;
});
ODEON_MESSAGE(latency_answer, 1, { uint64_t at_ns, number; });
ODEON_INTERFACE(latency_front, latency_ask);

enum { LATENCY_ACTORS_MAX = 16 };

/* What a latency_front makes of itself and others. */
struct latency_front_args {
    /* fan: so many actors behind it, all asked at once; chain: so many with itself, one behind the
     * other */
    uint32_t actors;
    uint32_t chain; /* 1: a chain */
};

/* Kinds: actor types that do the same. What is to be learnt about a kind is learnt from its own
 * handlers alone, so that no measurement begins with what another one has taught the service.
 * latency_kind_N: N is the power of ten of microseconds, and 6 more if the work is to sleep. */
enum { LATENCY_DECADES = 6, LATENCY_KINDS = 12 };
