/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket that is one number: the time at which it will be full again. Taking a token moves
 * that by the time in which one comes back; what would move it further ahead than a whole bucket
 * takes is refused. Nothing has to run for the bucket to fill.
 *
 *     what was taken in any stretch of t ns costs at most burst + t / token_ns
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    uint64_t full_at_ns;
};

/* How far it is from being full. */
static inline uint64_t bucket_lacks_ns(const struct bucket *bucket, uint64_t now_ns)
{
    return bucket->full_at_ns > now_ns ? bucket->full_at_ns - now_ns : 0;
}

/* burst * token_ns fits, and `cost` is at most `burst`. Taken: 0; else how long it takes until it
 * could be, and nothing has changed. */
static inline uint64_t bucket_take(struct bucket *bucket, uint64_t token_ns, uint32_t burst,
                                   uint32_t cost, uint64_t now_ns)
{
    uint64_t lacks_ns = bucket_lacks_ns(bucket, now_ns) + cost * token_ns;

    if (lacks_ns > burst * token_ns)
        return lacks_ns - burst * token_ns;
    bucket->full_at_ns = now_ns + lacks_ns;
    return 0;
}

/* Whole tokens. */
static inline uint32_t bucket_left(const struct bucket *bucket, uint64_t token_ns, uint32_t burst,
                                   uint64_t now_ns)
{
    return (uint32_t)((burst * token_ns - bucket_lacks_ns(bucket, now_ns)) / token_ns);
}
