/* SPDX-License-Identifier: Apache-2.0 */
/* Who has most: space-saving (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and
 * Top-k Elements in Data Streams, 2005). Of N counters, who is not counted takes over the least,
 * with what that one had as its error.
 *
 * Threads: those of observed_layout.V1: one writer.
 *
 * sketch.K1  A counter says at most its error too much, never too little, and whoever has had more
 *     than a N-th of all is counted.
 * sketch.K2  A window begins anew behind SKETCH_WINDOW_NS, and the one before it is kept as it was:
 *     what was most long ago is not what is most now.
 */
#pragma once

#include "daemon/engine/core/core.h"

#define SKETCH_WINDOW_NS UINT64_C(1000000000)

/* What one sample, or one message that was timed by itself, adds. */
struct sketch_sample {
    uint64_t now_ns;
    uint64_t ref, type;
    uint64_t add[OBSERVED_BY_N]; /* ns, messages, ns; 0: nothing */
    uint64_t flow;               /* key of an observed_flow, 0: none */
    uint64_t flow_messages;
};
void sketch_add(struct observed_worker *block, const struct sketch_sample *sample);
