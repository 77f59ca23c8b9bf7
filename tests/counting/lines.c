/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/counting/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINES = 1 << 16, THREAD_WORDS = LINE_THREADS_MAX / 64, NAME_UNKNOWN = 255 };

struct line {
    uint64_t number_1;              /* + 1; 0: an empty place */
    uint64_t has[THREAD_WORDS];     /* threads in whose caches it is; one that writes is alone */
    uint64_t touched[THREAD_WORDS]; /* those that count */
    uint8_t name[LINE_WORDS];
};

struct line_entry {
    uint64_t line, round;
};

static struct line *lines;
static uint64_t n_places, n_lines;
static uint8_t (*name_of)(uint64_t address);

static void *lines_memory(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory) {
        fputs("count: no memory\n", stderr);
        exit(2);
    }
    return memory;
}

void lines_init(uint8_t (*name)(uint64_t address))
{
    name_of = name;
    n_places = FIRST_LINES;
    n_lines = 0;
    lines = lines_memory(n_places, sizeof(*lines));
}

void lines_free(void)
{
    free(lines);
    lines = NULL;
}

static uint64_t lines_hash(uint64_t line)
{
    line *= UINT64_C(0x9e3779b97f4a7c15);
    return line ^ line >> 29;
}

static struct line *lines_place(uint64_t number)
{
    uint64_t at = lines_hash(number) & (n_places - 1);
    while (lines[at].number_1 && lines[at].number_1 != number + 1)
        at = (at + 1) & (n_places - 1);
    return &lines[at];
}

static void lines_grow(void)
{
    struct line *before = lines;
    uint64_t n_before = n_places;
    n_places *= 2;
    lines = lines_memory(n_places, sizeof(*lines));
    for (uint64_t i = 0; i < n_before; i++)
        if (before[i].number_1)
            *lines_place(before[i].number_1 - 1) = before[i];
    free(before);
}

static struct line *lines_get(uint64_t number)
{
    struct line *line = lines_place(number);
    if (line->number_1)
        return line;
    if (2 * ++n_lines > n_places) {
        lines_grow();
        line = lines_place(number);
    }
    line->number_1 = number + 1;
    memset(line->name, NAME_UNKNOWN, sizeof(line->name));
    return line;
}

struct line_seen lines_see(uint32_t thread, bool counts, uint64_t address, bool writes)
{
    struct line *line = lines_get(address / LINE_BYTES);
    uint64_t bit = UINT64_C(1) << (thread % 64), others = 0;
    uint32_t n_touched = 0, mine = thread / 64, word = address % LINE_BYTES / 8;
    for (uint32_t i = 0; i < THREAD_WORDS; i++)
        others |= i == mine ? line->has[i] & ~bit : line->has[i];
    bool has = (line->has[mine] & bit) != 0, foreign = others != 0 && (writes || !has);
    if (writes)
        memset(line->has, 0, sizeof(line->has));
    line->has[mine] |= bit;
    if (counts)
        line->touched[mine] |= bit;
    for (uint32_t i = 0; i < THREAD_WORDS; i++)
        n_touched += (line->touched[i] != 0) + ((line->touched[i] & (line->touched[i] - 1)) != 0);
    if (line->name[word] == NAME_UNKNOWN)
        line->name[word] = name_of(address & ~UINT64_C(7));
    return (struct line_seen){ .line = address / LINE_BYTES,
                               .foreign = foreign,
                               .shared = n_touched > 1,
                               .word = line->name[word] };
}

/* ---- sets ---- */

void line_set_init(struct line_set *set, uint32_t size)
{
    *set = (struct line_set){ .entries = lines_memory(size, sizeof(*set->entries)),
                              .size = size,
                              .round = 1 };
}

void line_set_free(struct line_set *set)
{
    free(set->entries);
    set->entries = NULL;
}

/* An entry of an older round ends a search: what lies behind it is older still, for nothing is
 * taken out within a round. */
bool line_set_add(struct line_set *set, uint64_t line)
{
    uint32_t at = (uint32_t)lines_hash(line) & (set->size - 1);
    for (uint32_t i = 0; i < set->size; i++, at = (at + 1) & (set->size - 1)) {
        struct line_entry *entry = &set->entries[at];
        if (entry->round != set->round) {
            *entry = (struct line_entry){ .line = line, .round = set->round };
            return true;
        }
        if (entry->line == line)
            return false;
    }
    fputs("count: more lines in one go than a set has room for\n", stderr);
    exit(2);
}
