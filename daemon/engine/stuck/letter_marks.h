/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse index of the dead letters: ids rise, so whoever asks for a page begins at the last mark
 * before it, not at the first letter. It is made while letters are looked at, and is nobody's
 * promise: without it everything is found, only later.
 *
 * Control thread only, under the lock of the dead letters.
 *
 * letter_marks.LM1  At a mark begins the letter of its id, in the active buffer. Letters do not
 *     move there, flushes append only; when a sweep changes the buffers over, all marks go.
 * letter_marks.LM2  Marks are at least a stride apart. When there is no room for one, every second
 *     goes and the stride doubles: between two of them there are never more than some hundredths of
 *     the store.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Where to begin for this id: the mark, or NULL for the beginning. */
const struct letter_mark *letter_marks_find(const struct letter_marks *marks, uint64_t id);
void letter_marks_add(struct letter_marks *marks, uint64_t id, uint64_t at);
void letter_marks_drop(struct letter_marks *marks);

/* A letter has been looked at. */
static inline void letter_marks_note(struct letter_marks *marks, uint64_t id, uint64_t at)
{
    marks->looked++;
    if (at >= marks->next)
        letter_marks_add(marks, id, at);
}
