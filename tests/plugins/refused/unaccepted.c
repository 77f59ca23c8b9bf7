/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: no member named
 * EXPECT: counter_reset
 * EXPECT: counter_accepts
 * A message that the receiver's interface does not have. With -DCORRECT it has it, and this
 * compiles. */
#include <odeon/plugin.h>

ODEON_MESSAGE(counter_add, 1, { int64_t amount, weight; });
ODEON_MESSAGE(counter_reset, 1, { int64_t to; });
#ifdef CORRECT
ODEON_INTERFACE(counter, counter_add, counter_reset);
#else
ODEON_INTERFACE(counter, counter_add);
#endif

int send_it(struct odeon_context *ctx, counter_ref ref);
int send_it(struct odeon_context *ctx, counter_ref ref)
{
    return odeon_send(ctx, ref, counter_reset, .to = 1);
}
