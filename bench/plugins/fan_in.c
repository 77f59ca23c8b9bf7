/* SPDX-License-Identifier: Apache-2.0 */
/* fan_in: many senders, one sink.
 *
 * `actors` senders send n messages to one sink, the driver, n / actors each: FAN_BATCH of them in
 * each behaviour, then one step to itself. Messages: those to the sink; the steps are not counted,
 * but their time is. Clock: from before the first sender is told to begin until the sink has them
 * all. Every sender has run its init before the clock starts. A sender is at most FAN_CREDITS times
 * FAN_CREDIT messages ahead of the sink, so that no queue comes to its limit; the sink's words to
 * it, one for FAN_CREDIT messages, are not counted either.
 */
#include "driver.h"

#include <stdlib.h>

enum {
    DEFAULT_SENDERS = 64,
    SENDERS_MAX = 2048,
    FAN_BATCH = 64,
    FAN_CREDIT = 8192,
    FAN_CREDITS = 3
};
#define DEFAULT_MESSAGES 10000000u

ODEON_MESSAGE(bench_fan_message, 1, { uint64_t number; });
ODEON_SIGNAL(bench_fan_ready, 1);
ODEON_SIGNAL(bench_fan_step, 1);   /* of a sender to itself, and of the driver to all of them */
ODEON_SIGNAL(bench_fan_credit, 1); /* of the sink: FAN_CREDIT more may come */
ODEON_INTERFACE(bench_fan_sender, bench_fan_step, bench_fan_credit);
ODEON_INTERFACE(bench_fan_in, bench_run, bench_fan_message, bench_fan_ready);

struct fan_args {
    bench_fan_in_ref sink;
    uint64_t n;
};

ODEON_STATE(bench_fan_sender, {
    struct fan_args run;
    uint64_t credit;
});

ODEON_INIT(bench_fan_sender, struct fan_args)
{
    self->run = *args;
    self->credit = FAN_CREDITS * FAN_CREDIT;
    return odeon_signal(ctx, self->run.sink, bench_fan_ready);
}

ODEON_RECEIVE(bench_fan_sender, bench_fan_step)
{
    for (uint32_t i = 0; i < FAN_BATCH && self->run.n > 0 && self->credit > 0; i++) {
        if (odeon_send(ctx, self->run.sink, bench_fan_message, .number = self->run.n) < 0)
            break; /* tried again in the next step */
        self->run.n--;
        self->credit--;
    }
    if (self->run.n == 0)
        return ODEON_DELETE;
    if (self->credit > 0)
        odeon_signal(ctx, odeon_as(bench_fan_sender, ctx->self), bench_fan_step);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_fan_sender, bench_fan_credit)
{
    if (self->credit == 0)
        odeon_signal(ctx, odeon_as(bench_fan_sender, ctx->self), bench_fan_step);
    self->credit += FAN_CREDIT;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_fan_sender, ODEON_ON(bench_fan_sender, bench_fan_step),
               ODEON_ON(bench_fan_sender, bench_fan_credit));
ODEON_ACTOR_TYPE(bench_fan_sender, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the driver ---- */

ODEON_STATE(bench_fan_in, {
    bench_fan_sender_ref senders[SENDERS_MAX];
    odeon_ref client;
    uint64_t begin_ns, n, left;
    uint32_t n_senders, ready;
});

ODEON_RECEIVE(bench_fan_in, bench_run)
{
    uint64_t senders = driver_default(msg->actors, DEFAULT_SENDERS);
    self->client = ctx->sender;
    if (self->n_senders != 0 || senders > SENDERS_MAX)
        return driver_fail(ctx, self->client, -EINVAL, "bad number of senders");
    uint64_t each = (driver_default(msg->n, DEFAULT_MESSAGES) + senders - 1) / senders;
    self->n_senders = (uint32_t)senders;
    self->n = self->left = each * senders;
    for (uint32_t i = 0; i < self->n_senders; i++) {
        int r = odeon_spawn_into(
            ctx, &self->senders[i], bench_fan_sender,
            ODEON_ARGS(struct fan_args, .sink = odeon_as(bench_fan_in, ctx->self), .n = each));
        if (r < 0)
            return driver_fail(ctx, self->client, r, "cannot spawn a sender");
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_fan_in, bench_fan_ready)
{
    if (++self->ready < self->n_senders)
        return ODEON_NODELETE;
    self->begin_ns = odeon_now_ns(ctx);
    for (uint32_t i = 0; i < self->n_senders; i++) {
        int r = odeon_signal(ctx, self->senders[i], bench_fan_step);
        if (r < 0)
            return driver_fail(ctx, self->client, r, "cannot start a sender");
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_fan_in, bench_fan_message)
{
    if (__builtin_expect(
            msg->number % FAN_CREDIT == 0 && msg->number > (FAN_CREDITS - 1) * FAN_CREDIT, 0))
        odeon_signal(ctx, odeon_as(bench_fan_sender, ctx->sender), bench_fan_credit);
    if (__builtin_expect(--self->left > 0, 1))
        return ODEON_NODELETE;
    return driver_finish(ctx, self->client, odeon_now_ns(ctx) - self->begin_ns, self->n);
}

ODEON_HANDLERS(bench_fan_in, ODEON_ON(bench_fan_in, bench_run),
               ODEON_ON(bench_fan_in, bench_fan_message), ODEON_ON(bench_fan_in, bench_fan_ready));
ODEON_ACTOR_TYPE(bench_fan_in, ODEON_POLICY(ODEON_RESTART_STOP));
