/* SPDX-License-Identifier: Apache-2.0 */
/* The actor of bench/restart, and the page of memory that it shares with the benchmark. */
#pragma once

#include <odeon/message.h>
#include <stdatomic.h>

ODEON_MESSAGE(gate_message, 1, { uint64_t n; });
ODEON_INTERFACE(gate_actor, gate_message);

struct gate_args {
    char page[200]; /* file */
};

struct gate_page {
    _Atomic uint32_t closed;   /* a futex, which nobody wakes: whoever waits is killed */
    _Atomic uint64_t first_ns; /* CLOCK_MONOTONIC, of the first message behind the open gate */
    _Atomic uint64_t processed;
};
