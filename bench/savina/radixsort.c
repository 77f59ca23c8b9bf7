/* SPDX-License-Identifier: Apache-2.0 */
/* 16, radix sort: a chain of actors, a bit each.
 *
 * A source draws `n` numbers below `m`, a power of two, and sends them to the first of as many
 * sorters as m has bits, least bit first. A sorter passes on at once what has a 0 in its bit, and
 * keeps the rest; when all n have come, it passes on what it has kept, in order, and ends. The
 * last one's next is a validator. Messages: n (bits + 1) + 1. Check: n numbers came in order, with
 * the sum of those that were drawn.
 */
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

enum { RADIXSORT_SEED = 2048 };

ODEON_ARGUMENTS(radixsort_args, {
    uint64_t n;
    uint64_t m;
});

ODEON_SIGNAL(radixsort_start, 1);
ODEON_MESSAGE(radixsort_value, 1, { uint64_t value; });
ODEON_INTERFACE(radixsort_source, radixsort_start);
ODEON_INTERFACE(radixsort_sorter, radixsort_value);
ODEON_INTERFACE(radixsort_validator, radixsort_value);

struct radixsort_actor_args {
    odeon_ref next; /* a sorter, or the validator */
    struct radixsort_args args;
    uint64_t radix;
};

/* ---- the validator ---- */

ODEON_STATE(radixsort_validator, { uint64_t left, last, sum, wrong; });

ODEON_INIT(radixsort_validator, struct radixsort_actor_args)
{
    self->left = args->args.n;
    return 0;
}

ODEON_RECEIVE(radixsort_validator, radixsort_value)
{
    self->wrong += msg->value < self->last;
    self->last = msg->value;
    self->sum += msg->value;
    if (--self->left > 0)
        return ODEON_NODELETE;
    program_report(ctx, .count = (int64_t)self->wrong, .value = (int64_t)self->sum);
    return ODEON_DELETE;
}

ODEON_HANDLERS(radixsort_validator, ODEON_ON(radixsort_validator, radixsort_value));
ODEON_ACTOR_TYPE(radixsort_validator, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- sorters ---- */

ODEON_STATE(radixsort_sorter, {
    struct radixsort_actor_args of;
    uint64_t *kept, n_kept, came;
});

ODEON_INIT(radixsort_sorter, struct radixsort_actor_args)
{
    self->of = *args;
    self->kept = malloc(args->args.n * sizeof(self->kept[0]));
    if (self->kept == NULL)
        program_fail(ctx, -ENOMEM);
    return self->kept == NULL ? -ENOMEM : 0;
}

ODEON_FINI(radixsort_sorter)
{
    free(self->kept);
}

ODEON_RECEIVE(radixsort_sorter, radixsort_value)
{
    if ((msg->value & self->of.radix) == 0)
        program_must(ctx, odeon_send_any(ctx, self->of.next, radixsort_value, .value = msg->value));
    else
        self->kept[self->n_kept++] = msg->value;
    if (++self->came < self->of.args.n)
        return ODEON_NODELETE;
    for (uint64_t i = 0; i < self->n_kept; i++)
        program_must(ctx,
                     odeon_send_any(ctx, self->of.next, radixsort_value, .value = self->kept[i]));
    return ODEON_DELETE;
}

ODEON_HANDLERS(radixsort_sorter, ODEON_ON(radixsort_sorter, radixsort_value));
ODEON_ACTOR_TYPE(radixsort_sorter, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the source ---- */

ODEON_STATE(radixsort_source, { struct radixsort_actor_args of; });

ODEON_INIT(radixsort_source, struct radixsort_actor_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(radixsort_source, radixsort_start)
{
    struct lcg lcg = { RADIXSORT_SEED };
    for (uint64_t i = 0; i < self->of.args.n; i++)
        program_must(ctx, odeon_send_any(ctx, self->of.next, radixsort_value,
                                         .value = lcg_next(&lcg) % self->of.args.m));
    return ODEON_DELETE;
}

ODEON_HANDLERS(radixsort_source, ODEON_ON(radixsort_source, radixsort_start));
ODEON_ACTOR_TYPE(radixsort_source, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_radixsort, {
    struct program program;
    struct radixsort_args args;
});

static void radixsort_accept(struct savina_radixsort_state *self)
{
    uint64_t m = self->args.m;
    program_range(&self->program, "n", self->args.n, 1, 1000000);
    program_range(&self->program, "m", m, 2, UINT64_C(1) << 60);
    if ((m & (m - 1)) != 0)
        program_refuse(&self->program, "m: is no power of two");
}

/* From the end of the chain to its beginning. */
static int radixsort_step(struct savina_radixsort_state *self, struct odeon_context *ctx)
{
    struct radixsort_actor_args of = { .args = self->args };
    radixsort_validator_ref validator;
    radixsort_sorter_ref sorter;
    radixsort_source_ref source;
    int r = odeon_spawn_into(ctx, &validator, radixsort_validator, .args = &of,
                             .args_size = sizeof(of));
    of.next = validator.ref;
    self->program.awaited = 1;
    self->program.messages = 1 + self->args.n;
    for (of.radix = self->args.m / 2; of.radix > 0 && r == 0; of.radix /= 2) {
        r = odeon_spawn_into(ctx, &sorter, radixsort_sorter, .args = &of, .args_size = sizeof(of));
        of.next = sorter.ref;
        self->program.messages += self->args.n;
    }
    if (r == 0)
        r = odeon_spawn_into(ctx, &source, radixsort_source, .args = &of, .args_size = sizeof(of));
    return r < 0 ? r : odeon_signal(ctx, source, radixsort_start);
}

static void radixsort_verify(struct savina_radixsort_state *self)
{
    struct lcg lcg = { RADIXSORT_SEED };
    uint64_t sum = 0;
    for (uint64_t i = 0; i < self->args.n; i++)
        sum += lcg_next(&lcg) % self->args.m;
    program_expect(&self->program, "not in order", self->program.count, 0);
    program_expect(&self->program, "sum", self->program.value, (int64_t)sum);
}

PROGRAM(radixsort);
