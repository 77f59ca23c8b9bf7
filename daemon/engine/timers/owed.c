/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/owed.h"

#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/durable.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/timers/timers.h"

enum { OWED_AGAIN_NS = 100000000 }; /* where a queue is full */

/* By number; two that share a bit cost a record that does nothing. */
static uint64_t *owed_word(uint64_t *words, uint32_t queue)
{
    return &words[queue % ODEON_QUEUES_MAX / 64];
}
static uint64_t owed_bit(uint32_t queue)
{
    return UINT64_C(1) << queue % 64;
}

/* Those of a type that is run, as far as it is known: what is said of such an actor may be older
 * than it is, and an init record is sent to one that has begun. */
static bool owed_is_to(const struct engine *e, uint32_t slot, uint64_t key)
{
    enum actor_kind kind = actor_key_kind(key);
    return actor_key_lives(key) &&
           e->timers.owed.types[segment_type_of_key(&e->segment, actor_key_type(key))] &&
           (kind == ACTOR_NEW || kind == ACTOR_ASIDE ||
            (kind == ACTOR_KEPT && !durable_is_initialised(e, slot, actor_key_generation(key))));
}

void owed_look(struct engine *e)
{
    struct owed *owed = &e->timers.owed;
    bool any = false;
    full_barrier(); /* owed_note() */
    lock_take(&e->timers.mutex);
    for (uint32_t id = 1; id < load_relaxed(&e->segment.header->n_actor_types); id++)
        if (load_relaxed(&e->segment.actor_types[id].owed) && actors_are_run(e, id))
            owed->types[id] = any = true;
    if (any) {
        owed->slot = ODEON_PORTS_MAX;
        owed->due_ns = 1;
        owed->again = owed->is_later = false;
        memset(owed->full, 0, sizeof(owed->full));
        timers_set_clock(e);
    }
    lock_give(&e->timers.mutex);
}

/* All that was sent has been committed, and has left. */
static void owed_end(struct engine *e)
{
    struct owed *owed = &e->timers.owed;
    crash_order();
    for (uint32_t id = 1; id < ODEON_ACTOR_TYPES_MAX; id++)
        if (owed->types[id])
            store_relaxed(&e->segment.actor_types[id].owed, 0);
    memset(owed, 0, sizeof(*owed));
}

/* Behind the last slot, some queues were full: once more for those alone, as the records of others
 * may wait in theirs. */
static void owed_pass_again(struct owed *owed, uint64_t now_ns)
{
    owed->again = false;
    owed->is_later = true;
    memcpy(owed->former, owed->full, sizeof(owed->former));
    memset(owed->full, 0, sizeof(owed->full));
    owed->slot = ODEON_PORTS_MAX;
    owed->due_ns = now_ns + OWED_AGAIN_NS;
}

static void owed_send_to(struct engine *e, uint32_t slot)
{
    struct owed *owed = &e->timers.owed;
    /* acquire: the spawn's stores to the slot */
    uint64_t key = load_acquire(&e->actors.table[slot].key);
    uint32_t queue = actor_key_destination(key);
    if (!owed_is_to(e, slot, key) ||
        (owed->is_later && !(*owed_word(owed->former, queue) & owed_bit(queue))))
        return;
    if (!outbox_look_for_room(e->control, queue)) {
        *owed_word(owed->full, queue) |= owed_bit(queue);
        owed->again = true;
        return;
    }
    *outbox_append(e->control, queue, envelope_size(0)) =
        (struct envelope){ .to = actor_ref_make(slot, actor_key_generation(key)),
                           .type = MESSAGE_TYPE_INIT,
                           .flags = ENVELOPE_INIT };
}

void owed_send(struct engine *e, uint64_t now_ns)
{
    struct owed *owed = &e->timers.owed;
    struct worker *w = e->control;
    uint32_t high = load_relaxed(&e->segment.header->slots_high), n = 0;
    if (owed->due_ns == 0 || owed->due_ns > now_ns)
        return;
    if (owed->slot >= high && owed->again) {
        owed_pass_again(owed, now_ns);
        return;
    }
    if (owed->slot >= high) {
        owed_end(e);
        return;
    }
    owed->due_ns = 1;
    /* whose queue is full keeps nobody else: those are looked for once more behind the last one */
    for (; owed->slot < high && n < OWED_LOOKS && w->outbox.length < OWED_BYTES; n++, owed->slot++)
        owed_send_to(e, owed->slot);
    if (w->outbox.length > 0)
        commit_flip(w, 0, 0, 0, w->outbox.length, 0, 0);
}
