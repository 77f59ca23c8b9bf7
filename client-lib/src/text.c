/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JSON string; <odeon/codec.h>.  No state. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <odeon/codec.h>

#include "client-lib/src/error.h"

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

/* What stands for the n bytes at `s`, 1 to 6 characters; the end of it. */
static char *text_put_json(char *at, const unsigned char *s, unsigned n)
{
    static const char digits[] = "0123456789abcdef";

    if (n == 0) {
        at = stpcpy(at, "\\ufffd");
    } else if (*s == '"' || *s == '\\') {
        *at++ = '\\';
        *at++ = (char)*s;
    } else if (*s == '\n' || *s == '\t') {
        *at++ = '\\';
        *at++ = *s == '\n' ? 'n' : 't';
    } else if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) {
        /* both sets of controls, and DEL: terminals act on them */
        unsigned char code = n == 1 ? *s : s[1];

        at = stpcpy(at, "\\u00");
        *at++ = digits[code >> 4];
        *at++ = digits[code & 0xf];
    } else {
        at = mempcpy(at, s, n);
    }
    return at;
}

int odeon_text_quote_json(const void *bytes, size_t n, char **ret_text)
{
    const unsigned char *s = bytes, *end = s + n;
    char *text, *at;

    if ((!bytes && n > 0) || !ret_text)
        return error_set_literal(-EINVAL, "odeon_text_quote_json: no bytes, or no place for the "
                                          "text. Give both");
    text = n < SIZE_MAX / 8 ? malloc(6 * n + 3) : NULL;
    if (!text)
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    at = text;
    *at++ = '"';
    while (s < end) {
        unsigned length = text_utf8_length(s, (size_t)(end - s));

        at = text_put_json(at, s, length);
        s += length ? length : 1;
    }
    *at++ = '"';
    *at = '\0';
    *ret_text = text;
    return 0;
}
