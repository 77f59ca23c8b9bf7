/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/actors.h"

#include <assert.h>
#include <errno.h>
#include <linux/mman.h> /* MADV_COLLAPSE: the C library may be older than the kernel */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/engine/actors/live.h"
#include "daemon/engine/actors/name_index.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/base/reserve.h"
#include "daemon/engine/segment/slot.h"

enum { HUGE_PAGE = 1 << 21, SLOT_CACHES_PART = 8 };

uint64_t actors_no_state;

uint32_t actors_cache_max(const struct engine *e)
{
    uint32_t part = (e->config.actors_max - ODEON_PORTS_MAX) / SLOT_CACHES_PART / e->segment.n_ids;
    return part < 2 ? 2 : part > SLOT_CACHE ? SLOT_CACHE : part;
}

int actors_init(struct engine *e)
{
    size_t n = e->config.actors_max;
    e->actors.table = reserve(n * sizeof(struct actor));
    e->actors.states = reserve(n * sizeof(void *));
    e->actors.slots_free = reserve(n * sizeof(uint32_t));
    if (!e->actors.table || !e->actors.states || !e->actors.slots_free)
        return -ENOMEM;
    pthread_mutex_init(&e->actors.slots_mutex, NULL);
    pthread_mutex_init(&e->actors.names_mutex, NULL);
    return name_index_init(e);
}

/* Once, and not for khugepaged to go on with: it looks through a process at the lowest priority,
 * and one that ends has to wait until it has let go. Kernels before 6.1 have nothing else. */
static void actors_table_widen(void *table, uint64_t bytes, uint64_t used)
{
    uint64_t now = (used + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
    if (madvise(table, now < bytes ? now : bytes, MADV_COLLAPSE) < 0 && errno == EINVAL)
        (void)madvise(table, bytes, MADV_HUGEPAGE);
}

void actors_widen(struct engine *e)
{
    uint64_t n = e->config.actors_max, used = load_relaxed(&e->segment.header->slots_high);
    actors_table_widen(e->actors.table, n * sizeof(struct actor), used * sizeof(struct actor));
    actors_table_widen(e->actors.states, n * sizeof(void *), used * sizeof(void *));
}

static void actors_state_give_back(struct engine *e, struct worker *w, uint32_t slot)
{
    void *state = e->actors.states[slot];
    const struct actor_type *type =
        load_relaxed(&e->types.known[actor_key_type(load_relaxed(&e->actors.table[slot].key))]);
    if (state && type && state != &actors_no_state && type->restart != RESTART_KEEP)
        state_free(&e->actors.stock, &w->actors.states, state, type->state_size);
}

void actors_fini(struct engine *e)
{
    size_t n = e->config.actors_max;
    if (e->recovered) /* else nothing has a state, and nothing in the segment is to be believed */
        for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&e->segment.header->slots_high);
             slot++)
            /* the process ends: no fini is owed, the actors live on in the segment */
            actors_state_give_back(e, e->control, slot);
    reserve_free(e->actors.table, n * sizeof(struct actor));
    reserve_free(e->actors.states, n * sizeof(void *));
    reserve_free(e->actors.slots_free, n * sizeof(uint32_t));
    name_index_fini(e);
    e->actors.table = NULL;
    e->actors.states = NULL;
    e->actors.slots_free = NULL;
}

/* The name of an actor that lives counts if its entry is still its own. */
static void actors_name_found(struct engine *e, uint32_t slot)
{
    uint32_t name = e->segment.actors[slot].name;
    uint64_t word = load_relaxed(&e->segment.actors[slot].word);
    if (name > 0 && name <= ODEON_NAMES_MAX &&
        load_relaxed(&e->segment.names[name - 1].ref) ==
            actor_ref_make(slot, slot_word_generation(word))) {
        name_index_unlink(e, name - 1);
        name_index_link(e, name - 1);
    }
}

