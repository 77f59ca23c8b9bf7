/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/watch_index.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/reserve.h"
#include "daemon/engine/timers/timer_posted.h"

int watch_index_open(struct engine *e)
{
    struct watch_index *x = &e->timers.watch_index;
    uint32_t n = e->segment.n_timers, chains = 1;
    if (n == 0)
        return 0;
    while (chains < n)
        chains *= 2;
    x->n_chains = chains;
    x->key = clock_now_ns() ^ (uint64_t)(uintptr_t)x;
    x->first = reserve(chains * sizeof(*x->first));
    x->links = reserve((uint64_t)n * sizeof(*x->links));
    return x->first && x->links ? 0 : -ENOMEM;
}

void watch_index_close(struct engine *e)
{
    struct watch_index *x = &e->timers.watch_index;
    reserve_free(x->first, x->n_chains * sizeof(*x->first));
    reserve_free(x->links, (uint64_t)e->segment.n_timers * sizeof(*x->links));
    *x = (struct watch_index){ 0 };
}

/* watch_index.WI2: each word is mixed into all bits before the next one comes. */
static uint32_t watch_index_hash(const struct watch_index *x, actor_ref port, actor_ref watched,
                                 uint64_t id)
{
    const uint64_t words[] = { port, watched, id };
    uint64_t h = x->key;
    for (unsigned i = 0; i < 3; i++) {
        h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 20) & (x->n_chains - 1);
}

static uint64_t watch_index_id(const struct engine *e, uint32_t timer)
{
    struct down down;
    memcpy(&down, envelope_payload(segment_timer_message(&e->segment, &e->segment.timers[timer])),
           sizeof(down));
    return down.monitor;
}

static uint32_t *watch_index_chain(struct engine *e, uint32_t timer)
{
    struct watch_index *x = &e->timers.watch_index;
    const struct segment_timer *durable = &e->segment.timers[timer];
    return &x->first[watch_index_hash(x, durable->owner, durable->watched,
                                      watch_index_id(e, timer))];
}

static bool watch_index_is_of_it(const struct segment_timer *timer)
{
    return timer_posted_is(timer) && timer->watched != 0;
}

/* A chain ends on both sides; numbers + 1. */
void watch_index_add(struct engine *e, uint32_t timer)
{
    struct timer_link *links = e->timers.watch_index.links;
    if (!watch_index_is_of_it(&e->segment.timers[timer]))
        return;
    uint32_t *first = watch_index_chain(e, timer);
    links[timer] = (struct timer_link){ .next = *first };
    if (*first != 0)
        links[*first - 1].prev = timer + 1;
    *first = timer + 1;
}

void watch_index_remove(struct engine *e, uint32_t timer)
{
    struct timer_link *links = e->timers.watch_index.links;
    if (!watch_index_is_of_it(&e->segment.timers[timer]))
        return;
    const struct timer_link link = links[timer];
    if (link.next != 0)
        links[link.next - 1].prev = link.prev;
    if (link.prev != 0)
        links[link.prev - 1].next = link.next;
    else
        *watch_index_chain(e, timer) = link.next;
}

bool watch_index_find(const struct engine *e, actor_ref port, actor_ref watched, uint64_t id,
                      uint32_t *ret_timer)
{
    const struct watch_index *x = &e->timers.watch_index;
    if (x->n_chains == 0)
        return false;
    for (uint32_t at = x->first[watch_index_hash(x, port, watched, id)]; at != 0;
         at = x->links[at - 1].next) {
        const struct segment_timer *durable = &e->segment.timers[at - 1];
        *ret_timer = at - 1;
        if (durable->owner == port && durable->watched == watched &&
            watch_index_id(e, at - 1) == id)
            return true;
    }
    return false;
}
