/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/src/traffic.h"

struct odeon_traffic traffic_copy(const Odeon__Traffic *from)
{
    if (!from)
        return (struct odeon_traffic){ 0 };
    return (struct odeon_traffic){
        .known = 1,
        .posts = from->posts,
        .refused = from->refused,
        .dropped = from->dropped,
        .calls_answered = from->calls_answered,
        .calls_refused = from->calls_refused,
        .calls_late = from->calls_late,
        .call_p50_ns = from->p50_ns,
        .call_p99_ns = from->p99_ns,
        .call_most_ns = from->longest_ns,
    };
}
