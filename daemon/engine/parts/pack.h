/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: how many workers work, and what a trial of fewer has come to (pack.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What all workers have done in some time. */
struct pack_work {
    uint64_t ns;
    uint64_t messages; /* run */
    uint64_t crossing; /* sent to a queue that was another worker's */
    bool busy;         /* all who do not rest were, at the end of it */
};

enum { PACK_RECENT = 3 };

enum pack_phase {
    PACK_STEADY,
    PACK_SETTLES, /* a trial has begun: queues move */
    PACK_TRIAL,
};

/* Of the engine; the control thread alone. */
struct packing {
    enum pack_phase phase;
    uint32_t before;            /* so many worked before the trial */
    bool fewer;                 /* what is tried next, or just now */
    struct pack_work seen;      /* at the beginning of this window: the time, and the counters */
    double rate, rate_known;    /* messages a microsecond: before the trial, at the last verdict */
    double recent[PACK_RECENT]; /* rates of windows */
    uint32_t windows;           /* since so many work */
    uint64_t next_ns;           /* no trial before */
    /* from a trial that was in vain to the next one */
    uint64_t pause_fewer_ns, pause_more_ns;
};
