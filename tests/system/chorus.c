/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that get what is published, each once and in order. Those of one type keep their states;
 * the others join in init. */
#include "tests/system/chorus.h"

#include <odeon/plugin.h>
#include <unistd.h>

enum { SONGS_A_TURN = 3 };

ODEON_STATE(chorus_kept, {
    odeon_ref port;
    uint64_t singer, number, wrong;
});
ODEON_STATE(chorus_plain, {
    odeon_ref port;
    uint64_t singer, number, wrong;
});
ODEON_STATE(chorus_waiting, {
    odeon_ref port;
    uint64_t singer, number, wrong;
});
ODEON_STATE(chorus_conductor, { uint64_t unused; });

#define TELL(self_, ctx_)                                                                          \
    odeon_send_any(ctx_, (self_)->port, chorus_heard, .singer = (self_)->singer,                   \
                   .number = (self_)->number, .wrong = (self_)->wrong)

ODEON_RECEIVE(chorus_kept, chorus_begin)
{
    self->port = msg->port;
    self->singer = msg->singer;
    if (odeon_join(ctx, "kept") != 0)
        self->wrong = __LINE__;
    if (odeon_join(ctx, "kept") != -EALREADY)
        self->wrong = __LINE__;
    (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_kept, chorus_leave)
{
    (void)msg;
    if (odeon_leave(ctx, "kept") != 0)
        self->wrong = __LINE__;
    self->number = 0;
    (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_kept, chorus_song)
{
    if (msg->number != self->number + 1)
        self->wrong = __LINE__;
    self->number = msg->number;
    if (msg->number == msg->last || self->wrong)
        (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_waiting, chorus_begin)
{
    self->port = msg->port;
    self->singer = msg->singer;
    if (odeon_join(ctx, "waiting") != 0)
        self->wrong = __LINE__;
    (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_waiting, chorus_hold)
{
    (void)self, (void)ctx;
    while (access(msg->path, F_OK) < 0)
        (void)usleep(1000);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_waiting, chorus_song)
{
    if (msg->number != self->number + 1)
        self->wrong = __LINE__;
    self->number = msg->number;
    if (msg->number == msg->last || self->wrong || self->singer == 0)
        (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_INIT(chorus_plain)
{
    if (odeon_join(ctx, "plain") != 0)
        self->wrong = __LINE__;
    return 0;
}

ODEON_RECEIVE(chorus_plain, chorus_begin)
{
    self->port = msg->port;
    self->singer = msg->singer;
    (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_plain, chorus_leave)
{
    (void)msg;
    if (odeon_leave(ctx, "plain") != 0)
        self->wrong = __LINE__;
    (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_plain, chorus_song)
{
    self->number = msg->number;
    if (self->port)
        (void)TELL(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chorus_conductor, chorus_conduct)
{
    uint64_t number = msg->first;

    (void)self;
    for (int i = 0; i < SONGS_A_TURN && number <= msg->last; i++, number++)
        if (odeon_publish(ctx, "kept", chorus_song, .number = number, .last = msg->last) < 0)
            break;
    if (number <= msg->last)
        (void)odeon_send(ctx, odeon_self(ctx, chorus_conductor), chorus_conduct, .first = number,
                         .last = msg->last);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(chorus_kept, ODEON_ON(chorus_kept, chorus_begin),
               ODEON_ON(chorus_kept, chorus_leave), ODEON_ON(chorus_kept, chorus_song));
ODEON_HANDLERS(chorus_plain, ODEON_ON(chorus_plain, chorus_begin),
               ODEON_ON(chorus_plain, chorus_leave), ODEON_ON(chorus_plain, chorus_song));
ODEON_HANDLERS(chorus_waiting, ODEON_ON(chorus_waiting, chorus_begin),
               ODEON_ON(chorus_waiting, chorus_hold), ODEON_ON(chorus_waiting, chorus_song));
ODEON_HANDLERS(chorus_conductor, ODEON_ON(chorus_conductor, chorus_conduct));
ODEON_ACTOR_TYPE(chorus_kept, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(chorus_plain);
ODEON_ACTOR_TYPE(chorus_waiting, ODEON_POLICY(ODEON_RESTART_KEEP),
                 ODEON_OVERFLOW(ODEON_OVERFLOW_STALL));
ODEON_ACTOR_TYPE(chorus_conductor, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("chorus", "1.0.0", ODEON_TYPE(chorus_kept), ODEON_TYPE(chorus_plain),
             ODEON_TYPE(chorus_waiting), ODEON_TYPE(chorus_conductor));
