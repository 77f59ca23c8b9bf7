/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors.h"

#include <assert.h>
#include <errno.h>
#include <linux/mman.h> /* MADV_COLLAPSE: the C library may be older than the kernel */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/common/name.h"
#include "daemon/engine/outbox.h"
#include "daemon/engine/placement.h"
#include "daemon/engine/seed.h"
#include "daemon/engine/turn.h"

enum { SLOT_MOVE = SLOT_CACHE / 2, HUGE_PAGE = 1 << 21 };

/* A type without state shares this: there is nothing to keep apart. */
static uint64_t no_state;

int actors_init(struct engine *e)
{
    size_t n = e->config.actors_max;
    int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    e->actors = mmap(NULL, n * sizeof(struct actor), prot, flags, -1, 0);
    e->actor_states = mmap(NULL, n * sizeof(void *), prot, flags, -1, 0);
    e->slots_free = mmap(NULL, n * sizeof(uint32_t), prot, flags, -1, 0);
    if (e->actors == MAP_FAILED || e->actor_states == MAP_FAILED || e->slots_free == MAP_FAILED)
        return -ENOMEM;
    pthread_mutex_init(&e->slots_mutex, NULL);
    pthread_mutex_init(&e->names_mutex, NULL);
    return 0;
}

/* Once, and not for khugepaged to go on with: it looks through a process at the lowest priority,
 * and one that ends has to wait until it has let go. Kernels before 6.1 have nothing else. */
static void table_widen(void *table, uint64_t bytes, uint64_t used)
{
    uint64_t now = (used + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
    if (madvise(table, now < bytes ? now : bytes, MADV_COLLAPSE) < 0 && errno == EINVAL)
        (void)madvise(table, bytes, MADV_HUGEPAGE);
}

void actors_widen(struct engine *e)
{
    uint64_t n = e->config.actors_max, used = load_relaxed(&e->segment.header->slots_high);
    table_widen(e->actors, n * sizeof(struct actor), used * sizeof(struct actor));
    table_widen(e->actor_states, n * sizeof(void *), used * sizeof(void *));
}

static void state_give_back(struct engine *e, struct worker *w, uint32_t slot)
{
    void *state = e->actor_states[slot];
    const struct actor_type *type =
        load_relaxed(&e->types[actor_key_type(load_relaxed(&e->actors[slot].key))]);
    if (state && type && state != &no_state && type->restart != RESTART_KEEP)
        state_free(&e->states, &w->states, state, type->state_size);
}

void actors_fini(struct engine *e)
{
    size_t n = e->config.actors_max;
    if (e->recovered) /* else nothing has a state, and nothing in the segment is to be believed */
        for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&e->segment.header->slots_high);
             slot++)
            /* the process ends: no fini is owed, the actors live on in the segment */
            state_give_back(e, e->control, slot);
    if (e->actors && e->actors != MAP_FAILED)
        munmap(e->actors, n * sizeof(struct actor));
    if (e->actor_states && e->actor_states != MAP_FAILED)
        munmap(e->actor_states, n * sizeof(void *));
    if (e->slots_free && e->slots_free != MAP_FAILED)
        munmap(e->slots_free, n * sizeof(uint32_t));
    e->actors = NULL;
    e->actor_states = NULL;
    e->slots_free = NULL;
}

static void type_live_add(struct worker *w, uint32_t type, int n)
{
    store_relaxed(&w->type_live[type], load_relaxed(&w->type_live[type]) + n);
}

/* From the segment: at recovery no type has been registered. */
static enum actor_kind kind_at_spawn(const struct engine *e, uint32_t type)
{
    return e->segment.actor_types[type].restart == RESTART_KEEP ? ACTOR_KEPT : ACTOR_NEW;
}

