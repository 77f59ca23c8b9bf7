/* SPDX-License-Identifier: Apache-2.0 */
/* 17, filter bank: pipelines side by side.
 *
 * A source asks a producer whether it is to go on, `sim` times, and each time sends the next number
 * from 0 to 999, over and over, to all of `chan` banks. A bank is a pipeline: a delay of col - 1
 * numbers, a filter of `col` coefficients, a sampler that passes the first of each col numbers and
 * 0 for the others, another delay, another filter, and one that says which bank it was. A filter is
 * silent until it has col numbers; then it gives, for each that comes, the sum of the numbers times
 * the coefficients, in the places in which they lie. An integrator makes rows of a number from each
 * bank, a combiner their sums, which a sink counts and adds up. The end travels the same way.
 * Messages: see filterbank_messages(). Check: max(0, sim - 2 (col - 1)) sums, and theirs, as loops
 * have it (up to a size: above, theirs is not looked at).
 */
#include "filterbank.h"

#include <stdlib.h>

enum { FILTERBANK_CHANNELS_MAX = 64 };
#define FILTERBANK_CHECKED 200000000u /* multiplications */

/* ---- producer and source ---- */

ODEON_STATE(filterbank_producer, { uint32_t left; });

ODEON_INIT(filterbank_producer, struct filterbank_end_args)
{
    self->left = args->args.sim;
    return 0;
}

