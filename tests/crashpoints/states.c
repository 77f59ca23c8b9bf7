/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the world that a scene's processes have left: which of them are known, and how to
 * come back to each.
 *
 * A state is not kept as an image. It is what its run had begun with (another state, or the scene's
 * base) and the words that the run had changed until then; all states of a run share one list of
 * changes.
 *
 * All of it is in memory that the driver's processes share: they find states side by side.
 *
 * states.S1  A hash is entered once (compare and exchange): of two processes that meet a state, one
 *     adds it.
 * states.S2  A state is read by other processes when the one that added it has ended, or been
 *     waited for; nothing here is changed afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "crash.h"

enum { STATES_MAX = 1 << 19, TABLE = 4 * STATES_MAX, CHANGES_KEPT = 1 << 26 };

static struct {
    _Atomic uint32_t n;
    _Atomic uint64_t n_changes;
    struct state state[STATES_MAX];
    _Atomic uint64_t table[TABLE]; /* hashes; 0: free */
    struct change change[CHANGES_KEPT];
} * all;

void *states_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return at;
}

void states_init(void)
{
    all = states_map(sizeof(*all));
}

void states_reset(void)
{
    if (atomic_load_explicit(&all->n, memory_order_relaxed) > 0)
        memset((void *)all->table, 0, sizeof(all->table));
    atomic_store_explicit(&all->n, 0, memory_order_relaxed);
    atomic_store_explicit(&all->n_changes, 0, memory_order_relaxed);
}

uint32_t states_count(void)
{
    return atomic_load_explicit(&all->n, memory_order_relaxed);
}

const struct state *states_get(uint32_t index)
{
    return &all->state[index];
}

static __attribute__((noreturn)) void too_many(void)
{
    fprintf(stderr, "crashpoints: more states than there is room for\n");
    exit(2);
}

bool states_known(uint64_t hash)
{
    hash += hash == 0;
    for (uint64_t i = hash % TABLE;; i = (i + 1) % TABLE) {
        uint64_t there = atomic_load_explicit(&all->table[i], memory_order_relaxed);
        if (there == hash || there == 0)
            return there == hash;
    }
}

bool states_enter(uint64_t hash)
{
    hash += hash == 0;
    for (uint64_t i = hash % TABLE;; i = (i + 1) % TABLE) {
        uint64_t there = 0;
        /* states.S1 */
        if (atomic_compare_exchange_strong_explicit(&all->table[i], &there, hash,
                                                    memory_order_relaxed, memory_order_relaxed))
            return true;
        if (there == hash)
            return false;
    }
}

/* ---- what a run changed ---- */

void recording_begin(struct recording *recording, uint64_t hash)
{
    recording->points = 0;
    recording->hash = recording->marked = hash;
    recording->n_changes = recording->n_marks = 0;
}

void recording_change(struct recording *recording, uint64_t where, uint64_t from, uint64_t to)
{
    if (recording->n_changes == CHANGES_MAX)
        too_many();
    recording->hash += word_hash(where, to) - word_hash(where, from);
    recording->change[recording->n_changes++] = (struct change){ .where = where, .value = to };
}

void recording_mark(struct recording *recording, uint64_t at)
{
    if (recording->hash == recording->marked)
        return;
    if (recording->n_marks == MARKS_MAX)
        too_many();
    places_note(at);
    recording->marked = recording->hash;
    recording->mark[recording->n_marks++] =
        (struct mark){ .hash = recording->hash, .at = at, .n_changes = recording->n_changes };
}

void states_add(struct recording *recording, uint32_t parent, uint32_t depth)
{
    uint32_t fresh = 0, changes = 0;
    for (uint32_t i = 0; i < recording->n_marks; i++)
        if (states_enter(recording->mark[i].hash)) {
            recording->mark[fresh++] = recording->mark[i];
            changes = recording->mark[fresh - 1].n_changes;
        }
    if (fresh == 0)
        return;
    uint64_t at = atomic_fetch_add_explicit(&all->n_changes, changes, memory_order_relaxed);
    uint32_t first = atomic_fetch_add_explicit(&all->n, fresh, memory_order_relaxed);
    if (at + changes > CHANGES_KEPT || first + fresh > STATES_MAX)
        too_many();
    memcpy(&all->change[at], recording->change, changes * sizeof(struct change));
    for (uint32_t i = 0; i < fresh; i++)
        all->state[first + i] = (struct state){ .hash = recording->mark[i].hash,
                                                .at = recording->mark[i].at,
                                                .changes_at = at,
                                                .n_changes = recording->mark[i].n_changes,
                                                .parent = parent,
                                                .depth = depth };
}

/* ---- back to a state ---- */

static void changes_apply(uint32_t index, const struct world *world)
{
    const struct state *state = &all->state[index];
    if (state->parent != STATE_BASE)
        changes_apply(state->parent, world);
    for (uint64_t i = 0; i < state->n_changes; i++) {
        const struct change *change = &all->change[state->changes_at + i];
        memcpy(world->region[change->where >> WHERE_BITS].map + (change->where & WHERE_MASK),
               &change->value, sizeof(change->value));
    }
}

void states_restore(uint32_t index, const struct image *base, const struct world *world)
{
    image_restore(base, world);
    changes_apply(index, world);
}
