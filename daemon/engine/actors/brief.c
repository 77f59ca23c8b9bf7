/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/brief.h"

void brief_publish_counts(struct worker *w)
{
    struct brief *brief = &w->actors.brief;
    int n = (int)(brief->n_spawned - brief->n_ended);
    live_add(w, actor_key_type(brief->kind), n);
    live_add_in(w, actor_key_destination(brief->kind), n);
    stat_add(w, STAT_actors_created, brief->n_spawned);
    stat_add(w, STAT_actors_ended, brief->n_ended);
    *brief = (struct brief){ .begun = brief->begun };
}

bool brief_begin_kind(struct worker *w, uint32_t kind)
{
    const struct engine *e = w->engine;
    const struct actor_type *type = load_acquire(&e->types.spawnable[actor_key_type(kind)]);
    if (!w->is_thread || !type || type->restart == RESTART_KEEP ||
        actor_key_destination(kind) >= engine_workers(e) * e->segment.queues_per_worker)
        return false;
    brief_publish(w);
    w->actors.brief.kind = kind;
    return true;
}
