/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a struct from the text of its body (<odeon/codec.h>).
 *
 * The text is a macro argument turned into a string: tokens with single spaces at most, no
 * comments, no line ends.
 */
#include "client-lib/src/payload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/error.h"

struct scan {
    const char *at;
    struct odeon_layout *layout;
    uint32_t end;       /* of the last field */
    uint32_t alignment; /* of the struct */
};

static void payload_layout_scan_skip(struct scan *s)
{
    while (isspace((unsigned char)*s->at))
        s->at++;
}

static bool payload_layout_scan_accept(struct scan *s, char c)
{
    payload_layout_scan_skip(s);
    if (*s->at != c)
        return false;
    s->at++;
    return true;
}

/* An identifier into `word`; its length there, 0: there is none. One that is too long is cut to one
 * byte too many. */
enum { WORD_SIZE = ODEON_LAYOUT_NAME_MAX + 2 };
static size_t payload_layout_scan_word(struct scan *s, char word[static WORD_SIZE])
{
    size_t n = 0;

    payload_layout_scan_skip(s);
    if (!isalpha((unsigned char)*s->at) && *s->at != '_')
        return 0;
    for (; isalnum((unsigned char)*s->at) || *s->at == '_'; s->at++)
        if (n < WORD_SIZE - 1)
            word[n++] = *s->at;
    word[n] = '\0';
    return n;
}

static const struct named_type {
    const char *name;
    struct payload_type type;
} named_types[] = {
    { "int8_t", { ODEON_FIELD_SIGNED, 1 } },      { "int16_t", { ODEON_FIELD_SIGNED, 2 } },
    { "int32_t", { ODEON_FIELD_SIGNED, 4 } },     { "int64_t", { ODEON_FIELD_SIGNED, 8 } },
    { "uint8_t", { ODEON_FIELD_UNSIGNED, 1 } },   { "uint16_t", { ODEON_FIELD_UNSIGNED, 2 } },
    { "uint32_t", { ODEON_FIELD_UNSIGNED, 4 } },  { "uint64_t", { ODEON_FIELD_UNSIGNED, 8 } },
    { "size_t", { ODEON_FIELD_UNSIGNED, 8 } },    { "ssize_t", { ODEON_FIELD_SIGNED, 8 } },
    { "intptr_t", { ODEON_FIELD_SIGNED, 8 } },    { "uintptr_t", { ODEON_FIELD_UNSIGNED, 8 } },
    { "ptrdiff_t", { ODEON_FIELD_SIGNED, 8 } },   { "intmax_t", { ODEON_FIELD_SIGNED, 8 } },
    { "uintmax_t", { ODEON_FIELD_UNSIGNED, 8 } }, { "off_t", { ODEON_FIELD_SIGNED, 8 } },
    { "time_t", { ODEON_FIELD_SIGNED, 8 } },      { "bool", { ODEON_FIELD_BOOL, 1 } },
    { "_Bool", { ODEON_FIELD_BOOL, 1 } },         { "float", { ODEON_FIELD_FLOAT, 4 } },
    { "odeon_ref", { ODEON_FIELD_REF, 8 } },
};

/* The words before a declarator: how often each of C's basic ones came, and a name that stands
 * alone. */
struct specifiers {
    unsigned n_char, n_short, n_int, n_long, n_signed, n_unsigned, n_double;
    const struct named_type *named;
};