void actors_rebuild(struct engine *e)
{
    const struct segment *s = &e->segment;
    uint32_t high = load_relaxed(&s->header->slots_high), spent = 0;
    e->actors.n_slots_free = 0;
    for (uint32_t slot = high; slot-- > 0;) {
        uint64_t word = load_relaxed(&s->actors[slot].word);
        uint32_t generation = slot_word_generation(word);
        switch (slot_word_state(word)) {
        case ACTOR_SLOT_LIVE:
            if (actors_kind_at_spawn(e, slot_word_type(word)) != ACTOR_KEPT)
                phases_begin_anew(e, slot);
            store_relaxed(&e->actors.table[slot].key,
                          actor_key(generation, s->actors[slot].queue,
                                    phases_key_type(s, slot, word),
                                    actors_kind_at_spawn(e, slot_word_type(word))));
            live_add(e->control, slot_word_type(word), 1);
            placement_actor_found(e, s->actors[slot].queue, slot_word_type(word));
            actors_name_found(e, slot);
            break;
        case ACTOR_SLOT_PORT:
            store_relaxed(&e->actors.table[slot].key,
                          actor_key(generation, s->actors[slot].queue, 0, ACTOR_PORT));
            actors_name_found(e, slot);
            break;
        case ACTOR_SLOT_SPENT:
            store_relaxed(&e->actors.table[slot].key, actor_key(0, NO_DESTINATION, 0, ACTOR_FREE));
            spent++;
            break;
        default:
            store_relaxed(&e->actors.table[slot].key,
                          actor_key(generation, NO_DESTINATION, 0, ACTOR_FREE));
            if (slot >= ODEON_PORTS_MAX)
                e->actors.slots_free[e->actors.n_slots_free++] = slot;
            break;
        }
    }
    e->actors.slots_fresh = high;
    /* a crash may have come between the slot's word and its count */
    for (uint32_t id = 0; id < s->n_ids; id++)
        store_relaxed(&e->workers[id]->stats->value[STAT_slots_spent],
                      e->workers[id] == e->control ? spent : 0);
}

/* The one that has waited longest in the ring, which is not empty. */
static uint32_t actors_slot_ring_take(struct worker *w)
{
    uint32_t slot = w->actors.ring[w->actors.ring_first % SLOT_RING];
    w->actors.ring_first++;
    w->actors.ring_n--;
    return slot;
}

/* Half a cache from the common stock, then from slots that were never used. */
void actors_slots_refill(struct worker *w)
{
    struct engine *e = w->engine;
    uint32_t half = w->actors.slots_max / 2;
    pthread_mutex_lock(&e->actors.slots_mutex);
    while (w->actors.n_slots < half && e->actors.n_slots_free > 0)
        w->actors.slots[w->actors.n_slots++] = e->actors.slots_free[--e->actors.n_slots_free];
    while (w->actors.n_slots < half && e->actors.slots_fresh < e->config.actors_max)
        w->actors.slots[w->actors.n_slots++] = e->actors.slots_fresh++;
    store_relaxed(&e->segment.header->slots_high,
                  e->actors.slots_fresh); /* before one of them is used */
    pthread_mutex_unlock(&e->actors.slots_mutex);
    if (w->actors.n_slots == 0 && w->actors.ring_n > 0) /* the table is full but for these */
        w->actors.slots[w->actors.n_slots++] = actors_slot_ring_take(w);
}

void actors_slots_return(struct worker *w)
{
    struct engine *e = w->engine;
    pthread_mutex_lock(&e->actors.slots_mutex);
    while (w->actors.ring_n > 0)
        e->actors.slots_free[e->actors.n_slots_free++] = actors_slot_ring_take(w);
    while (w->actors.n_slots > 0)
        e->actors.slots_free[e->actors.n_slots_free++] = w->actors.slots[--w->actors.n_slots];
    pthread_mutex_unlock(&e->actors.slots_mutex);
}

static void actors_slot_cache_put(struct worker *w, uint32_t slot)
{
    struct engine *e = w->engine;
    if (w->actors.n_slots == w->actors.slots_max) {
        pthread_mutex_lock(&e->actors.slots_mutex);
        while (w->actors.n_slots > w->actors.slots_max / 2)
            e->actors.slots_free[e->actors.n_slots_free++] = w->actors.slots[--w->actors.n_slots];
        pthread_mutex_unlock(&e->actors.slots_mutex);
    }
    w->actors.slots[w->actors.n_slots++] = slot;
}

void actors_slot_give_back(struct worker *w, uint32_t slot)
{
    if (w->actors.ring_n == SLOT_RING)
        actors_slot_cache_put(w, actors_slot_ring_take(w));
    w->actors.ring[(w->actors.ring_first + w->actors.ring_n++) % SLOT_RING] = slot;
}

bool actors_is_committed(struct engine *e, uint32_t slot)
{
    const struct segment_actor *durable = &e->segment.actors[slot];
    uint32_t id = durable->spawn_worker;
    /* acquire: the spawner's flip; whoever got the reference by a message got it behind that flip
     * anyway */
    return id >= e->segment.n_ids || segment_count(&e->segment.workers[id]) != durable->spawn_count;
}

