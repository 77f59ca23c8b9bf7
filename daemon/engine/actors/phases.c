/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/actors/live.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/segment/slot.h"

#define PHASE_INITIAL "initial"

/* ---- the word of a slot ---- */

static uint64_t phases_word(uint32_t generation, uint32_t set, uint32_t before)
{
    return (uint64_t)generation << 32 | set << 16 | before;
}

/* Is the turn open that has stored the word? */
static bool phases_is_open(const struct segment *s, const struct segment_actor *durable)
{
    uint32_t worker = load_relaxed(&durable->phase_worker);
    return worker < s->n_ids &&
           segment_count(&s->workers[worker]) == load_relaxed(&durable->phase_count);
}

/* The set as of the last turn that has been committed (phases.PH3). */
static uint32_t phases_committed(const struct segment *s, const struct segment_actor *durable,
                                 uint32_t generation)
{
    uint64_t word = load_relaxed(&durable->phase);
    uint32_t set = (word >> 16) & 0xffff, before = word & 0xffff;
    if (word >> 32 != generation)
        return 0;
    return set != before && phases_is_open(s, durable) ? before : set;
}

uint32_t phases_key_type(const struct segment *s, uint32_t slot, uint64_t word)
{
    uint32_t set = phases_committed(s, &s->actors[slot], slot_word_generation(word)),
             type = slot_word_type(word);
    return set == 0 || set == s->actor_types[type].first_phase ? type : ODEON_ACTOR_TYPES_MAX + set;
}

/* phases.PH2 */
static void phases_store(struct worker *w, uint32_t slot, uint32_t generation, uint32_t set)
{
    const struct segment *s = &w->engine->segment;
    struct segment_actor *durable = &s->actors[slot];
    uint32_t before = phases_committed(s, durable, generation);
    store_relaxed(&durable->phase, phases_word(generation, before, before));
    crash_order();
    store_relaxed(&durable->phase_worker, w->id);
    crash_order();
    w->actors.spawned_count = commit_count(w); /* nobody flips meanwhile */
    store_relaxed(&durable->phase_count, w->actors.spawned_count);
    crash_order();
    store_relaxed(&durable->phase, phases_word(generation, set, before));
    crash_order();
}

/* ---- becoming ---- */

static const struct actor_type *phases_find(const struct actor_type *first, const char *name)
{
    if (strcmp(first->phase, name) == 0)
        return first;
    for (uint32_t i = 0; i < first->n_others; i++)
        if (strcmp(first->others[i]->phase, name) == 0)
            return first->others[i];
    return NULL;
}

/* The number of a set as slots have it: one that has a name in the table is that. */
static uint32_t phases_number(const struct segment *s, const struct actor_type *set)
{
    return set == set->first ? s->actor_types[set->id].first_phase
                             : set->key_type - ODEON_ACTOR_TYPES_MAX;
}

int phases_become(struct worker *w, const char *name)
{
    uint32_t slot = actor_ref_slot(w->ctx.self);
    if (w->ctx.self == 0)
        return -EPERM;
    struct actor *actor = &w->turn.actors[slot];
    uint64_t key = load_relaxed(&actor->key);
    const struct actor_type *now = load_relaxed(&w->turn.types[actor_key_type(key)]);
    const struct actor_type *set = now ? phases_find(now->first, name) : NULL;
    if (!set)
        return -ENOENT;
    if (set == now)
        return 0;
    phases_store(w, slot, actor_key_generation(key), phases_number(&w->engine->segment, set));
    store_release(&actor->key, actor_key(actor_key_generation(key), actor_key_destination(key),
                                         set->key_type, actor_key_kind(key)));
    /* The next message is looked up, though it be of the same kind for the same actor: no record
     * has these bits. */
    w->ctx.reserved = UINT32_MAX;
    stat_add(w, STAT_becomes, 1);
    return 0;
}

const char *phases_name(const struct engine *e, uint64_t key)
{
    const struct actor_type *type = load_acquire(&e->types.known[actor_key_type(key)]);
    if (actor_key_type(key) >= ODEON_ACTOR_TYPES_MAX)
        return e->segment.phases[actor_key_type(key) - ODEON_ACTOR_TYPES_MAX].name;
    return type && (type->n_others > 0 || strcmp(type->phase, PHASE_INITIAL) != 0) ? type->phase
                                                                                   : "";
}

