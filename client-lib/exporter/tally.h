/* SPDX-License-Identifier: Apache-2.0 */
/* What the exporter counts of itself. One thread. */
#pragma once

#include <stdint.h>

enum tally_refusal {
    TALLY_METHOD, /* neither GET nor HEAD */
    TALLY_HOST,   /* a host that is not this one */
    TALLY_TOKEN,  /* a wrong one */
    TALLY_PATH,   /* nothing is there */
    TALLY_BUSY,   /* there is no memory for the answer */
    TALLY_REFUSALS
};

struct tally {
    uint64_t scrapes; /* metrics that were answered */
    uint64_t refused[TALLY_REFUSALS];
    uint64_t accepted;         /* connections, */
    uint64_t ended_for_others; /* ... ended since others needed their place, */
    uint64_t ended_late;       /* ... or since their time was over */
    unsigned connections;      /* now */
};

extern const char *const tally_refusals[TALLY_REFUSALS];
