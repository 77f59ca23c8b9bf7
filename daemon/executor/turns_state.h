/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor keeps of its control thread's turns; only turns.c looks at it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct turns {
    uv_prepare_t prepare;
    bool counts;       /* the executor has been ready at the end of a turn */
    uint64_t begin_ns; /* of this turn */
    uint64_t piece_ns; /* of this piece */
    const char *piece; /* static text; NULL: nothing that has a name */
    uint64_t most_ns;  /* of the turn's pieces the longest */
    const char *most;
    uint64_t longest_ns;
};
