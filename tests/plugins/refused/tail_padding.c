/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: message padded has padding before its tail
 * A tail that does not begin where the struct ends. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(padded, 1, {
    uint64_t at;
    uint8_t kind, filler[7];
    char text[];
});
#else
ODEON_MESSAGE(padded, 1, {
    uint64_t at;
    uint8_t kind;
    char text[];
});
#endif
ODEON_INTERFACE(reader, padded);

int send_it(struct odeon_context *ctx, reader_ref ref);
int send_it(struct odeon_context *ctx, reader_ref ref)
{
    return odeon_send_tail(ctx, ref, padded, "abc", 3, .at = 1);
}
