/* SPDX-License-Identifier: Apache-2.0 */
/* 30, bitonic sort: a network of actors, through which the numbers go.
 *
 * A source sends `n` drawn numbers, a power of two, to the kernel, and the end behind them. The
 * kernel is a row of stages, for p = 2, 4, ..., n, and what takes their order off the numbers and
 * gives them to a validator. A stage makes sorted rows of p from rows of p / 2, up and down by
 * turns, the last one up: it is a row of steps, for lengths p, p / 2, ..., 2. A step deals its
 * numbers out to n / length workers, `length` at a time, and joins what they give, in the same
 * way; a worker goes up or down as its place among them says. It is a comparer of two numbers, or
 * a part: that deals its numbers out to length / 2 comparers, one at a time, joins what they give,
 * one at a time, and labels it with its own number. All of these are actors, which pass on what
 * comes; kernel, stages, steps and parts make what they consist of. The end ends who passes it.
 * Messages: as many as are sent. Check: n numbers in order, with the sum of those that were drawn.
 */
#include "bitonicsort.h"
#include "lcg.h"

#include <stdlib.h>

enum { BITONICSORT_SEED = 2048 };
enum bitonicsort_kind { BITONICSORT_KERNEL, BITONICSORT_STAGE, BITONICSORT_STEP, BITONICSORT_PART };

ODEON_ARGUMENTS(bitonicsort_args, { uint32_t n; });

ODEON_SIGNAL(bitonicsort_start, 1);
ODEON_INTERFACE(bitonicsort_source, bitonicsort_start);

/* ---- what consists of others ---- */

#define bitonicsort_make(ctx_, next_, type_, ...)                                                  \
    do {                                                                                           \
        type_##_ref made_;                                                                         \
        program_must((ctx_), odeon_spawn_into((ctx_), &made_, type_,                               \
                                              ODEON_ARGS(struct bitonicsort_args_of,               \
                                                         .next = *(next_), __VA_ARGS__)));         \
        *(next_) = odeon_as(bitonicsort_any, made_.ref);                                           \
    } while (0)

/* Each makes its row from the end to the beginning, which is in `next` then. */

static void bitonicsort_make_kernel(const struct bitonicsort_args_of *of, struct odeon_context *ctx,
                                    bitonicsort_any_ref *next)
{
    bitonicsort_make(ctx, next, bitonicsort_label, .order = 0);
    for (uint64_t p = of->total; p >= 2; p /= 2)
        bitonicsort_make(ctx, next, bitonicsort_part, .kind = BITONICSORT_STAGE, .n = p,
                         .total = of->total);
}

static void bitonicsort_make_stage(const struct bitonicsort_args_of *of, struct odeon_context *ctx,
                                   bitonicsort_any_ref *next)
{
    for (uint64_t i = of->n / 2; i >= 1; i /= 2)
        bitonicsort_make(ctx, next, bitonicsort_part, .kind = BITONICSORT_STEP, .len = of->n / i,
                         .n = of->total / of->n * i, .dc = i, .all_up = of->n == of->total,
                         .total = of->total);
}

/* Splitter, workers and joiner: of a step, or of a part, whose workers are all comparers. */
static void bitonicsort_make_workers(const struct bitonicsort_args_of *of,
                                     struct odeon_context *ctx, bitonicsort_any_ref *next,
                                     uint64_t n, uint64_t len, bool part)
{
    bitonicsort_any_ref *workers = malloc(n * sizeof(workers[0]));
    bitonicsort_make(ctx, next, bitonicsort_joiner, .n = n, .len = len, .total = of->total);
    if (workers == NULL) {
        program_fail(ctx, -ENOMEM);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        bool up = part ? of->up : of->all_up || i / of->dc % 2 == 0;
        workers[i] = *next;
        if (part || len == 2)
            bitonicsort_make(ctx, &workers[i], bitonicsort_compare, .order = (uint32_t)i, .up = up);
        else
            bitonicsort_make(ctx, &workers[i], bitonicsort_part, .kind = BITONICSORT_PART,
                             .len = len, .order = (uint32_t)i, .up = up, .total = of->total / n);
    }
    bitonicsort_make(ctx, next, bitonicsort_splitter, .receivers = workers, .n = n, .len = len);
}

ODEON_STATE(bitonicsort_part, { bitonicsort_any_ref first; });

ODEON_INIT(bitonicsort_part, struct bitonicsort_args_of)
{
    self->first = args->next;
    switch (args->kind) {
    case BITONICSORT_KERNEL:
        bitonicsort_make_kernel(args, ctx, &self->first);
        break;
    case BITONICSORT_STAGE:
        bitonicsort_make_stage(args, ctx, &self->first);
        break;
    case BITONICSORT_STEP:
        if (!args->all_up)
            bitonicsort_make(ctx, &self->first, bitonicsort_label, .order = 0);
        bitonicsort_make_workers(args, ctx, &self->first, args->n, args->len, false);
        break;
    default:
        bitonicsort_make(ctx, &self->first, bitonicsort_label, .order = args->order);
        bitonicsort_make_workers(args, ctx, &self->first, args->len / 2, 1, true);
        break;
    }
    return 0;
}

