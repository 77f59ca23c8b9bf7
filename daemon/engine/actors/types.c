/* SPDX-License-Identifier: Apache-2.0 */
/* Message and actor types: the segment's tables keep name and id together over restarts, private
 * memory holds the code.
 *
 * Threads: written by the control thread; ids below the published counts and loaded type pointers
 * may be read by all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/name.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/live.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/overflow.h"
#include "proto/fields_same.h"

static void types_view_message_type(const struct segment_message_type *durable, uint16_t id,
                                    struct engine_message_type *ret)
{
    *ret = (struct engine_message_type){
        .id = id,
        .version = durable->version,
        .size = durable->size,
        .has_tail = durable->has_tail,
        .account = durable->account,
        .name = durable->name,
        .fields = durable->fields,
    };
}

int engine_message_type_get(struct engine *e, uint16_t id, struct engine_message_type *ret)
{
    if (id < MESSAGE_TYPE_FIRST_USER || id >= load_acquire(&e->segment.header->n_message_types))
        return -ENOENT;
    types_view_message_type(&e->segment.message_types[id], id, ret);
    return 0;
}

int engine_message_type_find(struct engine *e, const char *name, uint32_t version,
                             struct engine_message_type *ret)
{
    int r = -ENOENT;
    for (uint32_t id = MESSAGE_TYPE_FIRST_USER;
         id < load_acquire(&e->segment.header->n_message_types); id++) {
        const struct segment_message_type *durable = &e->segment.message_types[id];
        if (strcmp(durable->name, name) == 0 &&
            (version == 0 ? (r < 0 || durable->version > ret->version)
                          : durable->version == version)) {
            types_view_message_type(durable, (uint16_t)id, ret);
            r = 0;
        }
    }
    return r;
}

int engine_message_type_intern(struct engine *e, const char *name, uint32_t version, uint32_t size,
                               bool has_tail, const char *fields, uint16_t *ret_id)
{
    struct engine_message_type known;
    if (!name_is_good(name) || version == 0 || size > ODEON_PAYLOAD_MAX ||
        strnlen(fields, ODEON_FIELDS_MAX + 1) > ODEON_FIELDS_MAX)
        return -EINVAL;
    if (engine_message_type_find(e, name, version, &known) == 0) {
        if (known.size != size || !known.has_tail != !has_tail ||
            !fields_same(known.fields, fields)) /* the first text stays */
            return -EBADMSG;
        *ret_id = known.id;
        return 0;
    }
    uint32_t id = load_relaxed(&e->segment.header->n_message_types);
    if (id >= ODEON_MESSAGE_TYPES_MAX)
        return -ENOSPC;
    struct segment_message_type *durable = &e->segment.message_types[id];
    durable->version = version;
    durable->size = size;
    durable->has_tail = has_tail;
    durable->account = 0;
    strcpy(durable->name, name);
    strcpy(durable->fields, fields);
    store_release(&e->segment.header->n_message_types, id + 1);
    *ret_id = (uint16_t)id;
    return 0;
}

void engine_message_type_charge(struct engine *e, uint16_t id, uint32_t account)
{
    e->segment.message_types[id].account = account;
}

uint32_t engine_message_types_count(const struct engine *e, uint32_t account, uint32_t *ret_own)
{
    uint32_t n = load_relaxed(&e->segment.header->n_message_types), own = 0;
    for (uint32_t id = MESSAGE_TYPE_FIRST_USER; id < n; id++)
        own += e->segment.message_types[id].account == account;
    *ret_own = own;
    return n - MESSAGE_TYPE_FIRST_USER;
}

int actor_types_look(struct engine *e, const struct engine_actor_type_info *info, uint32_t *ret_id)
{
    if (!name_is_good(info->name) || !name_is_good(info->plugin) ||
        info->n_behaviours > ODEON_BEHAVIOURS_MAX || info->n_others > ODEON_TYPE_PHASES_MAX ||
        (unsigned)info->overflow >= OVERFLOW_POLICY_N)
        return -EINVAL;
    for (uint32_t i = 0; i < info->n_behaviours; i++)
        if (info->behaviours[i].message_type >= ODEON_MESSAGE_TYPES_MAX || !info->behaviours[i].run)
            return -EINVAL;
    uint32_t n = load_relaxed(&e->segment.header->n_actor_types), id;
    for (id = 1; id < n; id++)
        if (strcmp(e->segment.actor_types[id].name, info->name) == 0)
            break;
    if (id >= ODEON_ACTOR_TYPES_MAX)
        return -ENOSPC;
    const struct segment_actor_type *durable = &e->segment.actor_types[id];
    if (id < n && (load_relaxed(&e->types.known[id]) || e->types.retiring[id]))
        return -EEXIST;
    if (info->restart == RESTART_KEEP && info->state_size > e->segment.header->durable_bytes)
        return -E2BIG;
    bool keeps = info->restart == RESTART_KEEP, kept = durable->restart == RESTART_KEEP;
    if (id < n && (keeps || kept) && (keeps != kept || info->state_size != durable->state_size) &&
        live_of_type(e, id) > 0)
        return -EBADMSG;
    *ret_id = id;
    return id < n ? phases_check(e, info, id) : 0;
}

