/* SPDX-License-Identifier: Apache-2.0 */
/* See fields.h. The text is a macro argument turned into a string: tokens with single spaces at
 * most, no comments, no line ends. */
#include "fields.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "bounds.h"

static const char not_plain[] = "The message's declaration is not plain C";
static const char too_large[] = "Messages have 32768 bytes at most";
static_assert(ODEON_PAYLOAD_MAX == 32768 && FIELD_NAME_MAX == 63 && FIELDS_MAX == 128,
              "what the texts say");

struct scan {
    const char *at;
    struct fields *fields;
    struct fields_problem *problem;
    uint32_t end;       /* of the last field */
    uint32_t alignment; /* of the struct */
    char cut[21];       /* of what comes, for a reason */
};

/* Why a description is refused: texts that are joined. */
#define WHY(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int fields_refuse(struct scan *s, int error, const char *remedy, const char *const parts[])
{
    char *why = s->problem->why;
    size_t used = 0;

    for (; *parts; parts++) {
        size_t n = strnlen(*parts, sizeof(s->problem->why) - 1 - used);

        memcpy(why + used, *parts, n);
        used += n;
    }
    why[used] = '\0';
    s->problem->remedy = remedy;
    return error;
}

/* As much of what comes as fits into a sentence; one at a time. */
static const char *fields_cut(struct scan *s, const char *at)
{
    size_t n = strnlen(at, sizeof(s->cut) - 1);

    memcpy(s->cut, at, n);
    s->cut[n] = '\0';
    return s->cut;
}

/* As in the locale "C", whatever the program's is. */
static bool fields_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool fields_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool fields_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void fields_scan_skip(struct scan *s)
{
    while (fields_is_space(*s->at))
        s->at++;
}

static bool fields_scan_accept(struct scan *s, char c)
{
    fields_scan_skip(s);
    if (*s->at != c)
        return false;
    s->at++;
    return true;
}

/* An identifier into `word`; its length there, 0: there is none. One that is too long is cut to one
 * byte too many. */
enum { WORD_SIZE = FIELD_NAME_MAX + 2 };
static size_t fields_scan_word(struct scan *s, char word[static WORD_SIZE])
{
    size_t n = 0;

    fields_scan_skip(s);
    if (!fields_is_letter(*s->at))
        return 0;
    for (; fields_is_letter(*s->at) || fields_is_digit(*s->at); s->at++)
        if (n < WORD_SIZE - 1)
            word[n++] = *s->at;
    word[n] = '\0';
    return n;
}

static const struct named_type {
    const char *name;
    struct field_type type;
} named_types[] = {
    { "int8_t", { FIELD_SIGNED, 1 } },      { "int16_t", { FIELD_SIGNED, 2 } },
    { "int32_t", { FIELD_SIGNED, 4 } },     { "int64_t", { FIELD_SIGNED, 8 } },
    { "uint8_t", { FIELD_UNSIGNED, 1 } },   { "uint16_t", { FIELD_UNSIGNED, 2 } },
    { "uint32_t", { FIELD_UNSIGNED, 4 } },  { "uint64_t", { FIELD_UNSIGNED, 8 } },
    { "size_t", { FIELD_UNSIGNED, 8 } },    { "ssize_t", { FIELD_SIGNED, 8 } },
    { "intptr_t", { FIELD_SIGNED, 8 } },    { "uintptr_t", { FIELD_UNSIGNED, 8 } },
    { "ptrdiff_t", { FIELD_SIGNED, 8 } },   { "intmax_t", { FIELD_SIGNED, 8 } },
    { "uintmax_t", { FIELD_UNSIGNED, 8 } }, { "off_t", { FIELD_SIGNED, 8 } },
    { "time_t", { FIELD_SIGNED, 8 } },      { "bool", { FIELD_BOOL, 1 } },
    { "_Bool", { FIELD_BOOL, 1 } },         { "float", { FIELD_FLOAT, 4 } },
    { "odeon_ref", { FIELD_REF, 8 } },
};

/* The words before a declarator: how often each of C's basic ones came, and a name that stands
 * alone. */
struct specifiers {
    unsigned n_char, n_short, n_int, n_long, n_signed, n_unsigned, n_double;
    const struct named_type *named;
};

