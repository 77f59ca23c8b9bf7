/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JSON string; <odeon/codec.h>.  No state. */
#include <errno.h>
#include <stdlib.h>

#include "client-lib/src/error.h"
#include "client-lib/src/payload.h"

/* Length of the UTF-8 sequence at the beginning of n bytes (RFC 3629: no overlong forms, no
 * surrogates), 0: there is none. */
static unsigned text_utf8_length(const unsigned char *s, size_t n_bytes)
{
    uint32_t code;
    unsigned n;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        n = 2;
        code = s[0] & 0x1fu;
    } else if ((s[0] & 0xf0) == 0xe0) {
        n = 3;
        code = s[0] & 0x0fu;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        n = 4;
        code = s[0] & 0x07u;
    } else {
        return 0;
    }
    if (n > n_bytes)
        return 0;
    for (unsigned i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if ((n == 3 && code < 0x800) || (n == 4 && code < 0x10000) || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

void text_write_json(FILE *out, const void *bytes, size_t n_bytes)
{
    const unsigned char *s = bytes, *end = s + n_bytes;

    fputc('"', out);
    while (s < end) {
        unsigned n = text_utf8_length(s, (size_t)(end - s));

        if (!n) {
            fputs("\\ufffd", out);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s == '\n') {
            fputs("\\n", out);
        } else if (*s == '\t') {
            fputs("\\t", out);
            /* C0, DEL, C1: terminals act on them */
        } else if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) {
            fprintf(out, "\\u%04x", (unsigned)(n == 1 ? *s : s[1]));
        } else {
            fwrite(s, 1, n, out);
        }
        s += n;
    }
    fputc('"', out);
}

int odeon_text_quote_json(const void *bytes, size_t n, char **ret_text)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    if ((!bytes && n > 0) || !ret_text)
        return error_set_literal(-EINVAL, "odeon_text_quote_json: no bytes, or no place for the "
                                          "text. Give both");
    out = open_memstream(&text, &size);
    if (out)
        text_write_json(out, n > 0 ? bytes : "", n);
    if (!out || fclose(out) != 0) {
        free(text);
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    }
    *ret_text = text;
    return 0;
}
