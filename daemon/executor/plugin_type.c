/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/executor/plugin_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/executor/host.h"
#include "daemon/executor/plugin_descriptor.h"

void plugin_type_free(struct plugin_type *type)
{
    for (uint32_t i = 0; type->phases && i < type->info.n_others; i++)
        free((void *)type->phases[i].run);
    free(type->phases);
    free(type->behaviours);
    engine_actor_type_unmake(type->made);
}

int plugin_type_prepare(struct plugin_type *type)
{
    return type->made ? 0 : engine_actor_type_make(&type->info, &type->made);
}

int plugin_type_register(struct plugin_type *type, struct engine *engine)
{
    int r = engine_actor_type_register_made(engine, &type->info, type->made, &type->id);

    if (r == 0)
        type->made = NULL;
    return r;
}

/* The sets of behaviours beside the first one. */
static int plugin_type_init_phases(struct plugin_type *type, const struct odeon_actor_type *t,
                                   engine_behaviour_fn around)
{
    uint32_t n = plugin_descriptor_count_phases(t);

    type->phases = calloc(n + 1, sizeof(*type->phases));
    if (!type->phases)
        return -ENOMEM;
    type->info.others = type->phases;
    for (type->info.n_others = 0; type->info.n_others < n; type->info.n_others++) {
        const struct odeon_behaviour_set *set = t->phases[type->info.n_others];
        engine_behaviour_fn *run = calloc(t->n_behaviours + 1, sizeof(*run));

        if (!run)
            return -ENOMEM;
        for (uint32_t i = 0; i < t->n_behaviours; i++)
            run[i] = around
                         ? around
                         : host_adapt_behaviour(plugin_descriptor_get_behaviour_in(t, set, i)->run);
        type->phases[type->info.n_others] =
            (struct engine_behaviour_set){ .name = set->name, .run = run };
    }
    return 0;
}

int plugin_type_make(struct plugin_type *type, const struct odeon_plugin *d,
                     const struct odeon_actor_type *t, engine_behaviour_fn around)
{
    type->described = t;
    type->behaviours = calloc(t->n_behaviours + 1, sizeof(*type->behaviours));
    if (!type->behaviours)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->n_behaviours; i++) {
        const struct odeon_behaviour *b = plugin_descriptor_get_behaviour(t, i);
        const struct odeon_message_type *m = b->message;

        type->behaviours[i] = (struct engine_behaviour){
            .message_type = (uint16_t)m->id,
            .size = (uint16_t)message_type_least_size(m),
            .has_tail = m->has_tail,
            .run = around ? around : host_adapt_behaviour(b->run),
        };
    }
    type->info = (struct engine_actor_type_info){
        .name = t->name,
        .plugin = d->name,
        .version = t->version,
        .state_size = t->state_size,
        .restart = (enum engine_restart)t->restart,
        .overflow = (enum engine_overflow)t->overflow,
        .n_behaviours = t->n_behaviours,
        .behaviours = type->behaviours,
        .phase = plugin_descriptor_first_phase(t),
        .init = host_adapt_init(t->init),
        .fini = host_adapt_fini(t->fini),
    };
    return plugin_type_init_phases(type, t, around);
}

static odeon_behaviour_fn plugin_type_find_in(const struct odeon_actor_type *t, const char *phase,
                                              uint32_t index)
{
    for (uint32_t i = 0; i < plugin_descriptor_count_phases(t); i++)
        if (strcmp(t->phases[i]->name, phase) == 0)
            return plugin_descriptor_get_behaviour_in(t, t->phases[i], index)->run;
    return plugin_descriptor_get_behaviour(t, index)->run;
}

odeon_behaviour_fn plugin_type_find_behaviour(const struct plugin_type *type, const char *phase,
                                              uint32_t message)
{
    for (uint32_t i = 0; i < type->info.n_behaviours; i++)
        if (type->behaviours[i].message_type == message)
            return plugin_type_find_in(type->described, phase, i);
    return NULL;
}
