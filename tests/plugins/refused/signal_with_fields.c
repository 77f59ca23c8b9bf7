/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: counter_add has fields
 * A message with fields, sent as a signal. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_SIGNAL(counter_add, 1);
#else
ODEON_MESSAGE(counter_add, 1, { int64_t amount; });
#endif
ODEON_INTERFACE(counter, counter_add);

int send_it(struct odeon_context *ctx, counter_ref ref);
int send_it(struct odeon_context *ctx, counter_ref ref)
{
    return odeon_signal(ctx, ref, counter_add);
}
