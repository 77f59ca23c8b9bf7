/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/base/reserve.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/timers/timer_owners.h"

enum { MEMBERS_ROOM_FIRST = 64 };

/* members.M2: what the outbox has room for, when what is flushed behind a message has been. */
static uint32_t members_block_places(const struct engine *e)
{
    uint64_t room = e->segment.header->outbox_bytes - OUTBOX_SYSTEM_BYTES - OUTBOX_FLUSH_BYTES,
             places = room / (sizeof(struct outbox_run) + ENVELOPE_SIZE_MAX);
    return places == 0 ? 1 : places < MEMBERS_BLOCK_MAX ? (uint32_t)places : MEMBERS_BLOCK_MAX;
}

int members_open(struct engine *e)
{
    struct members *m = &e->timers.members;
    m->block = members_block_places(e);
    m->of_slot = reserve(e->config.actors_max * sizeof(*m->of_slot));
    if (!m->of_slot)
        return -ENOMEM;
    return timer_owners_open(&m->joined, e->segment.n_timers, e->config.actors_max,
                             e->timers.attached);
}

void members_close(struct engine *e)
{
    struct members *m = &e->timers.members;
    for (uint32_t i = 1; i <= m->n_groups; i++)
        free(m->of[i].places);
    timer_owners_close(&m->joined);
    reserve_free(m->of_slot, e->config.actors_max * sizeof(*m->of_slot));
    m->of_slot = NULL;
    m->n_groups = 0;
}

struct member_group *members_of(struct engine *e, actor_ref group)
{
    struct members *m = &e->timers.members;
    return &m->of[m->of_slot[actor_ref_slot(group)]];
}

static bool members_room_grow(struct member_group *of, uint32_t places)
{
    uint32_t n = of->n_max ? of->n_max : MEMBERS_ROOM_FIRST;
    while (n < places)
        n *= 2;
    if (n == of->n_max)
        return true;
    struct member_place *places_of = realloc(of->places, n * sizeof(*places_of));
    if (!places_of)
        return false;
    memset(places_of + of->n_max, 0, (n - of->n_max) * sizeof(*places_of));
    of->places = places_of;
    of->n_max = n;
    return true;
}

/* Room for places below `places`. */
static int members_room(struct engine *e, actor_ref group, uint32_t places)
{
    struct members *m = &e->timers.members;
    struct member_group *of = members_of(e, group);
    if (of->group == 0) {
        if (m->n_groups == ODEON_GROUPS_MAX)
            return -ENOSPC;
        m->of_slot[actor_ref_slot(group)] = (uint16_t)++m->n_groups;
        of = &m->of[m->n_groups];
        *of = (struct member_group){ .group = group };
    }
    return members_room_grow(of, places) ? 0 : -ENOMEM;
}

/* The lowest place that is nobody's. */
static uint32_t members_lowest(const struct member_group *of)
{
    uint32_t place = of->lowest;
    while (place < of->high && of->places[place].timer != 0)
        place++;
    return place;
}

/* Those before it are taken, and are not looked at again. */
uint32_t members_place(struct engine *e, actor_ref group)
{
    struct member_group *of = members_of(e, group);
    of->lowest = members_lowest(of);
    return of->lowest;
}

int members_make_room(struct engine *e, actor_ref group)
{
    return members_room(e, group, members_lowest(members_of(e, group)) + 1);
}

bool members_recover_room(struct engine *e, const struct segment_timer *timer)
{
    return timer->group == 0 || members_room(e, timer->group, timer->member_place + 1) == 0;
}

void members_add(struct engine *e, uint32_t timer)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    if (durable->group == 0)
        return;
    struct member_group *of = members_of(e, durable->group);
    uint32_t place = durable->member_place;
    of->places[place] = (struct member_place){ .who = durable->owner,
                                               .sequence = durable->sequence,
                                               .timer = timer + 1 };
    of->n++;
    if (of->high <= place)
        of->high = place + 1;
    if (of->lowest == place)
        of->lowest = place + 1;
    timer_owners_add(&e->timers.members.joined, durable->owner, timer);
}

void members_remove(struct engine *e, uint32_t timer)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    if (durable->group == 0)
        return;
    struct member_group *of = members_of(e, durable->group);
    of->places[durable->member_place].timer = 0;
    of->n--;
    if (of->lowest > durable->member_place)
        of->lowest = durable->member_place;
    while (of->high > 0 && of->places[of->high - 1].timer == 0)
        of->high--;
    timer_owners_remove(&e->timers.members.joined, durable->owner, timer);
}

uint32_t members_count(struct engine *e, actor_ref group)
{
    lock_take(&e->timers.mutex);
    uint32_t n = members_of(e, group)->n;
    lock_give(&e->timers.mutex);
    return n;
}
