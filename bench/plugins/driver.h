/* SPDX-License-Identifier: Apache-2.0 */
/* What the drivers of bench.so have in common. A driver is one actor; its behaviours run one at a
 * time. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include "bench.h"

#include <odeon/plugin.h>
#include <string.h>

/* How many actors a driver makes, or messages it sends, in one behaviour: more would ask for a
 * larger outbox than it needs to, and would keep everything else on its queue waiting. */
#define DRIVER_STEP 4096u

static inline uint64_t driver_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

/* Tells the client, and ends the driver. */
static inline int driver_finish(struct odeon_context *ctx, odeon_ref client, uint64_t elapsed_ns,
                                uint64_t messages)
{
    odeon_send_any(ctx, client, bench_result, .elapsed_ns = elapsed_ns, .messages = messages);
    return ODEON_DELETE;
}

static inline int driver_fail(struct odeon_context *ctx, odeon_ref client, int error,
                              const char *what)
{
    struct bench_result result = { .error = error };
    snprintf(result.what, sizeof(result.what), "%s", what);
    odeon_logf(ctx, ODEON_LOG_ERROR, "benchmark failed: %s (error %d)", what, error);
    odeon_send_(ctx, client, odeon_message_of(bench_result)->id, ODEON_BEHAVIOUR_UNKNOWN, &result,
                sizeof(result));
    return ODEON_DELETE;
}

#endif
