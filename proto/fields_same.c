/* SPDX-License-Identifier: Apache-2.0 */
/* See fields_same.h. */
#include "fields_same.h"

#include <string.h>

#include "fields.h"

static bool fields_same_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool fields_same_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *fields_same_skip(const char *at)
{
    while (fields_same_is_space(*at))
        at++;
    return at;
}

/* Space means something between two words alone. */
static bool fields_same_words(const char *one, const char *other)
{
    char before = '\0'; /* the last character of both */

    for (;;) {
        bool in_word = fields_same_is_word(before);
        bool goes_on = in_word && fields_same_is_word(*one);

        if (goes_on != (in_word && fields_same_is_word(*other)))
            return false;
        if (!goes_on) {
            one = fields_same_skip(one);
            other = fields_same_skip(other);
        }
        if (*one != *other)
            return false;
        if (*one == '\0')
            return true;
        before = *one;
        one++;
        other++;
    }
}

static bool fields_same_field(const struct field *one, const struct field *other)
{
    return strcmp(one->name, other->name) == 0 && one->type.kind == other->type.kind &&
           one->type.size == other->type.size && one->offset == other->offset &&
           one->count == other->count && one->array == other->array;
}

static bool fields_same_meaning(const char *one, const char *other)
{
    struct fields_problem problem;
    struct fields first, second;

    if (fields_parse(one, &first, &problem) < 0 || fields_parse(other, &second, &problem) < 0 ||
        first.n != second.n || first.size != second.size || first.has_tail != second.has_tail)
        return false;
    for (size_t i = 0; i < first.n; i++)
        if (!fields_same_field(&first.field[i], &second.field[i]))
            return false;
    return true;
}

bool fields_same(const char *one, const char *other)
{
    return strcmp(one, other) == 0 || fields_same_words(one, other) ||
           fields_same_meaning(one, other);
}
