/* SPDX-License-Identifier: Apache-2.0 */
/* A change that is under way (run/reconfigure.h).  Control thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum reconfiguration_phase {
    RECONFIGURATION_NONE,
    RECONFIGURATION_COME,  /* workers are to come to the barrier */
    RECONFIGURATION_STAND, /* all are there */
    RECONFIGURATION_REST,  /* they run, between two tries */
    RECONFIGURATION_GO     /* it has been made: they go on */
};

struct reconfiguration {
    enum reconfiguration_phase phase;
    uint32_t before, after; /* that run, and that will */
    uint32_t seen;          /* workers below it have come, or gone on */
    uint32_t stuck;         /* who was missing at the last try, UINT32_MAX: nobody */
    int error;              /* it has failed, and is over when the threads have ended */
    uint32_t ends, ends_to; /* workers [ends, ends_to) have threads that end */
    uint64_t try_until_ns, rest_until_ns, until_ns, moved;
};
