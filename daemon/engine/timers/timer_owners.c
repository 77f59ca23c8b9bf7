/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_owners.h"

#include <errno.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"

int timer_owners_open(struct timer_owners *o, uint32_t timers_max, uint32_t actors_max,
                      _Atomic uint32_t *attached)
{
    o->attached = attached;
    o->of_bytes = (uint64_t)actors_max * sizeof(*o->of);
    o->links_bytes = (uint64_t)timers_max * sizeof(*o->links);
    o->of = reserve(o->of_bytes);
    if (timers_max > 0)
        o->links = reserve(o->links_bytes);
    return o->of && (o->links || timers_max == 0) ? 0 : -ENOMEM;
}

void timer_owners_close(struct timer_owners *o)
{
    reserve_free(o->of, o->of_bytes);
    reserve_free(o->links, o->links_bytes);
    *o = (struct timer_owners){ 0 };
}

/* A chain is a circle; `first` is a number + 1, 0: it is empty. */
static void timer_owners_join(struct timer_owners *o, uint32_t *first, uint32_t other_first)
{
    if (*first == 0) {
        *first = other_first;
        return;
    }
    uint32_t a = *first - 1, b = other_first - 1, a_last = o->links[a].prev,
             b_last = o->links[b].prev;
    o->links[a_last].next = b;
    o->links[b].prev = a_last;
    o->links[b_last].next = a;
    o->links[a].prev = b_last;
}

static void timer_owners_count_add(struct timer_owners *o, struct timer_owner *of, uint32_t n)
{
    _Atomic uint32_t *attached = &o->attached[of - o->of];
    of->n += n;
    store_relaxed(attached, load_relaxed(attached) + n);
}

static void timer_owners_empty(struct timer_owners *o, struct timer_owner *of)
{
    if (of->first)
        timer_owners_join(o, &o->orphans, of->first);
    of->owner = 0;
    of->first = 0;
    of->weight = 0;
    timer_owners_count_add(o, of, -of->n);
}

/* timer_owners.TO1, timer_owners.TO3 */
static bool timer_owners_has_left(const struct timer_owner *of, actor_ref owner)
{
    uint32_t generation = actor_ref_generation(owner);
    return (of->owner && generation < actor_ref_generation(of->owner)) ||
           VALUE(owner_left, of->left && generation <= actor_ref_generation(of->left));
}

void timer_owners_add(struct timer_owners *o, actor_ref owner, uint32_t timer)
{
    struct timer_owner *of = &o->of[actor_ref_slot(owner)];
    o->links[timer] = (struct timer_link){ .next = timer, .prev = timer };
    if (timer_owners_has_left(of, owner)) {
        timer_owners_join(o, &o->orphans, timer + 1);
        return;
    }
    if (of->owner != owner)
        timer_owners_empty(o, of);
    of->owner = owner;
    timer_owners_join(o, &of->first, timer + 1);
    timer_owners_count_add(o, of, 1);
}

void timer_owners_remove(struct timer_owners *o, actor_ref owner, uint32_t timer)
{
    struct timer_owner *of = &o->of[actor_ref_slot(owner)];
    struct timer_link *link = &o->links[timer];
    uint32_t after = link->next == timer ? 0 : link->next + 1;
    bool orphan = of->owner != owner;
    if (of->first == timer + 1)
        of->first = after;
    if (o->orphans == timer + 1)
        o->orphans = after;
    o->links[link->next].prev = link->prev;
    o->links[link->prev].next = link->next;
    *link = (struct timer_link){ .next = timer, .prev = timer };
    if (!orphan)
        timer_owners_count_add(o, of, (uint32_t)-1);
}

void timer_owners_weigh(struct timer_owners *o, actor_ref owner, int64_t weight)
{
    struct timer_owner *of = &o->of[actor_ref_slot(owner)];
    if (of->owner == owner)
        of->weight += (uint64_t)weight;
}

void timer_owners_leave(struct timer_owners *o, actor_ref owner)
{
    struct timer_owner *of = &o->of[actor_ref_slot(owner)];
    if (of->owner != owner)
        return;
    timer_owners_empty(o, of);
    of->left = owner;
}

bool timer_owners_orphan(const struct timer_owners *o, uint32_t *ret_timer)
{
    *ret_timer = o->orphans - 1;
    return o->orphans != 0;
}
