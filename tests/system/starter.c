/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that says what it was spawned with, and one of another type. */
#include "tests/system/starter.h"

#include <string.h>

#include <odeon/plugin.h>

ODEON_ARGUMENTS(starter_args, {
    int64_t base;
    char label[24];
    uint32_t list[3];
});
ODEON_STATE(starter, {
    int64_t base;
    char label[24];
    uint64_t sum;
});
ODEON_STATELESS(starter_other);

ODEON_INIT(starter, struct starter_args)
{
    self->base = args->base;
    memcpy(self->label, args->label, sizeof(self->label));
    for (unsigned i = 0; i < 3; i++)
        self->sum += args->list[i];
    return 0;
}

ODEON_RECEIVE(starter, starter_ask)
{
    struct starter_told told = { .base = self->base, .sum = self->sum };

    memcpy(told.label, self->label, sizeof(told.label));
    odeon_reply(ctx, starter_told, .base = told.base, .sum = told.sum,
                ODEON_TEXT(label, told.label));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(starter, starter_end)
{
    return ODEON_DELETE;
}

ODEON_RECEIVE(starter_other, starter_ask)
{
    odeon_reply(ctx, starter_told, .base = -1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(starter, ODEON_ON(starter, starter_ask), ODEON_ON(starter, starter_end));
ODEON_HANDLERS(starter_other, ODEON_ON(starter_other, starter_ask));
ODEON_ACTOR_TYPE(starter, ODEON_TAKES(starter_args));
ODEON_ACTOR_TYPE(starter_other);
ODEON_PLUGIN("starter", "1.0.0", ODEON_TYPE(starter), ODEON_TYPE(starter_other));
