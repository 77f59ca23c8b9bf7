/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a person into the bytes of a struct; see fields_fill.h. */
#include "fields_fill.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "plain_locale.h"
#include "reference.h"

/* Of an array; what is longer is no number that anybody means. */
enum { ELEMENT_MAX = 2047 };

static int __attribute__((format(printf, 3, 4)))
fields_fill_fail(char *text, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, FIELDS_FILL_TEXT_MAX, format, arguments);
    va_end(arguments);
    return error;
}

/* Decimal digits only, at least one, up to UINT32_MAX. */
static bool fields_fill_ref_part(const char **at, uint64_t *ret_number)
{
    const char *begin = *at;

    for (*ret_number = 0; **at >= '0' && **at <= '9'; ++*at) {
        *ret_number = *ret_number * 10 + (uint64_t)(**at - '0');
        if (*ret_number > UINT32_MAX)
            return false;
    }
    return *at > begin;
}

/* Two parts or three: without the first one it is this executor. */
static bool fields_fill_ref_parts(const char *at, uint64_t part[3])
{
    if (!fields_fill_ref_part(&at, &part[1]) || *at++ != '.' ||
        !fields_fill_ref_part(&at, &part[2]))
        return false;
    part[0] = ACTOR_REF_EXECUTOR;
    if (*at == '.') {
        at++;
        part[0] = part[1];
        part[1] = part[2];
        if (!fields_fill_ref_part(&at, &part[2]))
            return false;
    }
    return *at == '\0' && part[0] <= UINT8_MAX && part[1] <= UINT32_MAX >> 8;
}

int fields_parse_ref(const char *text, uint64_t *ret_ref)
{
    uint64_t part[3];

    if (!fields_fill_ref_parts(text, part))
        return -EINVAL;
    *ret_ref = actor_ref_of((uint32_t)part[0], (uint32_t)part[1], (uint32_t)part[2]);
    return 0;
}

static const char *fields_fill_type_name(const struct field_type *type)
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

void fields_describe(const struct fields *list, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->n && used < size; i++) {
        const struct field *f = &list->field[i];
        char length[16] = "";

        if (f->array && f->count)
            snprintf(length, sizeof(length), "[%u]", f->count);
        else if (f->array)
            snprintf(length, sizeof(length), "[]");
        used += (size_t)snprintf(text + used, size - used, "%s%s (%s%s)", i ? ", " : "", f->name,
                                 fields_fill_type_name(&f->type), length);
    }
}

/* [-]digits or [-]0xdigits, nothing else: no spaces, no octal.  -EINVAL, -ERANGE. */
static int fields_fill_parse_integer(const char *value, bool *ret_negative, uint64_t *ret_magnitude)
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

static int fields_fill_integer(const struct field *f, const char *value, void *at, char *text)
{
    unsigned bits = f->type.size * 8;
    bool is_signed = f->type.kind == FIELD_SIGNED, negative;
    uint64_t highest = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
    uint64_t lowest = is_signed ? highest + 1 : 0; /* as a magnitude */
    uint64_t magnitude = 0, number;
    int r;

    r = fields_fill_parse_integer(value, &negative, &magnitude);
    if (r == -EINVAL)
        return fields_fill_fail(
            text, r,
            "'%s' is not a value of %s, which is a %s. Write a decimal or 0x hexadecimal number",
            value, f->name, fields_fill_type_name(&f->type));
    if (r == -ERANGE || magnitude > (negative ? lowest : highest))
        return fields_fill_fail(
            text, -ERANGE,
            "%s is out of the range of %s, which is a %s. Write a number from %s%" PRIu64
            " to %" PRIu64,
            value, f->name, fields_fill_type_name(&f->type), lowest ? "-" : "", lowest, highest);
    number = negative ? 0 - magnitude : magnitude;
    memcpy(at, &number, f->type.size); /* both architectures are little endian */
    return 0;
}

static int fields_fill_float(const struct field *f, const char *value, void *at, char *text)
{
    double number = 0;
    float single;
    char *end;

    if (!*value || isspace((unsigned char)*value))
        end = (char *)value;
    else
        number = f->type.size == 4 ? (double)strtof(value, &end) : strtod(value, &end);
    if (end == value || *end)
        return fields_fill_fail(
            text, -EINVAL,
            "'%s' is not a value of %s, which is a %s. Write a number like 1.5 or 2e-3", value,
            f->name, fields_fill_type_name(&f->type));
    if (isinf(number) && !strpbrk(value, "nN"))
        return fields_fill_fail(
            text, -ERANGE, "%s is out of the range of %s, which is a %s. Write a smaller number",
            value, f->name, fields_fill_type_name(&f->type));
    if (f->type.size == 4) {
        single = (float)number;
        memcpy(at, &single, sizeof(single));
    } else {
        memcpy(at, &number, sizeof(number));
    }
    return 0;
}

static int fields_fill_bool(const struct field *f, const char *value, void *at, char *text)
{
    bool yes = !strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1");

    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "no") != 0 && strcmp(value, "0") != 0)
        return fields_fill_fail(text, -EINVAL,
                                "'%s' is not a value of %s, which is a bool. Write true or false",
                                value, f->name);
    *(uint8_t *)at = yes;
    return 0;
}

