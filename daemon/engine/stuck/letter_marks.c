/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/letter_marks.h"

const struct letter_mark *letter_marks_find(const struct letter_marks *marks, uint64_t id)
{
    uint32_t from = 0, to = marks->n;
    while (from < to) { /* those below `from` have such an id or a smaller one, from `to` on none */
        uint32_t middle = from + (to - from) / 2;
        if (marks->list[middle].id <= id)
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 ? &marks->list[from - 1] : NULL;
}

/* letter_marks.LM2 */
static void letter_marks_thin_out(struct letter_marks *marks)
{
    for (uint32_t i = 0; i < LETTER_MARKS / 2; i++)
        marks->list[i] = marks->list[2 * i];
    marks->n = LETTER_MARKS / 2;
    marks->stride *= 2;
}

void letter_marks_add(struct letter_marks *marks, uint64_t id, uint64_t at)
{
    if (marks->stride == 0)
        marks->stride = LETTER_MARKS_STRIDE;
    if (marks->n == LETTER_MARKS)
        letter_marks_thin_out(marks);
    marks->list[marks->n++] = (struct letter_mark){ .id = id, .at = at };
    marks->next = at + marks->stride;
}

void letter_marks_drop(struct letter_marks *marks)
{
    marks->n = 0;
    marks->stride = marks->next = 0;
}
