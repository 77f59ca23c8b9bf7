/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_users.h"

/* Those of whom something waits are few. NULL: it is none of them. */
static struct timer_user *timer_users_find(struct timer_users *users, uint32_t user)
{
    for (uint32_t i = 0; i < users->n; i++)
        if (users->of[i].user == user)
            return &users->of[i];
    return NULL;
}

struct timer_user timer_users_get(const struct timer_users *users, uint32_t user)
{
    const struct timer_user *found = timer_users_find((struct timer_users *)users, user);
    return found ? *found : (struct timer_user){ .user = user };
}

void timer_users_add(struct timer_users *users, uint32_t user, uint64_t bytes)
{
    struct timer_user *found = timer_users_find(users, user);
    if (!found && !timer_users_has_room(users))
        return; /* nothing is taken in for it then */
    if (!found) {
        found = &users->of[users->n++];
        *found = (struct timer_user){ .user = user };
    }
    found->n++;
    found->bytes += bytes;
}

/* timer_users.TU1 */
void timer_users_remove(struct timer_users *users, uint32_t user, uint64_t bytes)
{
    struct timer_user *found = timer_users_find(users, user);
    if (!found)
        return;
    found->bytes -= bytes;
    if (--found->n == 0)
        *found = users->of[--users->n];
}
