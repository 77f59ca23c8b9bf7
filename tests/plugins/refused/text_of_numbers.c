/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: ODEON_TEXT is for fields that are arrays of char
 * A text for a field that is none. */
#include <odeon/plugin.h>

#ifdef CORRECT
ODEON_MESSAGE(named, 1, { char name[16]; });
#else
ODEON_MESSAGE(named, 1, { uint16_t name[16]; });
#endif
ODEON_INTERFACE(reader, named);

int send_it(struct odeon_context *ctx, reader_ref ref, const char *name);
int send_it(struct odeon_context *ctx, reader_ref ref, const char *name)
{
    return odeon_send(ctx, ref, named, ODEON_TEXT(name, name));
}