int engine_actor_type_check(struct engine *e, const struct engine_actor_type_info *info,
                            struct engine_types_room *room)
{
    uint32_t id, n = load_relaxed(&e->segment.header->n_actor_types);
    int r = actor_types_look(e, info, &id);
    if (r < 0)
        return r;
    room->types += id == n;
    room->phases += phases_count_new(e, info, id);
    return n + room->types > ODEON_ACTOR_TYPES_MAX ||
                   load_relaxed(&e->segment.header->n_phases) + room->phases > ODEON_PHASES_MAX
               ? -ENOSPC
               : 0;
}

/* Dropped from now on may be a message that has spared its receiver the init record (place.U5): who
 * has not begun is owed one (timers/owed.h), before anything can be dropped. */
static void types_set_policy(struct engine *e, uint32_t id, enum engine_overflow policy)
{
    struct segment_actor_type *durable = &e->segment.actor_types[id];
    if (policy == OVERFLOW_POLICY_DROP_OLDEST &&
        load_relaxed(&durable->overflow) != OVERFLOW_POLICY_DROP_OLDEST && live_of_type(e, id) > 0)
        store_relaxed(&durable->owed, 1);
    crash_order();
    overflow_set_policy(e, id, policy);
}

/* The same, and the segment knows the type. */
static int types_id(struct engine *e, const struct engine_actor_type_info *info, uint32_t *ret_id)
{
    uint32_t id, n = load_relaxed(&e->segment.header->n_actor_types);
    int r = actor_types_look(e, info, &id);
    if (r < 0)
        return r;
    struct segment_actor_type *durable = &e->segment.actor_types[id];
    durable->version = info->version;
    durable->state_size = info->state_size;
    durable->restart = info->restart;
    types_set_policy(e, id, info->overflow);
    strcpy(durable->plugin, info->plugin);
    if (id == n) {
        strcpy(durable->name, info->name);
        store_release(&e->segment.header->n_actor_types, n + 1);
    }
    *ret_id = id;
    return 0;
}

/* What a behaviour is run by. */
static void types_behaviours_set(struct actor_type *type, const struct engine_actor_type_info *info)
{
    memset(type->index_of, BEHAVIOUR_NONE, sizeof(type->index_of));
    store_relaxed(&type->quick[BEHAVIOUR_NONE], BEHAVIOUR_NEW);
    if (info->init)
        store_relaxed(&type->behaviours[BEHAVIOUR_NONE].meta, BEHAVIOUR_META_CLOSED);
    for (uint32_t i = 0; i < info->n_behaviours; i++) {
        const struct engine_behaviour *b = &info->behaviours[i];
        type->listed[i] = *b;
        type->index_of[b->message_type] = (uint8_t)i;
        type->shapes[i] = (struct behaviour_shape){ .message_type = b->message_type,
                                                    .size = b->size,
                                                    .slack = b->has_tail ? UINT16_MAX : 0 };
        /* the short way is closed until it is known to be quick (pace.h) */
        type->behaviours[i] =
            (struct behaviour_slot){ .meta = BEHAVIOUR_META_CLOSED, .run = b->run };
        store_relaxed(&type->quick[i], BEHAVIOUR_NEW);
    }
}

int engine_actor_type_make(const struct engine_actor_type_info *info, struct actor_type **ret_made)
{
    struct actor_type *type = calloc(1, sizeof(*type));
    if (!type)
        return -ENOMEM;
    type->listed = calloc(info->n_behaviours + 1, sizeof(*type->listed));
    if (!type->listed || phases_make(info, type) < 0) {
        phases_free(type);
        return -ENOMEM;
    }
    *ret_made = type;
    return 0;
}

void engine_actor_type_unmake(struct actor_type *made)
{
    phases_free(made);
}

static void types_set(const struct engine *e, const struct engine_actor_type_info *info,
                      uint32_t id, struct actor_type *type)
{
    type->first = type;
    type->id = id;
    type->version = info->version;
    type->state_size = info->state_size;
    type->restart = info->restart;
    type->quarantined = &e->segment.actor_types[id].quarantined;
    type->n_behaviours = info->n_behaviours;
    type->is_brief =
        !info->init && !info->fini && info->state_size == 0 && info->restart != RESTART_KEEP;
    type->is_group = info->is_group;
    type->init = info->init;
    type->fini = info->fini;
    strcpy(type->name, info->name);
    strcpy(type->plugin, info->plugin);
    types_behaviours_set(type, info);
}

/* Live actors of a stop-at-crash type, left over from before this start: they end now, before
 * anybody can reach them. */