/* ---- recovery ---- */

void phases_undo(struct engine *e)
{
    const struct segment *s = &e->segment;
    for (uint32_t slot = 0; slot < load_relaxed(&s->header->slots_high); slot++) {
        struct segment_actor *durable = &s->actors[slot];
        uint64_t word = load_relaxed(&durable->phase);
        uint32_t generation = (uint32_t)(word >> 32), before = word & 0xffff;
        if (((word >> 16) & 0xffff) != before && phases_is_open(s, durable)) {
            store_relaxed(&durable->phase, phases_word(generation, before, before));
            crash_order();
        }
    }
}

void phases_begin_anew(struct engine *e, uint32_t slot)
{
    struct segment_actor *durable = &e->segment.actors[slot];
    if (load_relaxed(&durable->phase) != 0)
        store_relaxed(&durable->phase, 0);
}

/* ---- a type is loaded ---- */

static const char *phases_first_name(const struct engine_actor_type_info *info)
{
    return info->phase && info->phase[0] ? info->phase : PHASE_INITIAL;
}

static bool phases_brings(const struct engine_actor_type_info *info, const char *name)
{
    bool brings = strcmp(phases_first_name(info), name) == 0;
    for (uint32_t i = 0; i < info->n_others; i++)
        brings |= strcmp(info->others[i].name, name) == 0;
    return brings;
}

/* What a number of this type's means; 0: its first set. */
static const char *phases_name_of(const struct segment *s, uint32_t id, uint32_t set)
{
    if (set == 0)
        set = s->actor_types[id].first_phase;
    return set == 0 ? PHASE_INITIAL : s->phases[set].name;
}

static bool phases_is_of(const struct segment *s, uint32_t slot, uint32_t id, uint32_t *ret_set)
{
    uint64_t word = load_relaxed(&s->actors[slot].word);
    if (slot_word_state(word) != ACTOR_SLOT_LIVE || slot_word_type(word) != id)
        return false;
    *ret_set = phases_committed(s, &s->actors[slot], slot_word_generation(word));
    return true;
}

int phases_check(struct engine *e, const struct engine_actor_type_info *info, uint32_t id)
{
    const struct segment *s = &e->segment;
    uint32_t set;
    if (info->restart != RESTART_KEEP || live_of_type(e, id) == 0)
        return 0;
    for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&s->header->slots_high); slot++)
        if (phases_is_of(s, slot, id, &set) && !phases_brings(info, phases_name_of(s, id, set)))
            return -ENOENT;
    return 0;
}

/* 0: the name has none so far. */
static uint32_t phases_known(const struct segment *s, uint32_t id, const char *name)
{
    for (uint32_t set = 1; set < load_relaxed(&s->header->n_phases); set++)
        if (s->phases[set].type == id && strcmp(s->phases[set].name, name) == 0)
            return set;
    return 0;
}

uint32_t phases_count_new(const struct engine *e, const struct engine_actor_type_info *info,
                          uint32_t id)
{
    const struct segment *s = &e->segment;
    const char *first = phases_first_name(info), *was = phases_name_of(s, id, 0);
    uint32_t n = 0;
    if (strcmp(was, first) != 0) /* as phases_set_first() does; `was` may be one of the others */
        n = (phases_known(s, id, first) == 0) +
            (phases_known(s, id, was) == 0 && !phases_brings(info, was));
    for (uint32_t i = 0; i < info->n_others; i++)
        n += phases_known(s, id, info->others[i].name) == 0;
    return n;
}

static int phases_intern(struct engine *e, uint32_t id, const char *name, uint32_t *ret_set)
{
    struct segment *s = &e->segment;
    uint32_t n = load_relaxed(&s->header->n_phases);
    *ret_set = phases_known(s, id, name);
    if (*ret_set != 0)
        return 0;
    if (n >= ODEON_PHASES_MAX)
        return -ENOSPC;
    s->phases[n].type = id;
    strcpy(s->phases[n].name, name);
    store_release(&s->header->n_phases, n + 1);
    *ret_set = n;
    return 0;
}

