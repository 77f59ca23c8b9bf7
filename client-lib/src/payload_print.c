/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a payload as text (<odeon/codec.h>).
 *
 * The layout says where to read and was checked against the payload's size first: no byte outside
 * of it is looked at. A payload has 32 KiB at most and a byte gives at most 6 characters, a field
 * its name and a few signs: what comes out is bounded by ODEON_PAYLOAD_TEXT_MAX.
 */
#include "client-lib/src/payload.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/error.h"
#include "proto/plain_locale.h"

struct payload_print {
    FILE *out;
    enum odeon_payload_form form;
    bool failed; /* no memory */
};

static void payload_print_signed(FILE *out, uint64_t bits, uint32_t size)
{
    unsigned shift = 64 - size * 8;

    fprintf(out, "%" PRId64, (int64_t)(bits << shift) >> shift);
}

/* As few digits as give the same number again. */
static void payload_print_float(const struct payload_print *p, uint64_t bits, uint32_t size)
{
    int digits = size == 4 ? 6 : 15, most = size == 4 ? 9 : 17;
    double number;
    char text[40];

    if (size == 4) {
        float single;

        memcpy(&single, &bits, sizeof(single));
        number = (double)single;
    } else {
        memcpy(&number, &bits, sizeof(number));
    }
    if (!isfinite(number)) {
        fputs(p->form == ODEON_PAYLOAD_JSON ? "null"
              : isnan(number)               ? "nan"
              : number < 0                  ? "-inf"
                                            : "inf",
              p->out);
        return;
    }
    do {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (size == 4 ? strtof(text, NULL) == (float)number : strtod(text, NULL) == number)
            break;
    } while (digits++ < most);
    fputs(text, p->out);
}

static bool payload_print_is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-.,:/@%+", c));
}

static void payload_print_words_text(FILE *out, const uint8_t *bytes, size_t n)
{
    bool plain = true;

    for (size_t i = 0; i < n; i++)
        plain = plain && payload_print_is_plain(bytes[i]);
    if (plain) {
        fwrite(bytes, 1, n, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '"' || bytes[i] == '\\')
            fprintf(out, "\\%c", bytes[i]);
        else if (bytes[i] < 0x20 || bytes[i] >= 0x7f)
            fprintf(out, "\\x%02x", bytes[i]);
        else
            fputc(bytes[i], out);
    }
    fputc('"', out);
}

static void payload_print_json_text(struct payload_print *p, const uint8_t *bytes, size_t n)
{
    char *text;

    if (odeon_text_quote_json(bytes, n, &text) < 0) {
        p->failed = true;
        return;
    }
    fputs(text, p->out);
    odeon_payload_free(text);
}

static void payload_print_text(struct payload_print *p, const uint8_t *bytes, size_t n)
{
    while (n > 0 && bytes[n - 1] == '\0')
        n--;
    if (p->form == ODEON_PAYLOAD_JSON)
        payload_print_json_text(p, bytes, n);
    else
        payload_print_words_text(p->out, bytes, n);
}

static void payload_print_ref(const struct payload_print *p, odeon_ref ref)
{
    const char *quote = p->form == ODEON_PAYLOAD_JSON ? "\"" : "";
    char text[ODEON_REF_TEXT];

    fprintf(p->out, "%s%s%s", quote, odeon_ref_format(ref, text), quote);
}

static void payload_print_element(struct payload_print *p, const struct field_type *type,
                                  const uint8_t *at)
{
    uint64_t bits = 0;

    memcpy(&bits, at, type->size); /* both architectures are little endian */
    switch (type->kind) {
    case FIELD_SIGNED:
        payload_print_signed(p->out, bits, type->size);
        break;
    case FIELD_UNSIGNED:
        fprintf(p->out, "%" PRIu64, bits);
        break;
    case FIELD_FLOAT:
        payload_print_float(p, bits, type->size);
        break;
    case FIELD_BOOL:
        fputs(bits ? "true" : "false", p->out);
        break;
    case FIELD_CHAR:
        payload_print_text(p, at, 1);
        break;
    case FIELD_REF:
        payload_print_ref(p, bits);
        break;
    }
}

/* `n` elements: what the payload has of a tail, the declared number else. */
static void payload_print_field(struct payload_print *p, const struct field *f, const uint8_t *at,
                                size_t n)
{
    bool json = p->form == ODEON_PAYLOAD_JSON;

    fprintf(p->out, json ? "\"%s\":" : "%s=", f->name);
    if (f->array && f->type.kind == FIELD_CHAR) {
        payload_print_text(p, at, n);
        return;
    }
    if (f->array && json)
        fputc('[', p->out);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', p->out);
        payload_print_element(p, &f->type, at + i * f->type.size);
    }
    if (f->array && json)
        fputc(']', p->out);
}

static int payload_print_check(const struct odeon_layout *layout, const void *payload, size_t size,
                               enum odeon_payload_form form, char **ret_text)
{
    if (!layout || (!payload && size > 0) || !ret_text)
        return error_set_literal(-EINVAL, "odeon_payload_print: an argument is missing. Give a "
                                          "layout, a payload and a place for the text");
    if (form != ODEON_PAYLOAD_WORDS && form != ODEON_PAYLOAD_JSON)
        return error_set(-EINVAL,
                         "odeon_payload_print: there is no form %d. Use those of enum "
                         "odeon_payload_form",
                         (int)form);
    if (size > ODEON_PAYLOAD_BYTES_MAX)
        return error_set(-EMSGSIZE,
                         "a payload of %zu bytes: messages have %d at most. Print a "
                         "part of it",
                         size, ODEON_PAYLOAD_BYTES_MAX);
    if (layout->list.has_tail) {
        uint32_t element = layout->list.field[layout->list.n - 1].type.size;

        if (size < layout->list.tail_offset)
            return error_set(-EBADMSG,
                             "the payload has %zu bytes, its fields before the tail %u. It is of "
                             "another type",
                             size, layout->list.tail_offset);
        if ((size - layout->list.tail_offset) % element != 0)
            return error_set(-EBADMSG,
                             "the payload's tail has %zu bytes, its elements %u each. It is of "
                             "another type",
                             size - layout->list.tail_offset, element);
    } else if (size != layout->list.size) {
        return error_set(-EBADMSG,
                         "the payload has %zu bytes, its fields %u. It is of another type", size,
                         layout->list.size);
    }
    return 0;
}

int odeon_payload_print(const struct odeon_layout *layout, const void *payload, size_t size,
                        enum odeon_payload_form form, char **ret_text)
{
    struct payload_print p = { .form = form };
    struct plain_locale locale;
    char *text = NULL;
    size_t length;
    int r = payload_print_check(layout, payload, size, form, ret_text);

    if (r < 0)
        return r;
    p.out = open_memstream(&text, &length);
    if (!p.out)
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    locale = plain_locale_enter();
    for (size_t i = 0; i < layout->list.n; i++) {
        const struct field *f = &layout->list.field[i];
        bool tail = f->array && f->count == 0;

        if (i > 0)
            fputc(form == ODEON_PAYLOAD_JSON ? ',' : ' ', p.out);
        payload_print_field(&p, f, (const uint8_t *)payload + f->offset,
                            tail ? (size - f->offset) / f->type.size : f->count);
    }
    plain_locale_leave(locale);
    if (fclose(p.out) != 0 || p.failed) {
        free(text);
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    }
    *ret_text = text;
    return 0;
}
