/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of two words, and the nearest one (suggest.h). */
#include "client-lib/ctl/suggest.h"

#include <odeon/admin.h>
#include <string.h>

enum { SUGGEST_LENGTH_MAX = 63, SUGGEST_DISTANCE_MAX = 2 };

static size_t suggest_min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

size_t suggest_distance(const char *a, const char *b)
{
    size_t row[3][SUGGEST_LENGTH_MAX + 1]; /* the rows i-2, i-1 and i of the table, in turn */
    size_t n = strlen(a), m = strlen(b);

    if (n > SUGGEST_LENGTH_MAX || m > SUGGEST_LENGTH_MAX)
        return SUGGEST_LENGTH_MAX;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *before = row[(i - 1) % 3], *swap = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] =
                suggest_min3(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                swap[j - 2] + 1 < now[j])
                now[j] = swap[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}

void suggestion_init(struct suggestion *suggestion, const char *word)
{
    *suggestion = (struct suggestion){ .word = word, .distance = SUGGEST_DISTANCE_MAX + 1 };
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
    size_t n = strlen(suggestion->word), distance;

    if (n < 2)
        return; /* anything is near a single letter */
    /* a beginning is as near as a slip of the pen */
    if (n >= 3 && !strncmp(suggestion->word, candidate, n))
        distance = 1;
    else
        distance = suggest_distance(suggestion->word, candidate);
    if (distance >= suggestion->distance || distance >= n)
        return;
    suggestion->best = candidate;
    suggestion->distance = distance;
}

char *suggestion_of_rows(const struct odeon_list *list, size_t row_size, const char *word)
{
    struct suggestion near;

    suggestion_init(&near, word);
    for (size_t i = 0; i < list->n; i++)
        suggestion_offer(&near, *(const char *const *)((const char *)list->rows + i * row_size));
    return near.best ? strdup(near.best) : NULL;
}
