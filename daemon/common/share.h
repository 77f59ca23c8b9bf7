/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of what all users have together: each may have half of what the others leave, so whoever
 * comes next is left something, however many have taken all that they could.
 *
 * Any thread; a computation.
 */
#pragma once

#include <stdint.h>

/* How much more one may have that has `own` of `max`, beside what the others have. One who has
 * nothing yet may have `first`, as long as there is so much. */
static inline uint64_t share_room(uint64_t max, uint64_t others, uint64_t own, uint64_t first)
{
    uint64_t free_of_others = max > others ? max - others : 0,
             left = free_of_others > own ? free_of_others - own : 0, half = free_of_others / 2,
             room = half > own ? half - own : 0;

    if (own == 0 && room < first)
        room = first;
    return room < left ? room : left;
}