static int fields_specifiers_resolve(const struct specifiers *p, struct field_type *ret)
{
    bool basic = p->n_char || p->n_short || p->n_int || p->n_long || p->n_signed || p->n_unsigned ||
                 p->n_double;
    enum field_kind kind = p->n_unsigned ? FIELD_UNSIGNED : FIELD_SIGNED;

    if (p->named) {
        *ret = p->named->type;
        return basic ? -EINVAL : 0;
    }
    if (!basic || p->n_signed + p->n_unsigned > 1 || p->n_char > 1 || p->n_short > 1 ||
        p->n_int > 1 || p->n_long > 2 || p->n_double > 1)
        return -EINVAL;
    if (p->n_double) {
        *ret = (struct field_type){ FIELD_FLOAT, 8 };
        if (p->n_long)
            return -ENOTSUP; /* long double */
        return p->n_char || p->n_short || p->n_int || p->n_signed || p->n_unsigned ? -EINVAL : 0;
    }
    if (p->n_char) {
        *ret = (struct field_type){ p->n_signed || p->n_unsigned ? kind : FIELD_CHAR, 1 };
        return p->n_short || p->n_int || p->n_long ? -EINVAL : 0;
    }
    if (p->n_short && p->n_long)
        return -EINVAL;
    *ret = (struct field_type){ kind, p->n_short ? 2 : p->n_long ? 8 : 4 };
    return 0;
}

static bool fields_specifiers_take(struct specifiers *p, const char *word)
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
static int fields_scan_type(struct scan *s, struct field_type *ret, char word[static WORD_SIZE])
{
    struct specifiers p = { 0 };
    unsigned n = 0;
    int r;

    for (;; n++) {
        if (!fields_scan_word(s, word))
            break;
        if (!fields_specifiers_take(&p, word))
            goto named;
    }
    word[0] = '\0';
named:
    if (!n) {
        if (!*word)
            return fields_refuse(s, -EINVAL, not_plain,
                                 WHY("a field's type is expected at '", fields_cut(s, s->at), "'"));
        return fields_refuse(
            s, -ENOTSUP, "Use integers, floats, bool and arrays of them, or send it from a program",
            WHY("the type '", word, "' cannot be laid out here"));
    }
    r = fields_specifiers_resolve(&p, ret);
    if (r == -ENOTSUP)
        return fields_refuse(s, r, "Send the message from a program",
                             WHY("the type 'long double' cannot be laid out here"));
    if (r)
        return fields_refuse(s, r, not_plain,
                             WHY("the type of a field before '",
                                 fields_cut(s, *word ? word : s->at), "' is not one of C's"));
    return 0;
}

static unsigned fields_digit(char c, unsigned base)
{
    unsigned value = fields_is_digit(c)       ? (unsigned)(c - '0')
                     : (c >= 'a' && c <= 'f') ? (unsigned)(c - 'a' + 10)
                     : (c >= 'A' && c <= 'F') ? (unsigned)(c - 'A' + 10)
                                              : base;

    return value < base ? value : base;
}

/* As C writes it, decimal, octal or hexadecimal; more than a message can have comes out as just
 * too much. */
static uint32_t fields_scan_number(struct scan *s)
{
    unsigned base = *s->at != '0' ? 10 : 8;
    uint32_t number = 0;

    if (base == 8 && (s->at[1] == 'x' || s->at[1] == 'X') && fields_digit(s->at[2], 16) < 16) {
        base = 16;
        s->at += 2;
    }
    for (; fields_digit(*s->at, base) < base; s->at++) {
        number = number * base + fields_digit(*s->at, base);
        if (number > ODEON_PAYLOAD_MAX)
            number = ODEON_PAYLOAD_MAX + 1;
    }
    return number;
}

/* [N] or []; *ret_count: 0 for a tail. */
static int fields_scan_array(struct scan *s, const char *name, uint32_t *ret_count)
{
    uint32_t count;

    if (fields_scan_accept(s, ']')) {
        *ret_count = 0;
        return 0;
    }
    fields_scan_skip(s);
    if (!fields_is_digit(*s->at))
        return fields_refuse(
            s, -ENOTSUP, "Write it there as a number, or send from a program",
            WHY("the length of '", name, "' is not a number where it is declared"));
    count = fields_scan_number(s);
    while (*s->at == 'u' || *s->at == 'U' || *s->at == 'l' || *s->at == 'L')
        s->at++;
    if (!fields_scan_accept(s, ']'))
        return fields_refuse(
            s, -ENOTSUP, "Write it there as a number, or send from a program",
            WHY("the length of '", name, "' is not a plain number where it is declared"));
    if (!count || count > ODEON_PAYLOAD_MAX)
        return fields_refuse(s, -EINVAL, too_large,
                             WHY("the length of '", name, "' is none that a message can have"));
    *ret_count = count;
    return 0;
}

