/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: text
 * A tail of another name in a message whose tail is to be called `text`. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE_TAIL(picture, 1, bytes, {
    uint64_t at;
    uint8_t bytes[];
});
#else
ODEON_MESSAGE(picture, 1, {
    uint64_t at;
    uint8_t bytes[];
});
#endif
ODEON_INTERFACE(reader, picture);

int send_it(struct odeon_context *ctx, reader_ref ref);
int send_it(struct odeon_context *ctx, reader_ref ref)
{
    return odeon_send_tail(ctx, ref, picture, "abc", 3, .at = 1);
}
