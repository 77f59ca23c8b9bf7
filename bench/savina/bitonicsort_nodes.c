/* SPDX-License-Identifier: Apache-2.0 */
/* The simple actors of a bitonic sort: see bitonicsort.c. */
#include "bitonicsort.h"

#include <stdlib.h>

static void bitonicsort_nodes_pass(struct odeon_context *ctx, bitonicsort_any_ref to, int64_t value,
                                   uint64_t order)
{
    program_must(ctx, odeon_send(ctx, to, bitonicsort_item, .value = value, .order = order));
}

static int bitonicsort_nodes_end(struct odeon_context *ctx, bitonicsort_any_ref to)
{
    program_must(ctx, odeon_signal(ctx, to, bitonicsort_exit));
    return ODEON_DELETE;
}

/* ---- labels: from values to data with an order, or back, where the order is 0 ---- */

ODEON_STATE(bitonicsort_label, { struct bitonicsort_args_of of; });

ODEON_INIT(bitonicsort_label, struct bitonicsort_args_of)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(bitonicsort_label, bitonicsort_item)
{
    bitonicsort_nodes_pass(ctx, self->of.next, msg->value, self->of.order);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_label, bitonicsort_exit)
{
    return bitonicsort_nodes_end(ctx, self->of.next);
}

ODEON_HANDLERS(bitonicsort_label, ODEON_ON(bitonicsort_label, bitonicsort_item),
               ODEON_ON(bitonicsort_label, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_label, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- splitters: `len` items to each receiver in turn ---- */

ODEON_STATE(bitonicsort_splitter, {
    struct bitonicsort_args_of of;
    uint64_t receiver, given;
});

ODEON_INIT(bitonicsort_splitter, struct bitonicsort_args_of)
{
    self->of = *args;
    return 0;
}

ODEON_FINI(bitonicsort_splitter)
{
    free(self->of.receivers);
}

ODEON_RECEIVE(bitonicsort_splitter, bitonicsort_item)
{
    bitonicsort_nodes_pass(ctx, self->of.receivers[self->receiver], msg->value, msg->order);
    if (++self->given == self->of.len) {
        self->given = 0;
        self->receiver = (self->receiver + 1) % self->of.n;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_splitter, bitonicsort_exit)
{
    for (uint64_t i = 0; i < self->of.n; i++)
        bitonicsort_nodes_end(ctx, self->of.receivers[i]);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bitonicsort_splitter, ODEON_ON(bitonicsort_splitter, bitonicsort_item),
               ODEON_ON(bitonicsort_splitter, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_splitter, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- joiners: `len` items from each input in turn, whatever comes first ---- */

ODEON_STATE(bitonicsort_joiner, {
    struct bitonicsort_args_of of;
    int64_t *items;   /* of each input, as many as come from it */
    uint32_t *came;   /* of each input */
    uint64_t *passed; /* ditto */
    uint64_t input, given, ended;
});

ODEON_INIT(bitonicsort_joiner, struct bitonicsort_args_of)
{
    self->of = *args;
    self->items = malloc(args->total * sizeof(self->items[0]));
    self->passed = calloc(args->n, sizeof(self->passed[0]) + sizeof(self->came[0]));
    if (self->items == NULL || self->passed == NULL)
        program_fail(ctx, -ENOMEM);
    self->came = (uint32_t *)(self->passed + args->n);
    return self->items == NULL || self->passed == NULL ? -ENOMEM : 0;
}

ODEON_FINI(bitonicsort_joiner)
{
    free(self->items);
    free(self->passed);
}

ODEON_RECEIVE(bitonicsort_joiner, bitonicsort_item)
{
    uint64_t each = self->of.total / self->of.n;
    self->items[msg->order * each + self->came[msg->order]++] = msg->value;
    while (self->passed[self->input] < self->came[self->input]) {
        bitonicsort_nodes_pass(ctx, self->of.next,
                               self->items[self->input * each + self->passed[self->input]++],
                               self->input);
        if (++self->given < self->of.len)
            continue;
        self->given = 0;
        self->input = (self->input + 1) % self->of.n;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_joiner, bitonicsort_exit)
{
    return ++self->ended < self->of.n ? ODEON_NODELETE : bitonicsort_nodes_end(ctx, self->of.next);
}

ODEON_HANDLERS(bitonicsort_joiner, ODEON_ON(bitonicsort_joiner, bitonicsort_item),
               ODEON_ON(bitonicsort_joiner, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_joiner, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- comparers: of two items the smaller one first, or the larger ---- */

ODEON_STATE(bitonicsort_compare, {
    struct bitonicsort_args_of of;
    int64_t first;
    bool has_first;
});

ODEON_INIT(bitonicsort_compare, struct bitonicsort_args_of)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(bitonicsort_compare, bitonicsort_item)
{
    int64_t a = self->first, b = msg->value;
    self->has_first = !self->has_first;
    self->first = msg->value;
    if (self->has_first)
        return ODEON_NODELETE;
    bool in_order = self->of.up ? a <= b : a >= b;
    bitonicsort_nodes_pass(ctx, self->of.next, in_order ? a : b, self->of.order);
    bitonicsort_nodes_pass(ctx, self->of.next, in_order ? b : a, self->of.order);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bitonicsort_compare, bitonicsort_exit)
{
    return bitonicsort_nodes_end(ctx, self->of.next);
}

ODEON_HANDLERS(bitonicsort_compare, ODEON_ON(bitonicsort_compare, bitonicsort_item),
               ODEON_ON(bitonicsort_compare, bitonicsort_exit));
ODEON_ACTOR_TYPE(bitonicsort_compare, ODEON_POLICY(ODEON_RESTART_STOP));
