/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message chunk does not end in an array without a length
 * A tail that an attribute stands behind, in a message that is put together in place. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(chunk, 1, {
    uint64_t at;
    char text[];
});
#else
ODEON_MESSAGE(chunk, 1, {
    uint64_t at;
    char text[] __attribute__((aligned(8)));
});
#endif

struct odeon_message_object *make_it(struct odeon_context *ctx);
struct odeon_message_object *make_it(struct odeon_context *ctx)
{
    return odeon_msg_new_tail(ctx, chunk, 3);
}