actor_ref actors_port_ref_next(struct engine *e, uint32_t port)
{
    uint64_t word = load_relaxed(&e->segment.actors[port].word);
    if (slot_word_state(word) == ACTOR_SLOT_PORT) /* it will have ended */
        word = slot_word_ended(word, REASON_CLIENT_GONE);
    if (slot_word_state(word) == ACTOR_SLOT_SPENT)
        return 0;
    uint32_t generation = slot_word_generation(word);
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
    durable->account = 0;
    durable->spawn_worker = UINT32_MAX; /* no commit stands behind it */
    store_release(&durable->word, slot_word(actor_ref_generation(ref), 0, ACTOR_SLOT_PORT));
    store_release(&e->actors.table[port].key,
                  actor_key(actor_ref_generation(ref), destination, 0, ACTOR_PORT));
}

void *actors_state_new(struct worker *w, struct actor_type *type)
{
    if (type->state_size == 0)
        return &actors_no_state;
    void *state = w->actors.kept[type->id];
    if (likely(!state))
        return state_new(&w->engine->actors.stock, &w->actors.states, type->state_size);
    /* a kept state's first word links it to the next one */
    w->actors.kept[type->id] = *(void **)state;
    memset(state, 0, type->state_size);
    return state;
}

void actors_state_drop(struct worker *w, struct actor_type *type, void *state,
                       enum engine_allocation how)
{
    if (state == &actors_no_state || type->restart == RESTART_KEEP)
        return;
    switch (how) {
    case ALLOCATION_DELETE:
        state_free(&w->engine->actors.stock, &w->actors.states, state, type->state_size);
        break;
    case ALLOCATION_DESTROY:
        *(void **)state = w->actors.kept[type->id];
        w->actors.kept[type->id] = state;
        break;
    default: /* FINISHED: storage and content stay as they are; nobody reaches them any more */
        break;
    }
}

void actors_state_forget(struct worker *by, struct worker *w, const struct actor_type *type)
{
    for (void *state = w->actors.kept[type->id], *next; state; state = next) {
        next = *(void **)state;
        state_free(&w->engine->actors.stock, &by->actors.states, state, type->state_size);
    }
    w->actors.kept[type->id] = NULL;
}

/* By a message of its own: its state goes as that said. */
static void actors_state_end(struct worker *w, uint32_t slot, uint32_t type_id, enum actor_end how)
{
    void *state = w->turn.states[slot];
    if (!state)
        return;
    actors_state_set(w, &w->turn.actors[slot], NULL);
    actors_state_drop(w, load_relaxed(&w->turn.types[type_id]), state, (enum engine_allocation)how);
}

bool actors_ended(struct worker *w, actor_ref who, enum actor_end how, enum envelope_reason why)
{
    struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(who), generation = actor_ref_generation(who);
    struct segment_actor *durable = &e->segment.actors[slot];
    uint64_t word = load_relaxed(&durable->word);
    if (slot_word_generation(word) != generation ||
        (slot_word_state(word) != ACTOR_SLOT_LIVE && slot_word_state(word) != ACTOR_SLOT_PORT))
        return false;
    uint64_t ended = slot_word_ended(word, why);
    bool spent = slot_word_state(ended) == ACTOR_SLOT_SPENT;
    if (how == ACTOR_END_REDO) { /* keys and counts are made of the words later */
        store_relaxed(&durable->word, ended);
        return false;
    }
    store_release(&e->actors.table[slot].key, actor_key(spent ? 0 : slot_word_generation(ended),
                                                        NO_DESTINATION, 0, ACTOR_FREE));
    store_release(&durable->word, ended);
    PROBE(end, who, why);
    bool attached = load_relaxed(&e->timers.attached[slot]) != 0; /* watches.W1: not earlier */
    if (slot_word_state(word) == ACTOR_SLOT_LIVE) {
        live_add(w, slot_word_type(word), -1);
        placement_actor_ended(w, durable->queue);
        stat_add(w, STAT_actors_ended, 1);
    }
    if (how <= ACTOR_END_FINISHED)
        actors_state_end(w, slot, slot_word_type(word), how);
    if (unlikely(spent))
        stat_add(w, STAT_slots_spent, 1);
    else if (slot >= ODEON_PORTS_MAX && (!attached || how == ACTOR_END_TYPE))
        actors_slot_give_back(w, slot);
    return attached;
}
