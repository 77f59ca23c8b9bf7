/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: joined, left, and published to, in several blocks. */
#include "crash.h"

enum { JOINERS = 3, CROWD = 6, PUBLICATIONS = 2, PUBLISHED = 60, COMMANDS = 61 };

/* Row i is of the i-th member's commands, row CROWD + i of what it gets of what is published. */
static void members_make(struct life *life, uint32_t n, uint32_t n_commands, bool in_one_queue)
{
    actor_ref members[CROWD];
    row_expect(PUBLISHED, 0, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct member_plan plan = { .commands = i, .published = PUBLISHED, .own = CROWD + i };
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

static void publishes(struct life *life, actor_ref publisher)
{
    cast_send(life->engine, publisher, COMMANDS, PUBLICATIONS);
}

static actor_ref publisher_make(struct life *life)
{
    const struct member_plan plan = { .commands = COMMANDS,
                                      .published = PUBLISHED,
                                      .publishes = 1 };
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

const struct scene scenes_groups[] = {
    { "groups are joined and left", setup_joiners, NULL, join, 1, true, NULL, false },
    { "messages are published", setup_crowd, NULL, publish, 2, true, NULL, false },
    { .name = NULL },
};
