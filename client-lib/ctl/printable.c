/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/printable.h"

/* Bytes of the control character at `c`; 0: it is none. */
static size_t printable_control(const unsigned char *c)
{
    if (*c < 0x20 || *c == 0x7f)
        return 1;
    return *c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0;
}

void printable_put(FILE *out, const char *text, bool lines)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c) {
        size_t n = lines && *c == '\n' ? 0 : printable_control(c);

        fputc(n ? '?' : *c, out);
        c += n ? n : 1;
    }
}
