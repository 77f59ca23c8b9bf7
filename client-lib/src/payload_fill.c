/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a person into the bytes of a payload (<odeon/codec.h>). */
#include "client-lib/src/payload.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/error.h"

static const char *payload_fill_type_name(const struct field_type *type)
{
    static const char *const signed_names[] = {
        [1] = "int8_t", [2] = "int16_t", [4] = "int32_t", [8] = "int64_t"
    };
    static const char *const unsigned_names[] = {
        [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"
    };

    switch (type->kind) {
    case FIELD_SIGNED:
        return signed_names[type->size];
    case FIELD_UNSIGNED:
        return unsigned_names[type->size];
    case FIELD_FLOAT:
        return type->size == 4 ? "float" : "double";
    case FIELD_BOOL:
        return "bool";
    case FIELD_CHAR:
        return "char";
    case FIELD_REF:
        return "odeon_ref";
    }
    return "?";
}

void odeon_layout_describe(const struct odeon_layout *layout, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < layout->list.n && used < size; i++) {
        const struct field *f = &layout->list.field[i];
        char length[16] = "";

        if (f->array && f->count)
            snprintf(length, sizeof(length), "[%u]", f->count);
        else if (f->array)
            snprintf(length, sizeof(length), "[]");
        used += (size_t)snprintf(text + used, size - used, "%s%s (%s%s)", i ? ", " : "", f->name,
                                 payload_fill_type_name(&f->type), length);
    }
}

/* [-]digits or [-]0xdigits, nothing else: no spaces, no octal.  -EINVAL, -ERANGE. */
static int payload_fill_parse_integer(const char *value, bool *ret_negative,
                                      uint64_t *ret_magnitude)
{
    uint64_t base = 10, magnitude = 0;

    *ret_negative = *value == '-';
    if (*value == '-' || *value == '+')
        value++;
    if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
        base = 16;
        value += 2;
    }
    if (!*value)
        return -EINVAL;
    for (; *value; value++) {
        uint64_t digit;

        if (*value >= '0' && *value <= '9')
            digit = (uint64_t)(*value - '0');
        else if (base == 16 && isxdigit((unsigned char)*value))
            digit = (uint64_t)(tolower((unsigned char)*value) - 'a') + 10;
        else
            return -EINVAL;
        if (__builtin_mul_overflow(magnitude, base, &magnitude) ||
            __builtin_add_overflow(magnitude, digit, &magnitude))
            return -ERANGE;
    }
    *ret_magnitude = magnitude;
    return 0;
}

static int fill_integer(const struct field *f, const char *value, void *at)
{
    unsigned bits = f->type.size * 8;
    bool is_signed = f->type.kind == FIELD_SIGNED, negative;
    uint64_t highest = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
    uint64_t lowest = is_signed ? highest + 1 : 0; /* as a magnitude */
    uint64_t magnitude = 0, number;
    int r;

    r = payload_fill_parse_integer(value, &negative, &magnitude);
    if (r == -EINVAL)
        return error_set(
            r, "'%s' is not a value of %s, which is a %s. Write a decimal or 0x hexadecimal number",
            value, f->name, payload_fill_type_name(&f->type));
    if (r == -ERANGE || magnitude > (negative ? lowest : highest))
        return error_set(
            -ERANGE,
            "%s is out of the range of %s, which is a %s. Write a number from %s%" PRIu64
            " to %" PRIu64,
            value, f->name, payload_fill_type_name(&f->type), lowest ? "-" : "", lowest, highest);
    number = negative ? 0 - magnitude : magnitude;
    memcpy(at, &number, f->type.size); /* both architectures are little endian */
    return 0;
}

static int fill_float(const struct field *f, const char *value, void *at)
{
    double number = 0;
    float single;
    char *end;

    if (!*value || isspace((unsigned char)*value))
        end = (char *)value;
    else
        number = f->type.size == 4 ? (double)strtof(value, &end) : strtod(value, &end);
    if (end == value || *end)
        return error_set(
            -EINVAL, "'%s' is not a value of %s, which is a %s. Write a number like 1.5 or 2e-3",
            value, f->name, payload_fill_type_name(&f->type));
    if (isinf(number) && !strpbrk(value, "nN"))
        return error_set(-ERANGE,
                         "%s is out of the range of %s, which is a %s. Write a smaller number",
                         value, f->name, payload_fill_type_name(&f->type));
    if (f->type.size == 4) {
        single = (float)number;
        memcpy(at, &single, sizeof(single));
    } else {
        memcpy(at, &number, sizeof(number));
    }
    return 0;
}

static int fill_bool(const struct field *f, const char *value, void *at)
{
    bool yes = !strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1");

    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "no") != 0 && strcmp(value, "0") != 0)
        return error_set(-EINVAL, "'%s' is not a value of %s, which is a bool. Write true or false",
                         value, f->name);
    *(uint8_t *)at = yes;
    return 0;
}

static int fill_ref(const struct field *f, const char *value, void *at)
{
    odeon_ref ref;

    if (odeon_ref_parse(value, &ref) < 0)
        return error_set(
            -EINVAL,
            "'%s' is not a value of %s, which is a reference. Write EXECUTOR.SLOT.GENERATION, "
            "as odeonctl actor list shows it",
            value, f->name);
    memcpy(at, &ref, sizeof(ref));
    return 0;
}

