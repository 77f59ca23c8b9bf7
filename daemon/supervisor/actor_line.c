/* SPDX-License-Identifier: Apache-2.0 */
/* See actor_line.h. */
#include "daemon/supervisor/actor_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/config.h"
#include "daemon/common/name.h"
#include "proto/bounds.h"
#include "proto/fields.h"

enum { WORDS_MAX = 2 + FIELDS_MAX };

static int __attribute__((format(printf, 3, 4)))
actor_line_fail(char *text, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, CONFIG_TEXT_MAX, format, arguments);
    va_end(arguments);
    return error;
}

/* One word from *at, which begins there, to *to, with a NUL. -EINVAL: a quote has no end. */
static int actor_line_take_word(const char **at, char **to)
{
    bool quoted = false;

    for (; **at && (quoted || !strchr(" \t", **at)); ++*at) {
        if (**at == '"') {
            quoted = !quoted;
            continue;
        }
        if (quoted && **at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
            ++*at;
        *(*to)++ = **at;
    }
    *(*to)++ = '\0';
    return quoted ? -EINVAL : 0;
}

/* The number of words, which lie in `buffer` (CONFIG_LINE_MAX), or negative errno. */
static int actor_line_split(const char *value, char *buffer, char **words, char *text)
{
    int n = 0;

    if (strlen(value) >= CONFIG_LINE_MAX)
        return actor_line_fail(text, -E2BIG, "actor: the line is longer than %d bytes",
                               CONFIG_LINE_MAX - 1);
    for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
        if (n == WORDS_MAX)
            return actor_line_fail(text, -E2BIG, "actor: more than %d fields", FIELDS_MAX);
        words[n++] = buffer;
        if (actor_line_take_word(&value, &buffer) < 0)
            return actor_line_fail(text, -EINVAL, "actor: a quote (\") has no end");
    }
    return n;
}

/* FIELD=VALUE, and each field once. */
static int actor_line_check_fields(char *const *words, int n, char *text)
{
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        size_t length;

        if (!equals || equals == words[i])
            return actor_line_fail(text, -EINVAL, "actor: '%.60s' is not of the form FIELD=VALUE",
                                   words[i]);
        length = (size_t)(equals - words[i]) + 1;
        for (int j = 0; j < i; j++)
            if (strncmp(words[i], words[j], length) == 0)
                return actor_line_fail(text, -EEXIST, "actor: the field '%.*s' is given twice",
                                       length > 64 ? 63 : (int)length - 1, words[i]);
    }
    return 0;
}

static int actor_line_check(const struct actor_lines *lines, char *const *words, int n, char *text)
{
    if (n < 2)
        return actor_line_fail(text, -EINVAL,
                               "actor: expected TYPE NAME and then fields as FIELD=VALUE");
    if (!name_is_good(words[0]))
        return actor_line_fail(text, -EINVAL,
                               "actor: '%.70s' is no name for an actor type: 1 to %d letters, "
                               "digits, '_', '.' or '-' make one",
                               words[0], ODEON_NAME_MAX);
    if (!name_is_good_for_actor(words[1]))
        return actor_line_fail(text, -EINVAL,
                               "actor: '%.70s' is no name for an actor: 1 to %d letters, digits, "
                               "'_', '.' or '-' make one, and none that a reference is written "
                               "like",
                               words[1], ODEON_NAME_MAX);
    if (actor_lines_find(lines, words[1]))
        return actor_line_fail(text, -EEXIST, "actor: two actors are called '%.63s'", words[1]);
    if (lines->n == ACTOR_LINES_MAX)
        return actor_line_fail(text, -ENOSPC, "actor: more than %d actors", ACTOR_LINES_MAX);
    return actor_line_check_fields(words + 2, n - 2, text);
}

static void actor_line_fini(struct actor_line *line)
{
    for (size_t i = 0; i < line->n_words; i++)
        free(line->words[i]);
    free(line->words);
    free(line->type);
    free(line->name);
}

static int actor_line_init(struct actor_line *line, char *const *words, int n)
{
    *line = (struct actor_line){ .type = strdup(words[0]),
                                 .name = strdup(words[1]),
                                 .words = calloc((size_t)n, sizeof(char *)) };
    if (!line->type || !line->name || !line->words)
        return -ENOMEM;
    for (int i = 2; i < n; i++) {
        line->words[line->n_words] = strdup(words[i]);
        if (!line->words[line->n_words])
            return -ENOMEM;
        line->n_words++;
    }
    return 0;
}

int actor_lines_add(struct actor_lines *lines, const char *value, char *text)
{
    char buffer[CONFIG_LINE_MAX + WORDS_MAX], *words[WORDS_MAX];
    struct actor_line *list;
    int n = actor_line_split(value, buffer, words, text), r;

    if (n < 0)
        return n;
    r = actor_line_check(lines, words, n, text);
    if (r < 0)
        return r;
    list = realloc(lines->list, (lines->n + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    lines->list = list;
    r = actor_line_init(&list[lines->n], words, n);
    if (r < 0)
        actor_line_fini(&list[lines->n]);
    else
        lines->n++;
    return r;
}

const struct actor_line *actor_lines_find(const struct actor_lines *lines, const char *name)
{
    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(lines->list[i].name, name) == 0)
            return &lines->list[i];
    return NULL;
}

void actor_lines_fini(struct actor_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        actor_line_fini(&lines->list[i]);
    free(lines->list);
    *lines = (struct actor_lines){ 0 };
}