static int payload_layout_specifiers_resolve(const struct specifiers *p, struct payload_type *ret)
{
    bool basic = p->n_char || p->n_short || p->n_int || p->n_long || p->n_signed || p->n_unsigned ||
                 p->n_double;
    enum odeon_field_kind kind = p->n_unsigned ? ODEON_FIELD_UNSIGNED : ODEON_FIELD_SIGNED;

    if (p->named) {
        *ret = p->named->type;
        return basic ? -EINVAL : 0;
    }
    if (!basic || p->n_signed + p->n_unsigned > 1 || p->n_char > 1 || p->n_short > 1 ||
        p->n_int > 1 || p->n_long > 2 || p->n_double > 1)
        return -EINVAL;
    if (p->n_double) {
        *ret = (struct payload_type){ ODEON_FIELD_FLOAT, 8 };
        if (p->n_long)
            return -ENOTSUP; /* long double */
        return p->n_char || p->n_short || p->n_int || p->n_signed || p->n_unsigned ? -EINVAL : 0;
    }
    if (p->n_char) {
        *ret = (struct payload_type){ p->n_signed || p->n_unsigned ? kind : ODEON_FIELD_CHAR, 1 };
        return p->n_short || p->n_int || p->n_long ? -EINVAL : 0;
    }
    if (p->n_short && p->n_long)
        return -EINVAL;
    *ret = (struct payload_type){ kind, p->n_short ? 2 : p->n_long ? 8 : 4 };
    return 0;
}

static bool payload_layout_specifiers_take(struct specifiers *p, const char *word)
{
    const struct {
        const char *name;
        unsigned *count;
    } basic[] = {
        { "char", &p->n_char },     { "short", &p->n_short },   { "int", &p->n_int },
        { "long", &p->n_long },     { "signed", &p->n_signed }, { "unsigned", &p->n_unsigned },
        { "double", &p->n_double },
    };

    if (!strcmp(word, "const") || !strcmp(word, "volatile"))
        return true;
    for (size_t i = 0; i < sizeof(basic) / sizeof(basic[0]); i++)
        if (!strcmp(word, basic[i].name)) {
            ++*basic[i].count;
            return true;
        }
    for (size_t i = 0; i < sizeof(named_types) / sizeof(named_types[0]); i++)
        if (!strcmp(word, named_types[i].name) && !p->named) {
            p->named = &named_types[i];
            return true;
        }
    return false;
}

/* The type in front of a line of declarators; *word keeps the first name that is no part of it. */
static int payload_layout_scan_type(struct scan *s, struct payload_type *ret,
                                    char word[static WORD_SIZE])
{
    struct specifiers p = { 0 };
    unsigned n = 0;
    int r;

    for (;; n++) {
        if (!payload_layout_scan_word(s, word))
            break;
        if (!payload_layout_specifiers_take(&p, word))
            goto named;
    }
    word[0] = '\0';
named:
    if (!n) {
        if (!*word)
            return error_set(
                -EINVAL,
                "a field's type is expected at '%.20s'. The message's declaration is not plain C",
                s->at);
        return error_set(-ENOTSUP,
                         "the type '%s' cannot be laid out here. Use integers, floats, bool and "
                         "arrays of them, or "
                         "send it from a program",
                         word);
    }
    r = payload_layout_specifiers_resolve(&p, ret);
    if (r == -ENOTSUP)
        return error_set(
            r, "the type 'long double' cannot be laid out here. Send the message from a program");
    if (r)
        return error_set(r,
                         "the type of a field before '%.20s' is not one of C's. The message's "
                         "declaration is not plain C",
                         *word ? word : s->at);
    return 0;
}

/* [N] or []; *ret_count: 0 for a tail. */
static int payload_layout_scan_array(struct scan *s, const char *name, uint32_t *ret_count)
{
    char *end;
    unsigned long count;

    if (payload_layout_scan_accept(s, ']')) {
        *ret_count = 0;
        return 0;
    }
    payload_layout_scan_skip(s);
    if (!isdigit((unsigned char)*s->at))
        return error_set(-ENOTSUP,
                         "the length of '%s' is not a number in the message's declaration. Write "
                         "it there as a number, "
                         "or send from a program",
                         name);
    errno = 0;
    count = strtoul(s->at, &end, 0);
    s->at = end;
    while (*s->at == 'u' || *s->at == 'U' || *s->at == 'l' || *s->at == 'L')
        s->at++;
    if (!payload_layout_scan_accept(s, ']'))
        return error_set(-ENOTSUP,
                         "the length of '%s' is not a plain number in the message's declaration. "
                         "Write it there as a "
                         "number, or send from a program",
                         name);
    if (errno || !count || count > ODEON_PAYLOAD_BYTES_MAX)
        return error_set(
            -EINVAL,
            "the length of '%s' is none that a message can have. Messages have %d bytes at most",
            name, ODEON_PAYLOAD_BYTES_MAX);
    *ret_count = (uint32_t)count;
    return 0;
}

