/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/observe/marks.h"

#include "daemon/engine/base/points.h"

/* marks.M3 */
static void marks_thin(struct marks *marks)
{
    uint32_t kept = marks->next;
    for (uint32_t i = marks->next; i < marks->n; i++)
        if ((i - marks->next) % 2 == 0)
            marks->mark[kept++] = marks->mark[i];
        else
            marks->mark[kept - 1].weight += marks->mark[i].weight;
    marks->n = kept;
    marks->spacing *= 2;
}

void marks_add(struct marks *marks, const struct wait_mark *mark)
{
    if (marks->next > 0) {
        marks->n -= marks->next;
        for (uint32_t i = 0; i < marks->n; i++)
            marks->mark[i] = marks->mark[marks->next + i];
        marks->next = 0;
    }
    if (marks->n == MARKS_MOST)
        marks_thin(marks);
    engine_check("marks.M3", marks->n < MARKS_MOST);
    engine_check("marks.M1", marks->n == 0 || marks->mark[marks->n - 1].second < mark->second ||
                                 marks->mark[marks->n - 1].at <= mark->at);
    marks->mark[marks->n++] = *mark;
}

/* marks.M1 */
void marks_unwrap(struct marks *marks, uint64_t wrap)
{
    while (marks->next < marks->n && !marks->mark[marks->next].second &&
           marks->mark[marks->next].at < wrap)
        marks->next++;
    for (uint32_t i = marks->next; i < marks->n; i++) {
        /* what was marked as the next record, and has found no room in front of the wrap */
        if (!marks->mark[i].second)
            marks->mark[i].at = 0;
        marks->mark[i].second = false;
    }
}
