/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/watches.h"

int kept_open(struct engine *e)
{
    struct kept_copies *k = &e->timers.kept;
    k->behind = calloc(e->segment.n_queues, sizeof(*k->behind));
    if (!k->behind)
        return -ENOMEM;
    return timer_owners_open(&k->of, e->segment.n_timers, e->config.actors_max, e->timers.attached);
}

void kept_close(struct engine *e)
{
    struct kept_copies *k = &e->timers.kept;
    timer_owners_close(&k->of);
    free(k->behind);
    k->behind = NULL;
}

static actor_ref kept_member(const struct engine *e, uint32_t timer)
{
    return segment_timer_message(&e->segment, &e->segment.timers[timer])->to;
}

/* The one that was armed first: in the order of the chain, but for what a recovery has found. */
static bool kept_first(const struct engine *e, actor_ref member, uint32_t *ret_timer)
{
    const struct timer_owners *of = &e->timers.kept.of;
    const struct segment_timer *timers = e->segment.timers;
    uint32_t first;
    if (!timer_owners_first(of, member, &first))
        return false;
    *ret_timer = first;
    for (uint32_t timer = timer_owners_next(of, first); timer != first;
         timer = timer_owners_next(of, timer))
        if (timers[timer].sequence < timers[*ret_timer].sequence)
            *ret_timer = timer;
    return true;
}

static void kept_count_add(struct kept_copies *k, uint32_t n)
{
    store_relaxed(&k->n, load_relaxed(&k->n) + n);
}

void kept_leave(struct engine *e, actor_ref member)
{
    struct timer_owners *of = &e->timers.kept.of;
    uint32_t first, timer;
    if (!timer_owners_first(of, member, &first))
        return;
    timer = first;
    do {
        timer_heap_move(&e->timers.heap, timer, 0);
        timer = timer_owners_next(of, timer);
    } while (timer != first);
    timer_owners_leave(of, member);
}

/* What was armed for an earlier actor of the slot when that had just ended. */
static void kept_leave_before(struct engine *e, actor_ref member)
{
    actor_ref before = e->timers.kept.of.of[actor_ref_slot(member)].owner;
    if (before != 0 && actor_ref_generation(before) < actor_ref_generation(member))
        kept_leave(e, before);
}

uint64_t kept_add(struct engine *e, uint32_t timer, uint64_t due_ns)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    struct kept_copies *k = &e->timers.kept;
    uint32_t first;
    if (!timer_is_kept(durable))
        return due_ns;
    if (kept_first(e, kept_member(e, timer), &first)) { /* kept.KE1 */
        if (durable->sequence > e->segment.timers[first].sequence)
            due_ns = WATCH_NEVER_NS;
        else
            timer_heap_move(&e->timers.heap, first, WATCH_NEVER_NS);
    }
    kept_leave_before(e, kept_member(e, timer));
    timer_owners_add(&k->of, kept_member(e, timer), timer);
    kept_count_add(k, 1);
    store_relaxed(&k->any, 1);
    return due_ns;
}

void kept_remove(struct engine *e, uint32_t timer)
{
    struct kept_copies *k = &e->timers.kept;
    uint32_t next;
    if (!timer_is_kept(&e->segment.timers[timer]))
        return;
    actor_ref member = kept_member(e, timer);
    timer_owners_remove(&k->of, member, timer);
    kept_count_add(k, (uint32_t)-1);
    if (kept_first(e, member, &next)) /* kept.KE1 */
        timer_heap_move(&e->timers.heap, next, e->segment.timers[next].deadline_ns);
}

void kept_sent(struct engine *e, actor_ref group, actor_ref to, uint32_t destination)
{
    struct kept_copies *k = &e->timers.kept;
    k->sent[k->n_sent++] =
        (struct kept_sent){ .group = group, .to = to, .destination = destination };
    kept_count_add(k, 1);
}

void kept_flushed(struct engine *e)
{
    struct kept_copies *k = &e->timers.kept;
    if (k->n_sent == 0) /* the control thread's own */
        return;
    lock_take(&e->timers.mutex);
    for (uint32_t i = 0; i < k->n_sent; i++)
        k->behind[k->sent[i].destination] = true;
    kept_count_add(k, -k->n_sent);
    k->n_sent = 0;
    lock_give(&e->timers.mutex);
}

/* kept.KE2 */
static struct kept_wait kept_look_at(const struct engine *e, actor_ref group, actor_ref member)
{
    const struct kept_copies *k = &e->timers.kept;
    struct kept_wait wait = { .n = (uint16_t)timer_owners_count(&k->of, member) };
    uint32_t first, timer;
    if (timer_owners_first(&k->of, member, &first)) {
        timer = first;
        do {
            wait.own = e->segment.timers[timer].owner == group;
            timer = timer_owners_next(&k->of, timer);
        } while (!wait.own && timer != first);
    }
    for (uint32_t at = 0; at < k->n_sent; at++)
        if (k->sent[at].to == member) {
            wait.n++;
            wait.own = wait.own || k->sent[at].group == group;
        }
    return wait;
}

bool kept_look(struct engine *e, uint32_t queue, actor_ref group, const actor_ref *members,
               uint32_t n, struct kept_wait *ret_waits)
{
    struct kept_copies *k = &e->timers.kept;
    lock_take(&e->timers.mutex);
    for (uint32_t i = 0; i < n; i++)
        ret_waits[i] = kept_look_at(e, group, members[i]);
    bool behind = k->behind[queue];
    k->behind[queue] = false;
    lock_give(&e->timers.mutex);
    return behind;
}
