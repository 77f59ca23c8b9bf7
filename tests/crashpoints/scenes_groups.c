/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: joined, left, and published to, in several blocks. */
#include "crash.h"
#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/timer_fire.h"

enum { JOINERS = 3, CROWD = 6, PUBLICATIONS = 2, PUBLISHED = 60, COMMANDS = 61 };

/* Row i is of the i-th member's commands, row CROWD + i of what it gets of what is published. */
static void members_make_of(struct life *life, enum member_kind kind, uint32_t n,
                            uint32_t n_commands, bool in_one_queue)
{
    actor_ref members[CROWD];
    row_expect(PUBLISHED, 0, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct member_plan plan = {
            .commands = i, .published = PUBLISHED, .own = CROWD + i, .kind = kind
        };
        row_expect(i, n_commands, 0, 0);
        row_expect(CROWD + i, PUBLICATIONS, 0, 0);
        members[i] =
            cast_spawn(life->engine, CAST_MEMBER, in_one_queue ? 0 : i % 2, &plan, sizeof(plan));
    }
    ledger->live[CAST_GROUP]++;
    life_quiesce(life);
    for (uint32_t i = 0; i < n; i++)
        cast_send(life->engine, members[i], i, n_commands);
}

static void members_make(struct life *life, uint32_t n, uint32_t n_commands, bool in_one_queue)
{
    members_make_of(life, MEMBER_PLAIN, n, n_commands, in_one_queue);
}

static void publishes(struct life *life, actor_ref publisher)
{
    cast_send(life->engine, publisher, COMMANDS, PUBLICATIONS);
}

static actor_ref publisher_make(struct life *life)
{
    const struct member_plan plan = { .commands = COMMANDS,
                                      .published = PUBLISHED,
                                      .kind = MEMBER_PUBLISHES };
    row_expect(COMMANDS, PUBLICATIONS, 0, 0);
    return cast_spawn(life->engine, CAST_MEMBER, 0, &plan, sizeof(plan));
}

/* All in one queue: it is published behind the commands. */
static void setup_joiners(struct life *life)
{
    actor_ref publisher = publisher_make(life);
    members_make(life, JOINERS, 3, true);
    publishes(life, publisher);
}

/* They leave, and have joined again when their turn is over: what is published comes once. */
static void setup_returning(struct life *life)
{
    actor_ref publisher = publisher_make(life);
    members_make_of(life, MEMBER_RETURNS, JOINERS, 2, true);
    publishes(life, publisher);
}

static void join(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void setup_crowd(struct life *life)
{
    actor_ref publisher = publisher_make(life);
    members_make(life, CROWD, 1, false);
    life_quiesce(life);
    publishes(life, publisher);
}

static void publish(struct life *life)
{
    while (life_run_ready(life))
        ;
}

/* One member's queue is full when two publications come to it: both are kept, and sent when it has
 * been emptied, while the other member has them at once. */
enum { WAITER = 0, NEIGHBOUR = 1, FILLING = 2, FILLED = 52 }; /* items of 632 bytes */
static uint32_t waiter_queue;

static void waiter_make(struct life *life, enum cast_type type, uint32_t i, uint32_t queue)
{
    const struct member_plan plan = { .commands = i, .published = PUBLISHED, .own = CROWD + i };
    row_expect(i, 1, 0, 0);
    row_expect(CROWD + i, PUBLICATIONS, 0, 0);
    actor_ref member = cast_spawn(life->engine, type, queue, &plan, sizeof(plan));
    life_quiesce(life);
    cast_send(life->engine, member, i, 1);
    life_quiesce(life);
}

/* Neither the publisher's queue nor the group's; of the process that is stepped, too. */
static void waiter_look(struct life *life)
{
    actor_ref group = 0;
    must("look", actor_names_lookup(life->engine->control, "crowd", &group));
    waiter_queue = life->engine->segment.actors[actor_ref_slot(group)].queue == 1 ? 2 : 1;
}

static void setup_waiter(struct life *life)
{
    actor_ref publisher = publisher_make(life);
    row_expect(PUBLISHED, 0, 0, 0);
    ledger->live[CAST_GROUP]++;
    waiter_make(life, CAST_MEMBER, NEIGHBOUR, 0);
    waiter_look(life);
    waiter_make(life, CAST_WAITER, WAITER, waiter_queue);
    actor_ref sink = sink_make(life, waiter_queue);
    row_expect(FILLING, FILLED, 0, 600);
    life_quiesce(life);
    cast_send(life->engine, sink, FILLING, FILLED);
    publishes(life, publisher);
}

static bool waiter_run_others(struct life *life)
{
    bool ran = false;
    for (uint32_t q = 0; q < life->engine->segment.n_mailboxes; q++)
        if (q != waiter_queue && queue_has_work(&life->engine->segment.queues[q])) {
            life_run_queue(life, q, 0);
            ran = true;
        }
    return ran;
}

static void waiter_publish(struct life *life)
{
    while (waiter_run_others(life))
        ;
}

static void setup_waiter_kept(struct life *life)
{
    setup_waiter(life);
    waiter_publish(life);
    if (kept_count(life->engine) != PUBLICATIONS)
        fail("%u are kept for a member whose queue is full", kept_count(life->engine));
}

static void waiter_sent(struct life *life)
{
    life_run_queue(life, waiter_queue, 0);
    timer_fire_due(life->engine, UINT64_MAX / 2);
    life_run_queue(life, waiter_queue, 0);
}

const struct scene scenes_groups[] = {
    { "groups are joined and left", setup_joiners, NULL, join, 1, true, NULL, false },
    { "groups are left, and joined in the same turn", setup_returning, NULL, join, 1, true, NULL,
      false },
    { "messages are published", setup_crowd, NULL, publish, 2, true, NULL, false },
    { "a full member's are kept", setup_waiter, waiter_look, waiter_publish, 2, true, NULL, false },
    { "what was kept is sent", setup_waiter_kept, waiter_look, waiter_sent, 2, true, NULL, false },
    { .name = NULL },
};
