/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/actor_names.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/name.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/name_index.h"
#include "daemon/engine/segment/slot.h"

static uint32_t name_hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

static bool name_is_live(const struct engine *e, uint64_t ref)
{
    if (unlikely(actor_ref_slot(ref) >= e->config.actors_max))
        return false; /* of a damaged entry */
    uint64_t word = load_relaxed(&e->segment.actors[actor_ref_slot(ref)].word);
    return ref != 0 &&
           (slot_word_state(word) == ACTOR_SLOT_LIVE || slot_word_state(word) == ACTOR_SLOT_PORT) &&
           slot_word_generation(word) == actor_ref_generation(ref);
}

/* The entry of a living actor, or NULL. */
static struct segment_name *actor_names_find(struct engine *e, const char *name)
{
    uint32_t next;
    for (uint32_t at = name_index_first(e, name); at != NAME_INDEX_END; at = next) {
        struct segment_name *entry = &e->segment.names[at];
        next = name_index_next(e, at);
        e->actors.names.met++;
        if (!name_is_live(e, load_relaxed(&entry->ref)))
            name_index_unlink(e, at);
        else if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

/* Linear probing, past those that live. NULL: all do. */
static struct segment_name *actor_names_room(struct engine *e, const char *name)
{
    uint32_t at = name_hash(name) % ODEON_NAMES_MAX;
    for (uint32_t i = 0; i < ODEON_NAMES_MAX; i++, at = (at + 1) % ODEON_NAMES_MAX)
        if (!name_is_live(e, load_relaxed(&e->segment.names[at].ref)))
            return &e->segment.names[at];
    return NULL;
}

int actor_names_take(struct engine *e, const char *name, actor_ref ref)
{
    /* who has looked before has given the mutex back meanwhile [NAME_APART] */
    if (actor_names_find(e, name))
        return -EEXIST;
    struct segment_name *room = actor_names_room(e, name);
    if (!room)
        return -ENOSPC;
    uint32_t at = (uint32_t)(room - e->segment.names);
    name_index_unlink(e, at);
    /* no generation 0 is ever live */
    store_relaxed(&room->ref, actor_ref_make(actor_ref_slot(ref), 0));
    crash_order();
    strcpy(room->name, name);
    /* A port lives already. Were its slot told of the entry behind this, a kill in between would
     * leave a name that nobody can look up, and that is nobody else's until the port ends. */
    e->segment.actors[actor_ref_slot(ref)].name = at + 1;
    crash_order();
    store_relaxed(&room->ref, ref);
    name_index_link(e, at);
    return 0;
}

const char *actor_names_of(const struct engine *e, actor_ref ref)
{
    uint32_t name = e->segment.actors[actor_ref_slot(ref)].name;
    return name > 0 && name <= ODEON_NAMES_MAX &&
                   load_relaxed(&e->segment.names[name - 1].ref) == ref
               ? e->segment.names[name - 1].name
               : "";
}

int actor_names_look(struct worker *w, const char *name, actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    if (!name_is_good(name))
        return -ENOENT;
    pthread_mutex_lock(&e->actors.names_mutex);
    struct segment_name *entry = actor_names_find(e, name);
    actor_ref ref = entry ? load_relaxed(&entry->ref) : 0;
    /* before its spawn commits, only the spawner itself finds it [NAME_OPEN] */
    uint32_t slot = actor_ref_slot(ref);
    bool exists =
        entry && (e->segment.actors[slot].spawn_worker == w->id || actors_is_committed(e, slot));
    pthread_mutex_unlock(&e->actors.names_mutex);
    if (!exists)
        return entry ? -EAGAIN : -ENOENT;
    *ret_ref = ref;
    return 0;
}

int actor_names_lookup(struct worker *w, const char *name, actor_ref *ret_ref)
{
    int r = actor_names_look(w, name, ret_ref);
    return r == -EAGAIN ? -ENOENT : r;
}
