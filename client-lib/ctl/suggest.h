/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of several names.  No state, any thread.
 *
 * Names are never completed or corrected by themselves: a suggestion is only text for a person.
 */
#pragma once

#include <stddef.h>

struct odeon_list;

struct suggestion {
    const char *word; /* what was written */
    const char *best; /* the nearest so far, NULL: none near enough */
    size_t distance;
};

void suggestion_init(struct suggestion *suggestion, const char *word);
/* `candidate` must live as long as the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);
/* The name that is nearest, to be freed; NULL: none is near enough. Each row has `row_size` bytes
 * and begins with a pointer to its name. */
char *suggestion_of_rows(const struct odeon_list *list, size_t row_size, const char *word);

/* Changes (insert, drop, replace, swap neighbours) between two words; long ones count as far
 * apart. */
size_t suggest_distance(const char *a, const char *b);