/* phases.PH4: what the first set was called stands in the slots of those who are in it, before
 * another one is the first. Who begins anew is in the new one, and its slot says nothing. */
static int phases_set_first(struct engine *e, uint32_t id, const char *name)
{
    struct segment *s = &e->segment;
    struct segment_actor_type *durable = &s->actor_types[id];
    uint32_t was, set, first;
    int r;
    if (strcmp(phases_name_of(s, id, 0), name) == 0) {
        /* another one had begun to be the first when the executor was killed: some slots have what
         * had no number before, which is this one */
        if (durable->first_phase == 0)
            durable->first_phase = phases_known(s, id, name);
        return 0;
    }
    r = phases_intern(e, id, phases_name_of(s, id, 0), &was);
    if (r == 0)
        r = phases_intern(e, id, name, &first);
    if (r < 0)
        return r;
    bool keeps = durable->restart == RESTART_KEEP;
    for (uint32_t slot = ODEON_PORTS_MAX; keeps && slot < load_relaxed(&s->header->slots_high);
         slot++)
        if (phases_is_of(s, slot, id, &set) && set == 0)
            store_relaxed(
                &s->actors[slot].phase,
                phases_word(slot_word_generation(load_relaxed(&s->actors[slot].word)), was, was));
    crash_order();
    durable->first_phase = first;
    crash_order();
    return 0;
}

/* Keys were made when nobody knew which set is the first one. */
static void phases_rename_keys(struct engine *e, uint32_t id)
{
    const struct segment *s = &e->segment;
    uint32_t set;
    for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&s->header->slots_high); slot++) {
        struct actor *actor = &e->actors.table[slot];
        uint64_t key = load_relaxed(&actor->key);
        if (actor_key_lives(key) && phases_is_of(s, slot, id, &set))
            store_release(&actor->key,
                          actor_key(actor_key_generation(key), actor_key_destination(key),
                                    phases_key_type(s, slot, load_relaxed(&s->actors[slot].word)),
                                    actor_key_kind(key)));
    }
}

/* A set like the first one, with other functions. */
static void phases_set(struct actor_type *type, const struct actor_type *first,
                       const struct engine_behaviour_set *set, uint32_t number)
{
    memcpy(type, first, sizeof(*type));
    type->key_type = ODEON_ACTOR_TYPES_MAX + number;
    type->is_brief = false;
    type->listed = NULL;
    type->others = NULL;
    type->n_others = 0;
    strcpy(type->phase, set->name);
    for (uint32_t i = 0; i < type->n_behaviours; i++)
        type->behaviours[i].run = set->run[i];
}

int phases_make(const struct engine_actor_type_info *info, struct actor_type *first)
{
    if (info->n_others == 0)
        return 0;
    first->others = calloc(info->n_others, sizeof(*first->others));
    if (!first->others)
        return -ENOMEM;
    for (uint32_t i = 0; i < info->n_others; i++) {
        first->others[i] = calloc(1, sizeof(*first));
        if (!first->others[i])
            return -ENOMEM;
        first->n_others = i + 1;
    }
    return 0;
}

int phases_open(struct engine *e, const struct engine_actor_type_info *info,
                struct actor_type *first)
{
    uint32_t number;
    first->first = first;
    first->key_type = first->id;
    strcpy(first->phase, phases_first_name(info));
    int r = phases_set_first(e, first->id, first->phase);
    for (uint32_t i = 0; i < info->n_others && r == 0; i++) {
        r = phases_intern(e, first->id, info->others[i].name, &number);
        if (r == 0)
            phases_set(first->others[i], first, &info->others[i], number);
    }
    phases_rename_keys(e, first->id);
    return r;
}

void phases_publish(struct engine *e, const struct actor_type *first, bool known)
{
    for (uint32_t i = 0; i < first->n_others; i++)
        store_release(&e->types.known[first->others[i]->key_type], known ? first->others[i] : NULL);
}

void phases_free(struct actor_type *first)
{
    if (!first)
        return;
    for (uint32_t i = 0; i < first->n_others; i++)
        free(first->others[i]);
    free(first->others);
    free(first->listed);
    free(first);
}