static int fields_fill_ref(const struct field *f, const char *value, void *at, char *text)
{
    uint64_t ref;

    if (fields_parse_ref(value, &ref) < 0)
        return fields_fill_fail(
            text, -EINVAL,
            "'%s' is not a value of %s, which is a reference. Write EXECUTOR.SLOT.GENERATION, "
            "as odeonctl actor list shows it",
            value, f->name);
    memcpy(at, &ref, sizeof(ref));
    return 0;
}

static int fields_fill_element(const struct field *f, const char *value, void *at, char *text)
{
    switch (f->type.kind) {
    case FIELD_SIGNED:
    case FIELD_UNSIGNED:
        return fields_fill_integer(f, value, at, text);
    case FIELD_FLOAT:
        return fields_fill_float(f, value, at, text);
    case FIELD_BOOL:
        return fields_fill_bool(f, value, at, text);
    case FIELD_REF:
        return fields_fill_ref(f, value, at, text);
    case FIELD_CHAR:
        if (strlen(value) != 1)
            return fields_fill_fail(
                text, -EINVAL, "'%s' is not a value of %s, which is a char. Write one character",
                value, f->name);
        *(char *)at = *value;
        return 0;
    }
    return fields_fill_fail(text, -ENOTSUP,
                            "%s has a type that cannot be filled. Send the message from a program",
                            f->name);
}

/* Elements joined with commas.  `count`: how many there is room for. */
static int fields_fill_list(const struct field *f, const char *value, uint8_t *at, size_t count,
                            size_t *ret_n, char *text)
{
    char element[ELEMENT_MAX + 1];
    size_t n = 0;

    *ret_n = 0;
    if (!*value)
        return 0;
    for (;; value++) {
        size_t length = strcspn(value, ",");
        int r;

        if (n == count)
            return fields_fill_fail(text, -ERANGE,
                                    "there are more values for %s than its %zu. Leave some out",
                                    f->name, count);
        if (length > ELEMENT_MAX)
            return fields_fill_fail(text, -EINVAL,
                                    "a value of %s has %zu characters. Write it with %d at most",
                                    f->name, length, ELEMENT_MAX);
        memcpy(element, value, length);
        element[length] = '\0';
        r = fields_fill_element(f, element, at + n * f->type.size, text);
        if (r < 0)
            return r;
        n++;
        value += length;
        if (!*value)
            break;
    }
    *ret_n = n;
    return 0;
}

/* One field of a payload with room for ODEON_PAYLOAD_MAX; a tail moves *size. */
static int fields_fill_field(const struct field *f, const char *value, uint8_t *payload,
                             size_t *size, char *text)
{
    size_t room = f->count ? f->count : (ODEON_PAYLOAD_MAX - f->offset) / f->type.size;
    uint8_t *at = payload + f->offset;
    size_t n = strlen(value);
    int r;

    if (!f->array)
        return fields_fill_element(f, value, at, text);
    if (f->type.kind != FIELD_CHAR) {
        r = fields_fill_list(f, value, at, room, &n, text);
        if (r)
            return r;
    } else if (f->count && n >= room) {
        return fields_fill_fail(
            text, -ERANGE,
            "the %zu characters are more than %s holds. Write %zu at most (one byte "
            "stays for the final NUL)",
            n, f->name, room - 1);
    } else if (n > room) {
        return fields_fill_fail(
            text, -EMSGSIZE,
            "the %zu characters of %s are more than a message holds. Write %zu at most", n, f->name,
            room);
    } else {
        memcpy(at, value, n);
    }
    if (!f->count && f->offset + n * f->type.size > *size)
        *size = f->offset + n * f->type.size;
    return 0;
}

static int fields_fill_unknown(const struct fields *fields, const char *name, char *text)
{
    char list[512];

    if (!fields->n)
        return fields_fill_fail(
            text, -ENOENT,
            "there is no field '%.63s': the message has none. Send it without fields", name);
    fields_describe(fields, list, sizeof(list));
    return fields_fill_fail(text, -ENOENT, "there is no field '%.63s'. There are %s", name, list);
}

static int fields_fill_word(const struct fields *fields, const char *word, bool *given,
                            uint8_t *payload, size_t *size, char *text)
{
    const char *equals = strchr(word, '=');
    char name[FIELD_NAME_MAX + 2];
    size_t n;

    if (!equals || equals == word)
        return fields_fill_fail(text, -EINVAL,
                                "'%.63s' is not of the form FIELD=VALUE. Write it so", word);
    n = (size_t)(equals - word);
    snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : (int)sizeof(name) - 1, word);
    for (size_t i = 0; i < fields->n; i++) {
        if (strcmp(fields->field[i].name, name))
            continue;
        if (given[i])
            return fields_fill_fail(text, -EEXIST, "the field '%s' is given twice. Leave one out",
                                    name);
        given[i] = true;
        return fields_fill_field(&fields->field[i], equals + 1, payload, size, text);
    }
    return fields_fill_unknown(fields, name, text);
}

int fields_fill(const struct fields *fields, char *const *words, size_t n_words, void *bytes,
                size_t *size, char *text)
{
    bool given[FIELDS_MAX] = { false };
    struct plain_locale locale = plain_locale_enter();
    size_t least = fields->has_tail ? fields->tail_offset : fields->size;
    int r = 0;

    text[0] = '\0';
    if (*size < least)
        *size = least;
    for (size_t i = 0; !r && i < n_words; i++)
        r = fields_fill_word(fields, words[i], given, bytes, size, text);
    plain_locale_leave(locale);
    return r;
}
