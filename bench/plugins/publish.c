/* SPDX-License-Identifier: Apache-2.0 */
/* publish: what it costs to speak to many, beside a loop of sends to the same actors.
 *
 * `actors` members, spread over the workers, are in one group. Rounds of publishing and rounds of
 * sending in a loop take turns, PUBLISH_PHASES of each, with the same message: in each behaviour
 * the driver speaks to all members once, and sends itself the rest. Messages: those that members
 * get by publishing, and as many come by the loops, whose time is told beside it. Clock of a phase:
 * from before the first message until the last member has told the driver that it has had all. What
 * tells so is not counted, but its time is.
 */
#include "driver.h"

#define DEFAULT_MESSAGES 2000000u
#define DEFAULT_MEMBERS  1000u
#define MEMBERS_MAX      10000u
#define PUBLISH_PHASES   10u
#define PUBLISH_GROUP    "bench-publish"

ODEON_MESSAGE(bench_word, 1, { uint64_t number, last; });
ODEON_SIGNAL(bench_listens, 1);
ODEON_SIGNAL(bench_heard_all, 1);
ODEON_MESSAGE(bench_publish_round, 1, { uint64_t number; });
ODEON_INTERFACE(bench_listener, bench_word);
ODEON_INTERFACE(bench_publish, bench_run, bench_listens, bench_heard_all, bench_publish_round);

ODEON_STATE(bench_listener, {
    bench_publish_ref driver;
    uint64_t n;
});

ODEON_INIT(bench_listener, bench_publish_ref)
{
    self->driver = *args;
    if (odeon_join(ctx, PUBLISH_GROUP) < 0)
        return -1;
    return odeon_signal(ctx, self->driver, bench_listens);
}

ODEON_RECEIVE(bench_listener, bench_word)
{
    if (++self->n == msg->last) {
        self->n = 0;
        odeon_signal(ctx, self->driver, bench_heard_all);
    }
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_listener, ODEON_ON(bench_listener, bench_word));
ODEON_ACTOR_TYPE(bench_listener);

ODEON_STATE(bench_publish, {
    odeon_ref client;
    uint64_t members, rounds, phase, waits;
    uint64_t begin_ns, published_ns, sent_ns;
    bench_listener_ref listeners[MEMBERS_MAX];
});

static int publish_round(struct bench_publish_state *self, struct odeon_context *ctx,
                         uint64_t number)
{
    int r = 0;

    if (self->phase % 2 == 0)
        r = odeon_publish(ctx, PUBLISH_GROUP, bench_word, .number = number, .last = self->rounds);
    else
        for (uint64_t i = 0; r == 0 && i < self->members; i++)
            r = odeon_send(ctx, self->listeners[i], bench_word, .number = number,
                           .last = self->rounds);
    if (r < 0)
        return driver_fail(ctx, self->client, r, "cannot speak to all");
    if (number < self->rounds)
        odeon_send(ctx, odeon_self(ctx, bench_publish), bench_publish_round, .number = number + 1);
    return ODEON_NODELETE;
}

static int publish_phase(struct bench_publish_state *self, struct odeon_context *ctx)
{
    self->waits = self->members;
    self->begin_ns = odeon_now_ns(ctx);
    return publish_round(self, ctx, 1);
}

ODEON_RECEIVE(bench_publish, bench_run)
{
    bench_publish_ref driver = odeon_self(ctx, bench_publish);

    self->client = ctx->sender;
    self->members = driver_default(msg->actors, DEFAULT_MEMBERS);
    if (self->members > MEMBERS_MAX)
        return driver_fail(ctx, self->client, -EINVAL, "at most 10000 members");
    self->rounds = driver_default(msg->n, DEFAULT_MESSAGES) / self->members / PUBLISH_PHASES;
    self->rounds += self->rounds == 0;
    self->waits = self->members;
    for (uint64_t i = 0; i < self->members; i++) {
        int r = odeon_spawn_into(ctx, &self->listeners[i], bench_listener,
                                 .placement = ODEON_PLACE_SPREAD, .args = &driver,
                                 .args_size = sizeof(driver));
        if (r < 0)
            return driver_fail(ctx, self->client, r, "cannot make the members");
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_publish, bench_listens)
{
    (void)msg;
    return --self->waits == 0 ? publish_phase(self, ctx) : ODEON_NODELETE;
}

ODEON_RECEIVE(bench_publish, bench_publish_round)
{
    return publish_round(self, ctx, msg->number);
}

ODEON_RECEIVE(bench_publish, bench_heard_all)
{
    uint64_t took_ns;

    (void)msg;
    if (--self->waits > 0)
        return ODEON_NODELETE;
    took_ns = odeon_now_ns(ctx) - self->begin_ns;
    if (self->phase % 2 == 0)
        self->published_ns += took_ns;
    else
        self->sent_ns += took_ns;
    if (++self->phase < 2 * PUBLISH_PHASES)
        return publish_phase(self, ctx);
    for (uint64_t i = 0; i < self->members; i++)
        odeon_poison_delete(ctx, self->listeners[i]);
    odeon_send_any(ctx, self->client, bench_result, .elapsed_ns = self->published_ns,
                   .messages = self->rounds * self->members * PUBLISH_PHASES,
                   .beside_ns = self->sent_ns);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_publish, ODEON_ON(bench_publish, bench_run),
               ODEON_ON(bench_publish, bench_listens), ODEON_ON(bench_publish, bench_heard_all),
               ODEON_ON(bench_publish, bench_publish_round));
ODEON_ACTOR_TYPE(bench_publish);