static int fields_add(struct scan *s, const char *name, const struct field_type *type, bool array,
                      uint32_t count)
{
    struct fields *l = s->fields;
    uint32_t offset = (s->end + type->size - 1) / type->size * type->size;
    struct field *f;

    if (l->has_tail)
        return fields_refuse(s, -EINVAL, "A tail is always the last field",
                             WHY("'", name, "' follows the tail '", l->field[l->n - 1].name, "'"));
    if (l->n >= FIELDS_MAX)
        return fields_refuse(s, -ENOTSUP, "Send it from a program",
                             WHY("there are more than 128 fields"));
    if ((uint64_t)offset + (uint64_t)count * type->size > ODEON_PAYLOAD_MAX)
        return fields_refuse(
            s, -EINVAL, too_large,
            WHY("the fields up to '", name, "' have more bytes than a message can"));
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->field[i].name, name))
            return fields_refuse(s, -EINVAL, not_plain, WHY("there are two fields '", name, "'"));

    f = &l->field[l->n++];
    *f = (struct field){ .type = *type, .offset = offset, .count = count, .array = array };
    memcpy(f->name, name, strlen(name) + 1); /* at most FIELD_NAME_MAX: fields_scan_declarators() */
    l->has_tail = array && !count;
    s->end = offset + count * type->size;
    if (type->size > s->alignment)
        s->alignment = type->size;
    return 0;
}

/* name[, name[3]]; after a type. */
static int fields_scan_declarators(struct scan *s, const struct field_type *type,
                                   char word[static WORD_SIZE])
{
    bool given = *word != '\0';

    for (;; given = false) {
        uint32_t count = 1;
        bool array = false;
        size_t n;
        int r;

        if (fields_scan_accept(s, '*'))
            return fields_refuse(
                s, -ENOTSUP, "Change its declaration",
                WHY("there is a pointer field, which means nothing in another process"));
        n = given ? strlen(word) : fields_scan_word(s, word);
        if (!n)
            return fields_refuse(s, -EINVAL, not_plain,
                                 WHY("a field's name is expected at '", fields_cut(s, s->at), "'"));
        if (n > FIELD_NAME_MAX)
            return fields_refuse(s, -ENOTSUP, "Field names have 63 bytes at most",
                                 WHY("the name '", word, "...' is too long"));
        if (fields_scan_accept(s, '[')) {
            array = true;
            r = fields_scan_array(s, word, &count);
            if (r)
                return r;
            if (fields_scan_accept(s, '['))
                return fields_refuse(s, -ENOTSUP, "Send the message from a program",
                                     WHY("'", word, "' is an array of arrays"));
        }
        if (fields_scan_accept(s, ':'))
            return fields_refuse(s, -ENOTSUP, "Send the message from a program",
                                 WHY("'", word, "' is a bit field"));
        r = fields_add(s, word, type, array, count);
        if (r)
            return r;
        if (fields_scan_accept(s, ';'))
            return 0;
        if (!fields_scan_accept(s, ','))
            return fields_refuse(
                s, -ENOTSUP, "Use plain fields, or send from a program",
                WHY("what follows '", word, "' at '", fields_cut(s, s->at), "' is not understood"));
    }
}

static int fields_scan_fields(struct scan *s)
{
    bool braces = fields_scan_accept(s, '{');
    char word[WORD_SIZE] = "";
    struct field_type type = { FIELD_SIGNED, 1 };
    int r;

    for (;;) {
        fields_scan_skip(s);
        if (!*s->at || *s->at == '}')
            break;
        if (fields_scan_accept(s, ';'))
            continue;
        r = fields_scan_type(s, &type, word);
        if (!r)
            r = fields_scan_declarators(s, &type, word);
        if (r)
            return r;
    }
    if (braces != fields_scan_accept(s, '}'))
        return fields_refuse(s, -EINVAL, not_plain,
                             WHY("the braces around the fields do not match"));
    fields_scan_skip(s);
    if (*s->at)
        return fields_refuse(s, -EINVAL, not_plain,
                             WHY("there is more after the fields: '", fields_cut(s, s->at), "'"));
    return 0;
}

int fields_parse(const char *text, struct fields *ret, struct fields_problem *problem)
{
    struct scan s = { .at = text, .fields = ret, .problem = problem, .alignment = 1 };
    int r;

    ret->n = 0;
    ret->has_tail = false;
    r = fields_scan_fields(&s);
    if (r)
        return r;
    ret->tail_offset = s.end;
    ret->size = (s.end + s.alignment - 1) / s.alignment * s.alignment;
    return 0;
}
