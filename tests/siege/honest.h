/* SPDX-License-Identifier: Apache-2.0 */
/* The honest ones of a siege: a process of a third user, with numbers that go round, calls that are
 * timed, and a visitor who comes, opens a port, calls and goes. It writes what it sees into memory
 * that the test shares; what is wrong first is told in words. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/system/harness.h"

enum { HONEST_STEPS = 32, HONEST_TIMES = 64 * HONEST_STEPS };

struct honest {
    const struct service *service;
    odeon_ref relay, echo; /* nobody else's */
    uint32_t number_type;
    _Atomic bool stop, is_wrong;
    _Atomic uint64_t numbers, calls, visits;
    _Atomic uint64_t times[HONEST_TIMES]; /* of calls: how many took so long, 32 steps an octave */
    char wrong[256];
    pid_t pid;
};

struct honest *honest_make(void);
/* `service`, `relay`, `echo` and `number_type` are set. */
void honest_begin(struct honest *honest);
/* Fails the test with what is wrong. */
void honest_expect_right(const struct honest *honest);
/* Everything that is under way comes back, and the numbers are judged. */
void honest_end(struct honest *honest);

/* The time that `part` of the calls since `before` (a copy of `times`) did not exceed, in us. */
double honest_quantile_us(const struct honest *honest, const uint64_t *before, double part);
void honest_copy_times(const struct honest *honest, uint64_t *ret_times);
