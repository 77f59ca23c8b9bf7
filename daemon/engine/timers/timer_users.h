/* SPDX-License-Identifier: Apache-2.0 */
/* Whose messages wait that clients have posted, for their time or, as a group's copies, for a
 * member: how many each user has, whether its clients are still there or not. In the process's own
 * memory; made anew of the segment's table.
 *
 * Threads: under the mutex of the timers.
 *
 * timer_users.TU1  A user is in the table as long as something waits for it; its counts are those
 *     of the timers that live and carry its number.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/parts/timers.h"

/* Of all whose user is not known, together: no user has this number. */
#define TIMER_USER_NOBODY UINT32_MAX

/* What waits for the user, 0 of it if nothing does. */
struct timer_user timer_users_get(const struct timer_users *users, uint32_t user);
/* Is there room for a user of whom nothing waits? */
static inline bool timer_users_has_room(const struct timer_users *users)
{
    return users->n < TIMER_USERS_MAX;
}
void timer_users_add(struct timer_users *users, uint32_t user, uint64_t bytes);
void timer_users_remove(struct timer_users *users, uint32_t user, uint64_t bytes);
