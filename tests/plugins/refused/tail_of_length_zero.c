/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message chunk does not end in an array without a length
 * A tail that is told as a field of no bytes: the service would refuse to send any. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(chunk, 1, {
    uint64_t at;
    char text[];
});
#else
ODEON_MESSAGE(chunk, 1, {
    uint64_t at;
    char text[0];
});
#endif
ODEON_INTERFACE(reader, chunk);

int send_it(struct odeon_context *ctx, reader_ref ref);
int send_it(struct odeon_context *ctx, reader_ref ref)
{
    return odeon_send_tail(ctx, ref, chunk, "abc", 3, .at = 1);
}