ODEON_RECEIVE(filterbank_producer, filterbank_next)
{
    if (self->left == 0) {
        program_must(ctx, odeon_reply_signal(ctx, filterbank_exit));
        return ODEON_DELETE;
    }
    self->left--;
    program_must(ctx, odeon_reply_signal(ctx, filterbank_boot));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(filterbank_producer, ODEON_ON(filterbank_producer, filterbank_next));
ODEON_ACTOR_TYPE(filterbank_producer, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(filterbank_source, {
    filterbank_producer_ref producer;
    filterbank_branches_ref branches;
    uint64_t current;
});

ODEON_INIT(filterbank_source, struct filterbank_end_args)
{
    self->branches = odeon_as(filterbank_branches, args->next);
    return odeon_spawn_into(ctx, &self->producer, filterbank_producer,
                            ODEON_ARGS(struct filterbank_end_args, .args = args->args));
}

ODEON_RECEIVE(filterbank_source, filterbank_start)
{
    program_must(ctx, odeon_signal(ctx, self->producer, filterbank_next));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_source, filterbank_boot)
{
    program_must(ctx,
                 odeon_send(ctx, self->branches, filterbank_value, .value = (double)self->current));
    self->current = (self->current + 1) % 1000;
    program_must(ctx, odeon_signal(ctx, self->producer, filterbank_next));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_source, filterbank_exit)
{
    program_must(ctx, odeon_signal(ctx, self->branches, filterbank_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_source, ODEON_ON(filterbank_source, filterbank_start),
               ODEON_ON(filterbank_source, filterbank_boot),
               ODEON_ON(filterbank_source, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_source, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(filterbank_branches, {
    uint32_t chan;
    filterbank_stage_ref banks[FILTERBANK_CHANNELS_MAX];
});

/* Makes the pipelines, from their ends to their beginnings. */
ODEON_INIT(filterbank_branches, struct filterbank_end_args)
{
    static const uint32_t kinds[] = { FILTERBANK_TAG,    FILTERBANK_FIR, FILTERBANK_DELAY,
                                      FILTERBANK_SAMPLE, FILTERBANK_FIR, FILTERBANK_DELAY };
    self->chan = args->args.chan;
    for (uint32_t j = 0; j < self->chan; j++) {
        odeon_ref next = args->next;
        for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            program_must(ctx,
                         odeon_spawn_into(ctx, &self->banks[j], filterbank_stage,
                                          ODEON_ARGS(struct filterbank_stage_args, .next = next,
                                                     .args = args->args, .kind = kinds[i],
                                                     .bank = j, .second = i < 3)));
            next = self->banks[j].ref;
        }
    }
    return 0;
}

ODEON_RECEIVE(filterbank_branches, filterbank_value)
{
    for (uint32_t j = 0; j < self->chan; j++)
        program_must(ctx, odeon_send(ctx, self->banks[j], filterbank_value, .value = msg->value));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_branches, filterbank_exit)
{
    for (uint32_t j = 0; j < self->chan; j++)
        program_must(ctx, odeon_signal(ctx, self->banks[j], filterbank_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_branches, ODEON_ON(filterbank_branches, filterbank_value),
               ODEON_ON(filterbank_branches, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_branches, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_filterbank, {
    struct program program;
    struct filterbank_args args;
});

static void filterbank_accept(struct savina_filterbank_state *self)
{
    program_range(&self->program, "sim", self->args.sim, 1, 1000000);
    program_range(&self->program, "col", self->args.col, 2, 100000);
    program_range(&self->program, "chan", self->args.chan, 1, FILTERBANK_CHANNELS_MAX);
}

/* How many numbers leave the first filter, and the second one. */
static uint64_t filterbank_outputs(const struct filterbank_args *args, uint32_t filters)
{
    uint64_t lost = filters * (uint64_t)(args->col - 1);
    return args->sim > lost ? args->sim - lost : 0;
}

/* Between source and producer, to the branches, in the pipelines, behind them. */
static uint64_t filterbank_messages(const struct filterbank_args *args)
{
    uint64_t sim = args->sim, first = filterbank_outputs(args, 1),
             second = filterbank_outputs(args, 2);
    return 1 + 2 * (sim + 1) + (sim + 1) + args->chan * (2 * sim + 3 * first + 2 * second + 1 + 6) +
           2 * (second + 1);
}

static int filterbank_step(struct savina_filterbank_state *self, struct odeon_context *ctx)
{
    filterbank_sink_ref sink;
    filterbank_combiner_ref combiner;
    filterbank_integrator_ref integrator;
    filterbank_branches_ref branches;
    filterbank_source_ref source;
    struct filterbank_end_args of = { .args = self->args };
    int r = odeon_spawn_into(ctx, &sink, filterbank_sink);
    of.next = sink.ref;
    if (r == 0)
        r = odeon_spawn_into(ctx, &combiner, filterbank_combiner, .args = &of,
                             .args_size = sizeof(of));
    of.next = combiner.ref;
    if (r == 0)
        r = odeon_spawn_into(ctx, &integrator, filterbank_integrator, .args = &of,
                             .args_size = sizeof(of));
    of.next = integrator.ref;
    if (r == 0)
        r = odeon_spawn_into(ctx, &branches, filterbank_branches, .args = &of,
                             .args_size = sizeof(of));
    of.next = branches.ref;
    if (r == 0)
        r = odeon_spawn_into(ctx, &source, filterbank_source, .args = &of, .args_size = sizeof(of));
    if (r == 0)
        r = odeon_signal(ctx, source, filterbank_start);
    self->program.awaited = 1;
    self->program.messages = filterbank_messages(&self->args);
    return r;
}

static void filterbank_verify(struct savina_filterbank_state *self)
{
    const struct filterbank_args *args = &self->args;
    uint64_t first = filterbank_outputs(args, 1), second = filterbank_outputs(args, 2);
    program_expect(&self->program, "sums", self->program.count, (int64_t)second);
    if (args->chan * (first + second) * args->col <= FILTERBANK_CHECKED)
        program_expect_near(&self->program, "sum of sums", self->program.sum,
                            filterbank_alone(args), 1e-9);
    if (args->sim == 2000 && args->col == 512 && args->chan == 8)
        program_expect_near(&self->program, "sum of sums", self->program.sum, 8.98975e14, 1e-5);
}

PROGRAM(filterbank);
