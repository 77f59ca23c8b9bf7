/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's lines "actor = TYPE NAME field=value ...": actors that each start finds or
 * makes (start_actors.h). This reads a line's words; what the fields mean, the executor knows.
 *
 * Words are separated by blanks. Within double quotes blanks are part of a word, and \" and \\ are
 * what stands behind the backslash. Event loop thread only.
 *
 * actor_line.AL1  No two lines have one name.
 */
#pragma once

#include <stddef.h>

enum { ACTOR_LINES_MAX = 1024 };

struct actor_line {
    char *type, *name;
    size_t n_words;
    char **words; /* FIELD=VALUE, quotes taken off */
};

struct actor_lines {
    size_t n;
    struct actor_line *list;
};

/* 0, or negative errno with a reason in `text` (CONFIG_TEXT_MAX) that names the key. */
int actor_lines_add(struct actor_lines *lines, const char *value, char *text);
/* NULL: none has this name. */
const struct actor_line *actor_lines_find(const struct actor_lines *lines, const char *name);
void actor_lines_fini(struct actor_lines *lines);
