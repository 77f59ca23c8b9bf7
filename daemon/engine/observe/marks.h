/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: of some of the records that wait in a queue, when they were appended. Nothing is written
 * into a record for it, and nothing is done for the others: a mark is a position in the buffer, and
 * the loop of the turns stops there once.
 *
 * Threads: those of a queue's active buffer under its lock; those of its batch by its runner. The
 * buffers are told apart by their index, so that a gulp needs no word of its own for it.
 *
 * marks.M1  Positions ascend, those of the batch's second piece behind those of its first: the next
 *     one is the nearest.
 * marks.M2  A position is one where a record begins, or began: who comes there reads the record
 *     that lies there, and who comes past it forgets the mark.
 * marks.M3  When there is no room every other mark goes, its weight to the one before it, and the
 *     next ones are twice as far apart: a buffer has at most MARKS_MOST, whatever lies in it.
 */
#pragma once

#include "daemon/engine/core/core.h"

#define MARKS_NONE UINT64_MAX

static inline struct marks *marks_of(struct engine *e, uint32_t queue, unsigned buffer)
{
    return &e->observation.marks[2 * (uint64_t)queue + buffer];
}

/* Is `now` far enough behind the last one? */
static inline bool marks_may_add(const struct marks *marks, uint64_t now)
{
    return marks->n == 0 || now - marks->mark[marks->n - 1].ticks >= marks->spacing;
}
void marks_add(struct marks *marks, const struct wait_mark *mark);
static inline void marks_clear(struct marks *marks)
{
    marks->n = marks->next = 0;
    marks->spacing = 0;
}

/* The batch goes on at the beginning of its buffer, where `wrap` was its end. */
void marks_unwrap(struct marks *marks, uint64_t wrap);

/* Where the next one lies in the batch's present piece; MARKS_NONE: there is none. */
static inline uint64_t marks_next(const struct marks *marks)
{
    return marks->next < marks->n && !marks->mark[marks->next].second ? marks->mark[marks->next].at
                                                                      : MARKS_NONE;
}