void actors_rebuild(struct engine *e)
{
    const struct segment *s = &e->segment;
    uint32_t high = load_relaxed(&s->header->slots_high);
    e->n_slots_free = 0;
    for (uint32_t slot = high; slot-- > 0;) {
        uint64_t word = load_relaxed(&s->actors[slot].word);
        uint32_t generation = slot_word_generation(word);
        switch (slot_word_state(word)) {
        case ACTOR_SLOT_LIVE:
            store_relaxed(&e->actors[slot].key,
                          actor_key(generation, s->actors[slot].queue, slot_word_type(word),
                                    kind_at_spawn(e, slot_word_type(word))));
            type_live_add(e->control, slot_word_type(word), 1);
            placement_actor_found(e, s->actors[slot].queue, slot_word_type(word));
            break;
        case ACTOR_SLOT_PORT:
            store_relaxed(&e->actors[slot].key,
                          actor_key(generation, s->actors[slot].queue, 0, ACTOR_PORT));
            break;
        default:
            store_relaxed(&e->actors[slot].key,
                          actor_key(generation, NO_DESTINATION, 0, ACTOR_FREE));
            if (slot >= ODEON_PORTS_MAX)
                e->slots_free[e->n_slots_free++] = slot;
            break;
        }
    }
    e->slots_fresh = high;
}

/* Half a cache from the common stock, then from slots that were never used. */
static void slots_refill(struct worker *w)
{
    struct engine *e = w->engine;
    pthread_mutex_lock(&e->slots_mutex);
    while (w->n_slot_cache < SLOT_MOVE && e->n_slots_free > 0)
        w->slot_cache[w->n_slot_cache++] = e->slots_free[--e->n_slots_free];
    while (w->n_slot_cache < SLOT_MOVE && e->slots_fresh < e->config.actors_max)
        w->slot_cache[w->n_slot_cache++] = e->slots_fresh++;
    store_relaxed(&e->segment.header->slots_high, e->slots_fresh); /* before one of them is used */
    pthread_mutex_unlock(&e->slots_mutex);
}

void actors_slots_return(struct worker *w)
{
    struct engine *e = w->engine;
    pthread_mutex_lock(&e->slots_mutex);
    while (w->n_slot_cache > 0)
        e->slots_free[e->n_slots_free++] = w->slot_cache[--w->n_slot_cache];
    pthread_mutex_unlock(&e->slots_mutex);
}

static void slot_give_back(struct worker *w, uint32_t slot)
{
    struct engine *e = w->engine;
    if (w->n_slot_cache == SLOT_CACHE) {
        pthread_mutex_lock(&e->slots_mutex);
        while (w->n_slot_cache > SLOT_MOVE)
            e->slots_free[e->n_slots_free++] = w->slot_cache[--w->n_slot_cache];
        pthread_mutex_unlock(&e->slots_mutex);
    }
    w->slot_cache[w->n_slot_cache++] = slot;
}

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
    return ref != 0 && slot_word_state(word) == ACTOR_SLOT_LIVE &&
           slot_word_generation(word) == actor_ref_generation(ref);
}

/* Linear probing; an entry is never emptied, only taken over from an actor that has ended. Under
 * names_mutex. */
static struct segment_name *name_find(struct engine *e, const char *name,
                                      struct segment_name **ret_room)
{
    struct segment_name *room = NULL;
    uint32_t at = name_hash(name) % ODEON_NAMES_MAX;
    for (uint32_t i = 0; i < ODEON_NAMES_MAX; i++, at = (at + 1) % ODEON_NAMES_MAX) {
        struct segment_name *entry = &e->segment.names[at];
        uint64_t ref = load_relaxed(&entry->ref);
        bool live = name_is_live(e, ref);
        if (live && strcmp(entry->name, name) == 0)
            return entry;
        if (!live && !room)
            room = entry;
        if (ref == 0)
            break;
    }
    if (ret_room)
        *ret_room = room;
    return NULL;
}

int actors_lookup(struct worker *w, const char *name, actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    if (!name_is_good(name))
        return -ENOENT;
    pthread_mutex_lock(&e->names_mutex);
    struct segment_name *entry = name_find(e, name, NULL);
    actor_ref ref = entry ? load_relaxed(&entry->ref) : 0;
    /* before its spawn commits, only the spawner itself finds it */
    uint32_t slot = actor_ref_slot(ref);
    bool exists =
        entry && (e->segment.actors[slot].spawn_worker == w->id || actors_is_committed(e, slot));
    pthread_mutex_unlock(&e->names_mutex);
    if (!exists)
        return -ENOENT;
    *ret_ref = ref;
    return 0;
}