static int layout_add(struct scan *s, const char *name, const struct payload_type *type, bool array,
                      uint32_t count)
{
    struct odeon_layout *l = s->layout;
    uint32_t offset = (s->end + type->size - 1) / type->size * type->size;
    struct payload_field *f;

    if (l->has_tail)
        return error_set(-EINVAL, "'%s' follows the tail '%s'. A tail is always the last field",
                         name, l->fields[l->n - 1].name);
    if (l->n >= ODEON_LAYOUT_FIELDS_MAX)
        return error_set(-ENOTSUP, "the message has more than %d fields. Send it from a program",
                         ODEON_LAYOUT_FIELDS_MAX);
    if ((uint64_t)offset + (uint64_t)count * type->size > ODEON_PAYLOAD_BYTES_MAX)
        return error_set(-EINVAL,
                         "the fields up to '%s' have more bytes than a message can. Messages have "
                         "%d bytes at most",
                         name, ODEON_PAYLOAD_BYTES_MAX);
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->fields[i].name, name))
            return error_set(-EINVAL,
                             "there are two fields '%s'. The message's declaration is not plain C",
                             name);

    f = &l->fields[l->n++];
    *f = (struct payload_field){ .type = *type, .offset = offset, .count = count, .array = array };
    memcpy(f->name, name,
           strlen(name) + 1); /* at most ODEON_LAYOUT_NAME_MAX: payload_layout_scan_declarators() */
    l->has_tail = array && !count;
    s->end = offset + count * type->size;
    if (type->size > s->alignment)
        s->alignment = type->size;
    return 0;
}

/* name[, name[3]]; after a type. */
static int payload_layout_scan_declarators(struct scan *s, const struct payload_type *type,
                                           char word[static WORD_SIZE])
{
    bool given = *word != '\0';

    for (;; given = false) {
        uint32_t count = 1;
        bool array = false;
        size_t n;
        int r;

        if (payload_layout_scan_accept(s, '*'))
            return error_set(-ENOTSUP,
                             "the message has a pointer field, which means nothing in another "
                             "process. Change its declaration");
        n = given ? strlen(word) : payload_layout_scan_word(s, word);
        if (!n)
            return error_set(
                -EINVAL,
                "a field's name is expected at '%.20s'. The message's declaration is not plain C",
                s->at);
        if (n > ODEON_LAYOUT_NAME_MAX)
            return error_set(-ENOTSUP,
                             "the name '%s...' is too long. Field names have %d bytes at most",
                             word, ODEON_LAYOUT_NAME_MAX);
        if (payload_layout_scan_accept(s, '[')) {
            array = true;
            r = payload_layout_scan_array(s, word, &count);
            if (r)
                return r;
            if (payload_layout_scan_accept(s, '['))
                return error_set(
                    -ENOTSUP, "'%s' is an array of arrays. Send the message from a program", word);
        }
        if (payload_layout_scan_accept(s, ':'))
            return error_set(-ENOTSUP, "'%s' is a bit field. Send the message from a program",
                             word);
        r = layout_add(s, word, type, array, count);
        if (r)
            return r;
        if (payload_layout_scan_accept(s, ';'))
            return 0;
        if (!payload_layout_scan_accept(s, ','))
            return error_set(-ENOTSUP,
                             "what follows '%s' at '%.20s' is not understood. Use plain fields, or "
                             "send from a program",
                             word, s->at);
    }
}