ODEON_RECEIVE(bitonicsort_part, bitonicsort_item)
{
    program_must(ctx, odeon_send(ctx, self->first, bitonicsort_item, .value = msg->value,
                                 .order = msg->order));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_part, bitonicsort_exit)
{
    program_must(ctx, odeon_signal(ctx, self->first, bitonicsort_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(bitonicsort_part, ODEON_ON(bitonicsort_part, bitonicsort_item),
               ODEON_ON(bitonicsort_part, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_part, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- source and validator ---- */

ODEON_STATE(bitonicsort_source, { struct bitonicsort_args_of of; });

ODEON_INIT(bitonicsort_source, struct bitonicsort_args_of)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(bitonicsort_source, bitonicsort_start)
{
    struct lcg lcg = { BITONICSORT_SEED };
    for (uint64_t i = 0; i < self->of.total; i++)
        program_must(ctx, odeon_send(ctx, self->of.next, bitonicsort_item,
                                     .value = (int64_t)lcg_next(&lcg)));
    program_must(ctx, odeon_signal(ctx, self->of.next, bitonicsort_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(bitonicsort_source, ODEON_ON(bitonicsort_source, bitonicsort_start));
ODEON_ACTOR_TYPE(bitonicsort_source, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(bitonicsort_validator, { int64_t last, count, sum, wrong; });

ODEON_RECEIVE(bitonicsort_validator, bitonicsort_item)
{
    self->wrong += self->count++ > 0 && msg->value < self->last;
    self->last = msg->value;
    self->sum += msg->value;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_validator, bitonicsort_exit)
{
    program_report(ctx, .count = self->count, .value = self->sum, .sum = (double)self->wrong);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bitonicsort_validator, ODEON_ON(bitonicsort_validator, bitonicsort_item),
               ODEON_ON(bitonicsort_validator, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_validator, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_bitonicsort, {
    struct program program;
    struct bitonicsort_args args;
});

static void bitonicsort_accept(struct savina_bitonicsort_state *self)
{
    uint64_t n = self->args.n;
    program_range(&self->program, "n", n, 2, 8192);
    if ((n & (n - 1)) != 0)
        program_refuse(&self->program, "n: is no power of two");
}

/* What the steps of a stage of p numbers send to their actors: values, and ends. */
static uint64_t bitonicsort_messages_of_stage(uint64_t n, uint64_t p)
{
    uint64_t messages = n + 1; /* to the stage itself */
    for (uint64_t i = p / 2; i >= 1; i /= 2) {
        uint64_t len = p / i, workers = n / len, label = p < n;
        messages += n * (3 + (len > 2 ? 5 : 1) + label);
        messages += 2 + workers * (len > 2 ? 3 + len : 1) + workers + label;
    }
    return messages;
}

static int bitonicsort_step(struct savina_bitonicsort_state *self, struct odeon_context *ctx)
{
    uint64_t n = self->args.n;
    bitonicsort_validator_ref validator;
    bitonicsort_any_ref next;
    int r = odeon_spawn_into(ctx, &validator, bitonicsort_validator);
    if (r < 0)
        return r;
    next = odeon_as(bitonicsort_any, validator.ref);
    bitonicsort_make(ctx, &next, bitonicsort_part, .kind = BITONICSORT_KERNEL, .total = n);
    bitonicsort_make(ctx, &next, bitonicsort_source, .total = n);
    self->program.awaited = 1;
    self->program.messages = 3 * (n + 1); /* to kernel, last label and validator */
    for (uint64_t p = 2; p <= n; p *= 2)
        self->program.messages += bitonicsort_messages_of_stage(n, p);
    return odeon_signal(ctx, odeon_as(bitonicsort_source, next.ref), bitonicsort_start);
}

static void bitonicsort_verify(struct savina_bitonicsort_state *self)
{
    struct lcg lcg = { BITONICSORT_SEED };
    int64_t sum = 0;
    for (uint32_t i = 0; i < self->args.n; i++)
        sum += lcg_next(&lcg);
    program_expect(&self->program, "numbers", self->program.count, self->args.n);
    program_expect(&self->program, "not in order", (int64_t)self->program.sum, 0);
    program_expect(&self->program, "sum", self->program.value, sum);
    if (self->args.n == 4096)
        program_expect(&self->program, "messages", (int64_t)self->program.messages, 3092721);
}

PROGRAM(bitonicsort);