static int fill_element(const struct field *f, const char *value, void *at)
{
    switch (f->type.kind) {
    case FIELD_SIGNED:
    case FIELD_UNSIGNED:
        return fill_integer(f, value, at);
    case FIELD_FLOAT:
        return fill_float(f, value, at);
    case FIELD_BOOL:
        return fill_bool(f, value, at);
    case FIELD_REF:
        return fill_ref(f, value, at);
    case FIELD_CHAR:
        if (strlen(value) != 1)
            return error_set(-EINVAL,
                             "'%s' is not a value of %s, which is a char. Write one character",
                             value, f->name);
        *(char *)at = *value;
        return 0;
    }
    return error_set(
        -ENOTSUP, "%s has a type that cannot be filled. Send the message from a program", f->name);
}

/* Elements joined with commas.  `count`: how many there is room for. */
static int fill_list(const struct field *f, const char *value, uint8_t *at, size_t count,
                     size_t *ret_n)
{
    char *copy = strdup(value), *rest = copy, *element;
    size_t n = 0;
    int r = 0;

    if (!copy)
        return error_set(-ENOMEM, "no memory. Free memory and try again");
    while (!r && *value && (element = strsep(&rest, ","))) {
        if (n == count) {
            r = error_set(-ERANGE, "there are more values for %s than its %zu. Leave some out",
                          f->name, count);
            break;
        }
        r = fill_element(f, element, at + n * f->type.size);
        n++;
    }
    free(copy);
    *ret_n = n;
    return r;
}

/* One field of a payload with room for ODEON_PAYLOAD_BYTES_MAX; a tail moves *size. */
static int fill_field(const struct field *f, const char *value, uint8_t *payload, size_t *size)
{
    size_t room = f->count ? f->count : (ODEON_PAYLOAD_BYTES_MAX - f->offset) / f->type.size;
    uint8_t *at = payload + f->offset;
    size_t n = strlen(value);
    int r;

    if (!f->array)
        return fill_element(f, value, at);
    if (f->type.kind != FIELD_CHAR) {
        r = fill_list(f, value, at, room, &n);
        if (r)
            return r;
    } else if (f->count && n >= room) {
        return error_set(-ERANGE,
                         "the %zu characters are more than %s holds. Write %zu at most (one byte "
                         "stays for the final NUL)",
                         n, f->name, room - 1);
    } else if (n > room) {
        return error_set(
            -EMSGSIZE, "the %zu characters of %s are more than a message holds. Write %zu at most",
            n, f->name, room);
    } else {
        memcpy(at, value, n);
    }
    if (!f->count && f->offset + n * f->type.size > *size)
        *size = f->offset + n * f->type.size;
    return 0;
}

static int fill_unknown(const struct odeon_layout *layout, const char *name)
{
    char list[512];

    if (!layout->list.n)
        return error_set(-ENOENT,
                         "there is no field '%.63s': the message has none. Send it without fields",
                         name);
    odeon_layout_describe(layout, list, sizeof(list));
    return error_set(-ENOENT, "there is no field '%.63s'. There are %s", name, list);
}

static int fill_word(const struct odeon_layout *layout, const char *word, bool *given,
                     uint8_t *payload, size_t *size)
{
    const char *equals = strchr(word, '=');
    char name[ODEON_LAYOUT_NAME_MAX + 2];
    size_t n;

    if (!equals || equals == word)
        return error_set(-EINVAL, "'%.63s' is not of the form FIELD=VALUE. Write it so", word);
    n = (size_t)(equals - word);
    snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : (int)sizeof(name) - 1, word);
    for (size_t i = 0; i < layout->list.n; i++) {
        if (strcmp(layout->list.field[i].name, name))
            continue;
        if (given[i])
            return error_set(-EEXIST, "the field '%s' is given twice. Leave one out", name);
        given[i] = true;
        return fill_field(&layout->list.field[i], equals + 1, payload, size);
    }
    return fill_unknown(layout, name);
}

int odeon_payload_fill(const struct odeon_layout *layout, char *const *words, size_t n_words,
                       uint32_t size_min, void **ret_payload, size_t *ret_size)
{
    bool given[ODEON_LAYOUT_FIELDS_MAX] = { false };
    struct payload_locale locale;
    uint8_t *payload;
    size_t size;
    int r = 0;

    if (!layout || (!words && n_words > 0) || !ret_payload || !ret_size)
        return error_set_literal(-EINVAL, "odeon_payload_fill: an argument is missing. Give a "
                                          "layout, words and places for the payload");
    if (size_min > ODEON_PAYLOAD_BYTES_MAX)
        return error_set(
            -EMSGSIZE,
            "it is registered with %u bytes, more than a message holds. Send it from a program",
            size_min);
    size = layout->list.has_tail ? layout->list.tail_offset : layout->list.size;
    if (size < size_min)
        size = size_min;
    payload = calloc(1, ODEON_PAYLOAD_BYTES_MAX);
    if (!payload)
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    locale = payload_locale_enter();
    for (size_t i = 0; !r && i < n_words; i++)
        r = fill_word(layout, words[i], given, payload, &size);
    payload_locale_leave(locale);
    if (r) {
        free(payload);
        return r;
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
