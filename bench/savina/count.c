/* SPDX-License-Identifier: Apache-2.0 */
/* 2, counting actor: a queue that grows.
 *
 * `producer` is told to begin, and sends `n` increments and one question to `counter`, all in one
 * behaviour: nothing keeps the counter's queue from holding them all. The counter answers with how
 * many have come, and ends; so does the producer. Messages: n + 3. Check: that number is n.
 *
 * A behaviour may send no more than an outbox has room for (outbox-bytes): where that is less, the
 * producer goes on in a further message to itself, which is not counted.
 */
#include "program.h"

ODEON_ARGUMENTS(count_args, { uint64_t n; });

ODEON_SIGNAL(count_begin, 1);
ODEON_SIGNAL(count_increment, 1);
ODEON_SIGNAL(count_retrieve, 1);
ODEON_MESSAGE(count_result, 1, { uint64_t count; });
ODEON_INTERFACE(count_producer, count_begin, count_result);
ODEON_INTERFACE(count_counter, count_increment, count_retrieve);

ODEON_STATE(count_counter, { uint64_t count; });

ODEON_RECEIVE(count_counter, count_increment)
{
    self->count++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(count_counter, count_retrieve)
{
    program_must(ctx, odeon_reply(ctx, count_result, .count = self->count));
    return ODEON_DELETE;
}

ODEON_HANDLERS(count_counter, ODEON_ON(count_counter, count_increment),
               ODEON_ON(count_counter, count_retrieve));
ODEON_ACTOR_TYPE(count_counter, ODEON_POLICY(ODEON_RESTART_STOP));

struct count_producer_args {
    count_counter_ref counter;
    uint64_t n;
};

ODEON_STATE(count_producer, {
    count_counter_ref counter;
    uint64_t left;
});

ODEON_INIT(count_producer, struct count_producer_args)
{
    self->counter = args->counter;
    self->left = args->n;
    return 0;
}

ODEON_RECEIVE(count_producer, count_begin)
{
    uint64_t before = self->left;
    int r = 0;
    while (self->left > 0 && (r = odeon_signal(ctx, self->counter, count_increment)) == 0)
        self->left--;
    if (self->left == 0)
        r = odeon_signal(ctx, self->counter, count_retrieve);
    if (program_is_full(r) && self->left < before) /* the rest, and the question, in a new turn */
        r = odeon_signal_after(ctx, NULL, 0, odeon_self(ctx, count_producer), count_begin);
    program_must(ctx, r);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(count_producer, count_result)
{
    program_report(ctx, .count = (int64_t)msg->count);
    return ODEON_DELETE;
}

ODEON_HANDLERS(count_producer, ODEON_ON(count_producer, count_begin),
               ODEON_ON(count_producer, count_result));
ODEON_ACTOR_TYPE(count_producer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_count, {
    struct program program;
    struct count_args args;
});

static void count_accept(struct savina_count_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 5000000);
}

static int count_step(struct savina_count_state *self, struct odeon_context *ctx)
{
    count_counter_ref counter;
    count_producer_ref producer;
    int r = odeon_spawn_into(ctx, &counter, count_counter);
    if (r == 0)
        r = odeon_spawn_into(
            ctx, &producer, count_producer,
            ODEON_ARGS(struct count_producer_args, .counter = counter, .n = self->args.n));
    if (r == 0)
        r = odeon_signal(ctx, producer, count_begin);
    self->program.awaited = 1;
    self->program.messages = self->args.n + 3;
    return r;
}

static void count_verify(struct savina_count_state *self)
{
    program_expect(&self->program, "counted", self->program.count, (int64_t)self->args.n);
}

PROGRAM(count);
