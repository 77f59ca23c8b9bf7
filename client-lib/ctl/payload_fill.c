/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a person into the bytes of a payload (payload.h). */
#include "client-lib/ctl/payload.h"
#include "client-lib/ctl/ref.h"
#include "client-lib/ctl/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fill_fail(char *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fill_fail(char *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, PAYLOAD_ERROR_TEXT, format, args);
    va_end(args);
    return code;
}

static const char *payload_fill_type_name(const struct payload_type *type)
{
    static const char *const signed_names[] = {
        [1] = "int8_t", [2] = "int16_t", [4] = "int32_t", [8] = "int64_t"
    };
    static const char *const unsigned_names[] = {
        [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"
    };

    switch (type->kind) {
    case PAYLOAD_SIGNED:
        return signed_names[type->size];
    case PAYLOAD_UNSIGNED:
        return unsigned_names[type->size];
    case PAYLOAD_FLOAT:
        return type->size == 4 ? "float" : "double";
    case PAYLOAD_BOOL:
        return "bool";
    case PAYLOAD_CHAR:
        return "char";
    case PAYLOAD_REF:
        return "odeon_ref";
    }
    return "?";
}

void payload_layout_describe(const struct payload_layout *layout, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < layout->n && used < size; i++) {
        const struct payload_field *f = &layout->fields[i];
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

static int fill_integer(const struct payload_field *f, const char *value, void *at, char *error)
{
    unsigned bits = f->type.size * 8;
    bool is_signed = f->type.kind == PAYLOAD_SIGNED, negative;
    uint64_t highest = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
    uint64_t lowest = is_signed ? highest + 1 : 0; /* as a magnitude */
    uint64_t magnitude = 0, number;
    int r;

    r = payload_fill_parse_integer(value, &negative, &magnitude);
    if (r == -EINVAL)
        return fill_fail(
            error, r,
            "'%s' is not a value of %s, which is a %s. Write a decimal or 0x hexadecimal number",
            value, f->name, payload_fill_type_name(&f->type));
    if (r == -ERANGE || magnitude > (negative ? lowest : highest))
        return fill_fail(
            error, -ERANGE,
            "%s is out of the range of %s, which is a %s. Write a number from %s%" PRIu64
            " to %" PRIu64,
            value, f->name, payload_fill_type_name(&f->type), lowest ? "-" : "", lowest, highest);
    number = negative ? 0 - magnitude : magnitude;
    memcpy(at, &number, f->type.size); /* both architectures are little endian */
    return 0;
}

static int fill_float(const struct payload_field *f, const char *value, void *at, char *error)
{
    double number = 0;
    float single;
    char *end;

    if (!*value || isspace((unsigned char)*value))
        end = (char *)value;
    else
        number = strtod(value, &end);
    if (end == value || *end)
        return fill_fail(
            error, -EINVAL,
            "'%s' is not a value of %s, which is a %s. Write a number like 1.5 or 2e-3", value,
            f->name, payload_fill_type_name(&f->type));
    if ((isinf(number) && !strpbrk(value, "nN")) ||
        (f->type.size == 4 && isfinite(number) && fabs(number) > (double)FLT_MAX))
        return fill_fail(error, -ERANGE,
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

static int fill_bool(const struct payload_field *f, const char *value, void *at, char *error)
{
    bool yes = !strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1");

    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "no") != 0 && strcmp(value, "0") != 0)
        return fill_fail(error, -EINVAL,
                         "'%s' is not a value of %s, which is a bool. Write true or false", value,
                         f->name);
    *(uint8_t *)at = yes;
    return 0;
}

static int fill_ref(const struct payload_field *f, const char *value, void *at, char *error)
{
    odeon_ref ref;

    if (!ctl_ref_parse(value, &ref))
        return fill_fail(error, -EINVAL,
                         "'%s' is not a value of %s, which is a reference. Write SLOT.GENERATION, "
                         "as odeonctl actor list shows it",
                         value, f->name);
    memcpy(at, &ref, sizeof(ref));
    return 0;
}

static int fill_element(const struct payload_field *f, const char *value, void *at, char *error)
{
    switch (f->type.kind) {
    case PAYLOAD_SIGNED:
    case PAYLOAD_UNSIGNED:
        return fill_integer(f, value, at, error);
    case PAYLOAD_FLOAT:
        return fill_float(f, value, at, error);
    case PAYLOAD_BOOL:
        return fill_bool(f, value, at, error);
    case PAYLOAD_REF:
        return fill_ref(f, value, at, error);
    case PAYLOAD_CHAR:
        if (strlen(value) != 1)
            return fill_fail(error, -EINVAL,
                             "'%s' is not a value of %s, which is a char. Write one character",
                             value, f->name);
        *(char *)at = *value;
        return 0;
    }
    return fill_fail(error, -ENOTSUP,
                     "%s has a type that cannot be filled. Send the message from a program",
                     f->name);
}

/* Elements joined with commas.  `count`: how many there is room for. */
static int fill_list(const struct payload_field *f, const char *value, uint8_t *at, size_t count,
                     size_t *ret_n, char *error)
{
    char *copy = strdup(value), *rest = copy, *element;
    size_t n = 0;
    int r = 0;

    if (!copy)
        return fill_fail(error, -ENOMEM, "no memory. Free memory and try again");
    while (!r && *value && (element = strsep(&rest, ","))) {
        if (n == count) {
            r = fill_fail(error, -ERANGE,
                          "there are more values for %s than its %zu. Leave some out", f->name,
                          count);
            break;
        }
        r = fill_element(f, element, at + n * f->type.size, error);
        n++;
    }
    free(copy);
    *ret_n = n;
    return r;
}

/* One field of a payload with room for PAYLOAD_BYTES_MAX; a tail moves *size. */
static int fill_field(const struct payload_field *f, const char *value, uint8_t *payload,
                      size_t *size, char *error)
{
    size_t room = f->count ? f->count : (PAYLOAD_BYTES_MAX - f->offset) / f->type.size;
    uint8_t *at = payload + f->offset;
    size_t n = strlen(value);
    int r;

    if (!f->array)
        return fill_element(f, value, at, error);
    if (f->type.kind != PAYLOAD_CHAR) {
        r = fill_list(f, value, at, room, &n, error);
        if (r)
            return r;
    } else if (f->count && n >= room) {
        return fill_fail(error, -ERANGE,
                         "the %zu characters are more than %s holds. Write %zu at most (one byte "
                         "stays for the final NUL)",
                         n, f->name, room - 1);
    } else if (n > room) {
        return fill_fail(
            error, -EMSGSIZE,
            "the %zu characters of %s are more than a message holds. Write %zu at most", n, f->name,
            room);
    } else {
        memcpy(at, value, n);
    }
    if (!f->count && f->offset + n * f->type.size > *size)
        *size = f->offset + n * f->type.size;
    return 0;
}

static int fill_unknown(const struct payload_layout *layout, const char *name, char *error)
{
    char list[PAYLOAD_ERROR_TEXT / 2];
    struct suggestion near;

    if (!layout->n)
        return fill_fail(error, -ENOENT,
                         "there is no field '%.63s': the message has none. Send it without fields",
                         name);
    suggestion_init(&near, name);
    for (size_t i = 0; i < layout->n; i++)
        suggestion_offer(&near, layout->fields[i].name);
    payload_layout_describe(layout, list, sizeof(list));
    if (near.best)
        return fill_fail(error, -ENOENT, "there is no field '%.63s'. Did you mean %s? There are %s",
                         name, near.best, list);
    return fill_fail(error, -ENOENT, "there is no field '%.63s'. There are %s", name, list);
}

static int fill_word(const struct payload_layout *layout, const char *word, bool *given,
                     uint8_t *payload, size_t *size, char *error)
{
    const char *equals = strchr(word, '=');
    char name[PAYLOAD_NAME_MAX + 2];
    size_t n;

    if (!equals || equals == word)
        return fill_fail(error, -EINVAL, "'%.63s' is not of the form FIELD=VALUE. Write it so",
                         word);
    n = (size_t)(equals - word);
    snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : (int)sizeof(name) - 1, word);
    for (size_t i = 0; i < layout->n; i++) {
        if (strcmp(layout->fields[i].name, name))
            continue;
        if (given[i])
            return fill_fail(error, -EEXIST, "the field '%s' is given twice. Leave one out", name);
        given[i] = true;
        return fill_field(&layout->fields[i], equals + 1, payload, size, error);
    }
    return fill_unknown(layout, name, error);
}

int payload_fill(const struct payload_layout *layout, char *const *words, size_t n_words,
                 uint32_t size_min, void **ret_payload, size_t *ret_size,
                 char error[static PAYLOAD_ERROR_TEXT])
{
    size_t size = layout->has_tail ? layout->tail_offset : layout->size;
    bool given[PAYLOAD_FIELDS_MAX] = { false };
    uint8_t *payload;
    int r = 0;

    error[0] = '\0';
    if (size_min > PAYLOAD_BYTES_MAX)
        return fill_fail(
            error, -EMSGSIZE,
            "it is registered with %u bytes, more than a message holds. Send it from a program",
            size_min);
    if (size < size_min)
        size = size_min;
    payload = calloc(1, PAYLOAD_BYTES_MAX);
    if (!payload)
        return fill_fail(error, -ENOMEM, "no memory. Free memory and try again");
    for (size_t i = 0; !r && i < n_words; i++)
        r = fill_word(layout, words[i], given, payload, &size, error);
    if (r) {
        free(payload);
        return r;
    }
    *ret_payload = payload;
    *ret_size = size;
    return 0;
}

int payload_parse_hex(char *const *words, size_t n_words, uint8_t *bytes, size_t bytes_max,
                      size_t *ret_size, char error[static PAYLOAD_ERROR_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    size_t size = 0;

    error[0] = '\0';
    for (size_t i = 0; i < n_words; i++) {
        const char *at = words[i];

        if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
            at += 2;
        for (; *at; at += 2) {
            const char *high = strchr(digits, tolower((unsigned char)at[0]));
            const char *low = at[1] ? strchr(digits, tolower((unsigned char)at[1])) : NULL;

            if (!high || !low)
                return fill_fail(
                    error, -EINVAL,
                    "'%.63s' is not an even number of hexadecimal digits. Write two for each byte",
                    words[i]);
            if (size == bytes_max)
                return fill_fail(error, -E2BIG, "there are more than %zu bytes. Leave some out",
                                 bytes_max);
            bytes[size++] = (uint8_t)((high - digits) << 4 | (low - digits));
        }
    }
    *ret_size = size;
    return 0;
}
