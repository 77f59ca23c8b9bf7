/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a person into the bytes of a payload (<odeon/codec.h>; proto/fields_fill.h fills). */
#include "client-lib/src/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/error.h"
#include "proto/fields_fill.h"

void odeon_layout_describe(const struct odeon_layout *layout, char *text, size_t size)
{
    fields_describe(&layout->list, text, size);
}

int odeon_payload_fill(const struct odeon_layout *layout, char *const *words, size_t n_words,
                       uint32_t size_min, void **ret_payload, size_t *ret_size)
{
    char text[FIELDS_FILL_TEXT_MAX];
    size_t size = size_min;
    uint8_t *payload;
    int r;

    if (!layout || (!words && n_words > 0) || !ret_payload || !ret_size)
        return error_set_literal(-EINVAL, "odeon_payload_fill: an argument is missing. Give a "
                                          "layout, words and places for the payload");
    if (size_min > ODEON_PAYLOAD_BYTES_MAX)
        return error_set(
            -EMSGSIZE,
            "it is registered with %u bytes, more than a message holds. Send it from a program",
            size_min);
    payload = calloc(1, ODEON_PAYLOAD_BYTES_MAX);
    if (!payload)
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    r = fields_fill(&layout->list, words, n_words, payload, &size, text);
    if (r) {
        free(payload);
        return error_set(r, "%s", text);
    }
    *ret_payload = payload;
    *ret_size = size;
    return 0;
}

void odeon_payload_free(void *payload)
{
    free(payload);
}

static int payload_fill_hex_word(const char *word, uint8_t *bytes, size_t bytes_max, size_t *size)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = word;

    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    for (; *at; at += 2) {
        const char *high = strchr(digits, at[0]), *low = at[1] ? strchr(digits, at[1]) : NULL;
        ptrdiff_t h, l;

        if (!high || !low)
            return error_set(
                -EINVAL,
                "'%.63s' is not an even number of hexadecimal digits. Write two for each byte",
                word);
        if (*size == bytes_max)
            return error_set(-E2BIG, "there are more than %zu bytes. Leave some out", bytes_max);
        h = high - digits;
        l = low - digits;
        bytes[(*size)++] = (uint8_t)((h > 15 ? h - 6 : h) << 4 | (l > 15 ? l - 6 : l));
    }
    return 0;
}

int odeon_payload_parse_hex(char *const *words, size_t n_words, void *bytes, size_t bytes_max,
                            size_t *ret_size)
{
    size_t size = 0;

    for (size_t i = 0; i < n_words; i++) {
        int r = payload_fill_hex_word(words[i], bytes, bytes_max, &size);

        if (r < 0)
            return r;
    }
    *ret_size = size;
    return 0;
}