static void types_end_left_over(struct engine *e, uint32_t id)
{
    for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&e->segment.header->slots_high);
         slot++) {
        uint64_t word = load_relaxed(&e->segment.actors[slot].word);
        if (slot_word_state(word) == ACTOR_SLOT_LIVE && slot_word_type(word) == id)
            (void)actors_ended(e->control, actor_ref_make(slot, slot_word_generation(word)),
                               ACTOR_END_TYPE, REASON_NOT_RESUMED);
    }
}

void actors_end_stopped(struct engine *e)
{
    for (uint32_t id = 1; id < load_relaxed(&e->segment.header->n_actor_types); id++)
        if (e->segment.actor_types[id].restart == RESTART_STOP &&
            !load_relaxed(&e->types.known[id]))
            types_end_left_over(e, id);
}

int actor_types_register(struct engine *e, const struct engine_actor_type_info *info,
                         struct actor_type *type, uint32_t *ret_id)
{
    uint32_t id;
    int r = types_id(e, info, &id);
    if (r < 0)
        return r;
    types_set(e, info, id, type);
    r = phases_open(e, info, type);
    if (r < 0)
        return r;
    phases_publish(e, type, true); /* before the first one, which is looked at first */
    if (info->restart == RESTART_STOP && !e->started)
        types_end_left_over(e, id);
    observe_name_type(e, id, info);
    store_release(&e->types.known[id], type);     /* read (acquire) by an actor's first message */
    store_release(&e->types.spawnable[id], type); /* read (acquire) by spawn */
    *ret_id = id;
    return 0;
}

int engine_actor_type_find(struct engine *e, const char *name, uint32_t *ret_id)
{
    for (uint32_t id = 1; id < load_acquire(&e->segment.header->n_actor_types); id++)
        if (load_acquire(&e->types.known[id]) &&
            strcmp(e->segment.actor_types[id].name, name) == 0) {
            *ret_id = id;
            return 0;
        }
    return -ENOENT;
}

int engine_actor_type_get(struct engine *e, uint32_t id, struct engine_actor_type_view *ret)
{
    if (id == 0 || id >= load_acquire(&e->segment.header->n_actor_types))
        return -ENOENT;
    const struct segment_actor_type *durable = &e->segment.actor_types[id];
    const struct actor_type *type = load_acquire(&e->types.known[id]);
    *ret = (struct engine_actor_type_view){
        .id = id,
        .version = durable->version,
        .state_size = durable->state_size,
        .n_behaviours = type ? type->n_behaviours : 0,
        .name = durable->name,
        .plugin = durable->plugin,
        .behaviours = type ? type->listed : NULL,
        .restart = (enum engine_restart)durable->restart,
        .overflow = (enum engine_overflow)load_relaxed(&durable->overflow),
        .loaded = type != NULL,
        .quarantined = load_relaxed(&durable->quarantined) != 0,
        .is_group = type && type->is_group,
        .live = live_of_type(e, id),
    };
    return 0;
}

/* How often it has crashed with this one; those before may be too long ago. */
static uint32_t types_crashes_next(struct segment_actor_type *durable, uint64_t now_ns,
                                   uint64_t window_ns)
{
    if (durable->crashes == 0 || now_ns - durable->crashes_since_ns > window_ns) {
        durable->crashes = 0;
        crash_order();
        durable->crashes_since_ns = now_ns;
    }
    return durable->crashes + 1;
}

bool engine_fault_count(struct engine *e, unsigned index, uint64_t now_ns, uint64_t window_ns,
                        uint32_t limit)
{
    struct segment_fault *fault = &e->segment.workers[e->faults.list[index].worker].fault;
    uint32_t id = fault->actor_type;
    if (id == 0 || id >= load_relaxed(&e->segment.header->n_actor_types) || fault->owed == 0)
        return false;
    struct segment_actor_type *durable = &e->segment.actor_types[id];
    bool again = fault->owed >= FAULT_COUNTED;
    if (!again) {
        fault->owed = FAULT_COUNTED + types_crashes_next(durable, now_ns, window_ns);
        crash_order(); /* fault.F4 */
    }
    durable->crashes = fault->owed - FAULT_COUNTED;
    if (limit == 0 || durable->crashes < limit || (!again && load_relaxed(&durable->quarantined)))
        return false;
    store_relaxed(&durable->quarantined, 1);
    return true;
}

void engine_fault_done(struct engine *e, unsigned index)
{
    crash_order();
    e->segment.workers[e->faults.list[index].worker].fault.owed = 0;
}

int actor_types_release(struct engine *e, uint32_t id)
{
    struct segment_actor_type *durable = &e->segment.actor_types[id];
    durable->crashes = 0;
    if (!load_relaxed(&durable->quarantined))
        return 1;
    /* whoever runs the next message sees it, or the one after */
    store_relaxed(&durable->quarantined, 0);
    return 0;
}
