/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a filter bank's pipelines: see filterbank.c. */
#include "filterbank.h"

#include <stdlib.h>

ODEON_STATE(filterbank_stage, {
    struct filterbank_stage_args of;
    double *data, *coefficients;
    uint32_t n, place, came; /* of data; came: up to n */
});

ODEON_INIT(filterbank_stage, struct filterbank_stage_args)
{
    uint32_t col = args->args.col;
    self->of = *args;
    self->n = args->kind == FILTERBANK_DELAY ? col - 1 : col;
    if (args->kind != FILTERBANK_DELAY && args->kind != FILTERBANK_FIR)
        return 0;
    self->data = calloc(2 * (size_t)col, sizeof(double));
    if (self->data == NULL) {
        program_fail(ctx, -ENOMEM);
        return -ENOMEM;
    }
    self->coefficients = self->data + col;
    for (uint32_t i = 0; i < col; i++) /* backwards, as they are used */
        self->coefficients[i] =
            filterbank_coefficient(&args->args, args->second != 0, args->bank, col - 1 - i);
    return 0;
}

ODEON_FINI(filterbank_stage)
{
    free(self->data);
}

static void filterbank_pass(struct filterbank_stage_state *self, struct odeon_context *ctx,
                            double value)
{
    program_must(ctx, odeon_send_any(ctx, self->of.next, filterbank_value, .value = value));
}

ODEON_RECEIVE(filterbank_stage, filterbank_value)
{
    double sum = 0, oldest = 0;
    if (self->of.kind == FILTERBANK_TAG) {
        program_must(ctx, odeon_send_any(ctx, self->of.next, filterbank_of_bank,
                                         .bank = self->of.bank, .value = msg->value));
        return ODEON_NODELETE;
    }
    if (self->data != NULL) {
        oldest = self->data[self->place];
        self->data[self->place] = msg->value;
    }
    bool first = self->place == 0;
    self->place = self->place + 1 < self->n ? self->place + 1 : 0;
    if (self->of.kind == FILTERBANK_DELAY) {
        filterbank_pass(self, ctx, oldest);
    } else if (self->of.kind == FILTERBANK_SAMPLE) {
        filterbank_pass(self, ctx, first ? msg->value : 0);
    } else if (self->came == self->n || ++self->came == self->n) {
        for (uint32_t i = 0; i < self->n; i++)
            sum += self->data[i] * self->coefficients[i];
        filterbank_pass(self, ctx, sum);
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_stage, filterbank_exit)
{
    program_must(ctx, odeon_signal_any(ctx, self->of.next, filterbank_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_stage, ODEON_ON(filterbank_stage, filterbank_value),
               ODEON_ON(filterbank_stage, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_stage, ODEON_POLICY(ODEON_RESTART_STOP));