/* A few words, mostly: not worth a call. */
static inline void args_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    for (; size >= 8; size -= 8, to += 8, from += 8)
        memcpy(to, from, 8);
    for (; size > 0; size--)
        *to++ = *from++;
}

/* The slot's word is stored last; a name entry counts only once its slot is live with this
 * generation. */
static int slot_reserve(struct worker *w, const struct spawn_request *request, uint32_t slot,
                        uint32_t generation, uint32_t queue)
{
    struct engine *e = w->engine;
    struct segment_actor *durable = &e->segment.actors[slot];
    actor_ref ref = actor_ref_make(slot, generation);
    if (SEEDED(live_first))
        store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
    durable->name = 0;
    durable->queue = (uint16_t)queue;
    durable->args_size = (uint16_t)request->args_size;
    durable->spawn_worker = w->id;
    durable->spawn_count = w->spawned_count = commit_count(w);
    durable->spawned_by = request->spawned_by;
    durable->account = request->account;
    args_copy(e->segment.args + (uint64_t)slot * ODEON_SPAWN_ARGS_MAX, request->args,
              request->args_size);
    int r = 0;
    if (request->name) {
        pthread_mutex_lock(&e->names_mutex);
        struct segment_name *room = NULL;
        if (name_find(e, request->name, &room)) {
            r = -EEXIST;
        } else if (!room) {
            r = -ENOSPC;
        } else {
            store_relaxed(&room->ref, actor_ref_make(slot, 0)); /* no generation 0 is ever live */
            crash_order();
            strcpy(room->name, request->name);
            crash_order();
            store_relaxed(&room->ref, ref);
            durable->name = (uint32_t)(room - e->segment.names) + 1;
            store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
        }
        pthread_mutex_unlock(&e->names_mutex);
    } else {
        store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
    }
    return r;
}

/* A queue with room for the init record. */
static int queue_choose(struct worker *w, const struct spawn_request *request, uint32_t *ret_queue)
{
    int r = placement_choose(w, request, ret_queue);
    if (r < 0 || turn_has_room(w, *ret_queue, envelope_size(0)))
        return r;
    placement_undo(w, *ret_queue);
    return outbox_fits(w, envelope_size(0)) ? -EAGAIN : -ENOBUFS;
}

static int spawn_reserve(struct worker *w, const struct spawn_request *request, actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    uint32_t queue;
    int r = queue_choose(w, request, &queue);
    if (r < 0)
        return r;
    uint32_t slot = w->slot_cache[w->n_slot_cache - 1];
    uint32_t generation = slot_word_generation(load_relaxed(&e->segment.actors[slot].word));
    if (generation == 0)
        generation = 1;
    r = slot_reserve(w, request, slot, generation, queue);
    if (r < 0) {
        placement_undo(w, queue);
        return r;
    }
    w->n_slot_cache--;
    *ret_ref = actor_ref_make(slot, generation);
    store_release(&e->actors[slot].key,
                  actor_key(generation, queue, request->type, kind_at_spawn(e, request->type)));
    turn_newborn(w, *ret_ref, queue, request->spawned_by);
    return 0;
}

int actors_spawn(struct worker *w, const struct spawn_request *request, actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    if (request->type == 0 || request->type >= ODEON_ACTOR_TYPES_MAX)
        return -ENOENT;
    if (request->args_size > ODEON_SPAWN_ARGS_MAX)
        return -E2BIG;
    if (request->name && !name_is_good(request->name))
        return -EINVAL;
    if (w->n_slot_cache == 0) {
        slots_refill(w);
        if (w->n_slot_cache == 0)
            return -ENOSPC;
    }
    if (w->newborn)
        turn_newborn_settle(w, 0);
    type_live_add(w, request->type, 1);
    if (w->is_detached)
        /* retiring a type does not wait for these threads: one of the two sees the other */
        full_barrier();
    int r =
        load_acquire(&e->spawnable[request->type]) ? spawn_reserve(w, request, ret_ref) : -ENOENT;
    if (r < 0) {
        type_live_add(w, request->type, -1);
        return r;
    }
    stat_add(w, STAT_actors_created, 1);
    return 0;
}

