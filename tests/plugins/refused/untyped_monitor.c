/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: this reference, an odeon_ref, does not say what its actor accepts
 * NEVER: member
 * NEVER: tructure
 * An odeon_ref that is monitored as if it said what its actor accepts. */
#include <odeon/plugin.h>

ODEON_MESSAGE(counter_add, 1, { int64_t amount; });
ODEON_SIGNAL(counter_get, 1);
ODEON_INTERFACE(counter, counter_add, counter_get);

#ifdef CORRECT
typedef counter_ref reference;
#else
typedef odeon_ref reference;
#endif

int watch_it(struct odeon_context *ctx, const reference ref);
int watch_it(struct odeon_context *ctx, const reference ref)
{
    return odeon_monitor(ctx, NULL, ref);
}