static int payload_layout_scan_fields(struct scan *s)
{
    bool braces = payload_layout_scan_accept(s, '{');
    char word[WORD_SIZE] = "";
    struct payload_type type = { ODEON_FIELD_SIGNED, 1 };
    int r;

    for (;;) {
        payload_layout_scan_skip(s);
        if (!*s->at || *s->at == '}')
            break;
        if (payload_layout_scan_accept(s, ';'))
            continue;
        r = payload_layout_scan_type(s, &type, word);
        if (!r)
            r = payload_layout_scan_declarators(s, &type, word);
        if (r)
            return r;
    }
    if (braces != payload_layout_scan_accept(s, '}'))
        return error_set(
            -EINVAL,
            "the braces around the fields do not match. The message's declaration is not plain C");
    payload_layout_scan_skip(s);
    if (*s->at)
        return error_set(
            -EINVAL,
            "there is more after the fields: '%.20s'. The message's declaration is not plain C",
            s->at);
    return 0;
}

int odeon_layout_parse(const char *fields, struct odeon_layout **ret_layout)
{
    struct scan s = { .at = fields, .alignment = 1 };
    struct payload_locale locale;
    int r;

    if (!fields || !ret_layout)
        return error_set_literal(-EINVAL, "odeon_layout_parse: no fields, or no place for the "
                                          "layout. Give both");
    s.layout = calloc(1, sizeof(*s.layout));
    if (s.layout)
        s.layout->fields = calloc(ODEON_LAYOUT_FIELDS_MAX, sizeof(*s.layout->fields));
    if (!s.layout || !s.layout->fields) {
        odeon_layout_free(s.layout);
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    }
    locale = payload_locale_enter();
    r = payload_layout_scan_fields(&s);
    payload_locale_leave(locale);
    if (r) {
        odeon_layout_free(s.layout);
        return r;
    }
    s.layout->tail_offset = s.end;
    s.layout->size = (s.end + s.alignment - 1) / s.alignment * s.alignment;
    *ret_layout = s.layout;
    return 0;
}

struct odeon_layout *odeon_layout_free(struct odeon_layout *layout)
{
    if (layout)
        free(layout->fields);
    free(layout);
    return NULL;
}

int odeon_layout_check(const struct odeon_layout *layout, uint32_t size, int has_tail)
{
    if (!layout)
        return error_set_literal(-EINVAL, "odeon_layout_check: no layout was given. Parse one");
    if (layout->has_tail != (has_tail != 0))
        return error_set(
            -EBADMSG, "its fields %s a tail, but it is registered %s one. Send it from a program",
            layout->has_tail ? "end in" : "do not end in", has_tail ? "with" : "without");
    /* a message with a tail may be registered with the bytes before its tail, or with the struct's,
     * padding included */
    if (size == layout->size || (layout->has_tail && size == layout->tail_offset))
        return 0;
    return error_set(
        -EBADMSG,
        "its fields have %u bytes as laid out here, but it is registered with %u. It may be "
        "packed or aligned otherwise; send it from a program",
        layout->size, size);
}

size_t odeon_layout_n(const struct odeon_layout *layout)
{
    return layout ? layout->n : 0;
}

size_t odeon_layout_size(const struct odeon_layout *layout)
{
    return layout ? layout->size : 0;
}

int odeon_layout_field(const struct odeon_layout *layout, size_t index,
                       struct odeon_field *ret_field)
{
    const struct payload_field *f;

    if (!ret_field || ret_field->struct_size < sizeof(*ret_field))
        return error_set(-EINVAL,
                         "odeon_layout_field: struct_size is %u. Set it to sizeof (struct "
                         "odeon_field)",
                         ret_field ? ret_field->struct_size : 0);
    if (index >= odeon_layout_n(layout))
        return error_set(-ENOENT, "there is no field %zu: the layout has %zu. Count from 0", index,
                         odeon_layout_n(layout));
    f = &layout->fields[index];
    *ret_field = (struct odeon_field){
        .struct_size = sizeof(*ret_field),
        .kind = f->type.kind,
        .size = f->type.size,
        .offset = f->offset,
        .count = f->count,
        .is_array = f->array,
        .name = f->name,
    };
    return 0;
}