bool actors_is_committed(struct engine *e, uint32_t slot)
{
    const struct segment_actor *durable = &e->segment.actors[slot];
    uint32_t id = durable->spawn_worker;
    /* acquire: the spawner's flip; whoever got the reference by a message got it behind that flip
     * anyway */
    return id >= e->segment.n_ids || segment_count(&e->segment.workers[id]) != durable->spawn_count;
}

void actors_free_slot(struct worker *w, actor_ref ref)
{
    struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(ref), generation = actor_ref_generation(ref);
    struct segment_actor *durable = &e->segment.actors[slot];
    uint64_t word = load_relaxed(&durable->word);
    if (slot_word_generation(word) != generation || slot_word_state(word) == ACTOR_SLOT_FREE)
        return;
    uint32_t next = generation_next(generation);
    store_release(&e->actors[slot].key, actor_key(next, NO_DESTINATION, 0, ACTOR_FREE));
    store_release(&durable->word, slot_word(next, 0, ACTOR_SLOT_FREE));
    if (slot_word_state(word) == ACTOR_SLOT_LIVE) {
        type_live_add(w, slot_word_type(word), -1);
        placement_actor_ended(w, durable->queue);
        stat_add(w, STAT_actors_ended, 1);
    }
    if (slot >= ODEON_PORTS_MAX)
        slot_give_back(w, slot);
}

actor_ref actors_port_ref_next(struct engine *e, uint32_t port)
{
    uint64_t word = load_relaxed(&e->segment.actors[port].word);
    uint32_t generation = slot_word_generation(word);
    if (slot_word_state(word) != ACTOR_SLOT_FREE)
        generation = generation_next(generation);
    return actor_ref_make(port, generation ? generation : 1);
}

void actors_make_port(struct engine *e, uint32_t port, actor_ref ref)
{
    uint32_t destination = segment_port_destination(&e->segment, port);
    struct segment_actor *durable = &e->segment.actors[port];
    durable->queue = (uint16_t)destination;
    durable->name = 0;
    durable->args_size = 0;
    durable->spawned_by = 0;
    durable->spawn_worker = UINT32_MAX; /* no commit stands behind it */
    store_release(&durable->word, slot_word(actor_ref_generation(ref), 0, ACTOR_SLOT_PORT));
    store_release(&e->actors[port].key,
                  actor_key(actor_ref_generation(ref), destination, 0, ACTOR_PORT));
}

void actors_end_port(struct worker *w, actor_ref ref)
{
    actors_free_slot(w, ref);
}

void *actors_state_new(struct worker *w, struct actor_type *type)
{
    if (type->state_size == 0)
        return &no_state;
    void *state = w->state_kept[type->id];
    if (likely(!state))
        return state_new(&w->engine->states, &w->states, type->state_size);
    /* a kept state's first word links it to the next one */
    w->state_kept[type->id] = *(void **)state;
    memset(state, 0, type->state_size);
    return state;
}

void actors_state_drop(struct worker *w, struct actor_type *type, void *state,
                       enum engine_allocation how)
{
    if (state == &no_state || type->restart == RESTART_KEEP)
        return;
    switch (how) {
    case ALLOCATION_DELETE:
        state_free(&w->engine->states, &w->states, state, type->state_size);
        break;
    case ALLOCATION_DESTROY:
        *(void **)state = w->state_kept[type->id];
        w->state_kept[type->id] = state;
        break;
    default: /* FINISHED: storage and content stay as they are; nobody reaches them any more */
        break;
    }
}

void actors_state_forget(struct worker *w, const struct actor_type *type)
{
    for (void *state = w->state_kept[type->id], *next; state; state = next) {
        next = *(void **)state;
        state_free(&w->engine->states, &w->states, state, type->state_size);
    }
    w->state_kept[type->id] = NULL;
}
