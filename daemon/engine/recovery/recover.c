/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/recovery/recover.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/durable.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/recovery/accuse.h"
#include "daemon/engine/recovery/verify.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/stuck/letters.h"
#include "daemon/engine/stuck/postpone.h"
#include "daemon/engine/stuck/set_aside.h"
#include "daemon/engine/timers/timer_recover.h"
#include "daemon/engine/timers/watches.h"

/* The step that is armed with the present count, 0: none. */
static uint32_t recover_armed_step(struct segment_worker *durable)
{
    uint64_t arm = load_relaxed(&durable->arm), count = segment_count(durable);
    return arm >> JOURNAL_STEP_BITS == (count & (UINT64_MAX >> JOURNAL_STEP_BITS))
               ? (uint32_t)(arm & JOURNAL_STEP_MASK)
               : 0;
}

/* Pass 1: an armed step whose lock is still its worker's is published, whether or not it had been;
 * no lengths are compared [R_LENCMP]. Then, and only then, its lock. */
static void recover_roll_forward(struct engine *e, uint32_t id, struct engine_recovery *report)
{
    struct segment_worker *durable = &e->segment.workers[id];
    uint32_t step = recover_armed_step(durable);
    if (step == 0)
        return;
    const struct segment_journal_entry *entry = journal_entry(durable, step);
    uint32_t destination = entry->destination & ~JOURNAL_RING;
    assert(destination <= e->segment.dead_letters);
    struct segment_queue *queue = &e->segment.queues[destination];
    if (VALUE(step_done, (load_relaxed(&queue->lock) & ~LOCK_WAITERS) != id + 1))
        return; /* the step is done */
    if (entry->destination & JOURNAL_RING) {
        struct segment_port *port = &e->segment.ports[destination - e->segment.n_queues];
        store_relaxed(&port->dtail, entry->length); /* the visible tail follows in pass 5 */
    } else {
        store_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))], entry->length);
    }
    crash_order();
    POINT(recovery);
    store_relaxed(&queue->lock, 0);
    crash_order();
    report->armed_journals++;
    report->held_locks++;
}

/* Pass 2: not earlier, they decide pass 1 [R_LOCKFIRST]. */
static void recover_clear_locks(struct engine *e, struct engine_recovery *report)
{
    for (uint32_t i = 0; i <= e->segment.dead_letters; i++)
        if (load_relaxed(&e->segment.queues[i].lock)) {
            store_relaxed(&e->segment.queues[i].lock, 0);
            crash_order();
            report->held_locks++;
        }
    POINT(recovery);
}

/* Pass 3: slots that no commit stands behind, before any count changes [NAME_LATE]. */
static void recover_undo_spawns(struct engine *e, struct engine_recovery *report)
{
    for (uint32_t slot = 0; slot < load_relaxed(&e->segment.header->slots_high); slot++) {
        struct segment_actor *durable = &e->segment.actors[slot];
        uint64_t word = load_relaxed(&durable->word);
        if (word == 0)
            continue;
        if (slot_word_state(word) == ACTOR_SLOT_LIVE && !actors_is_committed(e, slot)) {
            store_relaxed(&durable->word, slot_word_ended(word, REASON_NO_SUCH_ACTOR));
            report->spawns_undone++;
        }
    }
    crash_order();
}

/* fault.F4 */
static void recover_remember_fault(struct engine *e, uint32_t id, const struct segment_fault *fault)
{
    struct engine_fault *faults = realloc(e->faults.list, (e->faults.n + 1) * sizeof(*faults));
    if (!faults)
        return;
    e->faults.list = faults;
    struct engine_fault *f = &faults[e->faults.n++];
    *f = (struct engine_fault){
        .worker = id,
        .kind = fault->kind,
        .type = fault->actor_type,
        .signal = fault->signal,
        .attempts = fault->attempts,
        .message_type = fault->message_type,
        .address = fault->address,
        .instruction = fault->instruction,
        .actor = fault->actor,
    };
    accuse_type_names(e, fault->actor_type, f->actor_type, f->plugin);
    memcpy(f->build_id, fault->build_id, sizeof(f->build_id) - 1);
    memcpy(f->trace, fault->trace, sizeof(f->trace) - 1);
    accuse_message_name(e, fault->message_type, f->message);
}

/* Pass 4b: what was running.  Values, not increments: recover.V1.  True: it did not return. */
static bool recover_blame(struct engine *e, uint32_t id, struct segment_commit *slot,
                          struct engine_recovery *report)
{
    struct segment_worker *durable = &e->segment.workers[id];
    uint64_t count = segment_count(durable);
    if (slot->source == 0 || slot->source > e->segment.n_queues || !load_relaxed(&durable->turn))
        return false;
    /* behind the first piece comes the second, which may be empty */
    bool second = slot->wrap == 0 || commit_cursor(slot) == slot->wrap;
    uint64_t cursor = slot->wrap && second ? 0 : commit_cursor(slot);
    if (second && cursor == commit_tail(slot))
        return false;
    uint32_t queue = slot->source - 1;
    unsigned inactive = queue_active(load_relaxed(&e->segment.queues[queue].sel)) ^ 1;
    struct envelope *envelope =
        (struct envelope *)(segment_window(&e->segment, queue, inactive) + cursor);
    STEP(redelivered, envelope->flags |= ENVELOPE_REDELIVERED);
    report->running_handlers++;
    report->redeliveries++;
    bool blamed = durable->fault.tag == count && durable->fault.attempts;
    if (blamed) {
        envelope->attempts = (uint8_t)durable->fault.attempts;
        if (envelope->type >= MESSAGE_TYPE_FIRST_USER) /* an init record keeps its mark */
            envelope->flags = (uint8_t)((envelope->flags & ~ENVELOPE_INIT) |
                                        (durable->fault.in_init ? ENVELOPE_INIT : 0));
        durable->fault.owed = FAULT_OWED; /* fault.F4 */
    }
    accuse_running(e, id, envelope);
    crash_order();
    return blamed && durable->fault.kind == FAULT_STALLED;
}

/* Those that have been blamed, in this recovery or in one before that nobody has heard of. */
static void recover_gather_faults(struct engine *e, struct engine_recovery *report)
{
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        if (e->segment.workers[id].fault.owed != 0) {
            report->faults++;
            recover_remember_fault(e, id, &e->segment.workers[id].fault);
        }
}

static void recover_redo_end(struct engine *e, const struct segment_commit *slot)
{
    if (slot->redo && slot->redo_how == COMMIT_POSTPONED)
        postpone_redo(e, slot);
    if (!commit_ends_actor(slot))
        return;
    (void)actors_ended(e->control, slot->redo, ACTOR_END_REDO, commit_end_reason(slot));
    crash_order();
}

/* A record taken straight from its port: the port's cursor is behind it, or further [DIRECT_PCUR],
 * and its batch present [DIRECT_NOBATCH], whether or not that had been stored. */
static void recover_redo_direct(struct engine *e, const struct segment_commit *slot)
{
    struct segment_port *port = &e->segment.ports[slot->port];
    if (load_relaxed(&port->generation) == slot->port_generation &&
        slot->redo > load_relaxed(&port->pcur))
        store_relaxed(&port->pcur, slot->redo);
    crash_order();
    struct segment_queue *queue = &e->segment.queues[slot->source - 1];
    if (!queue_has_batch(load_relaxed(&queue->sel)))
        queue_begin_batch(queue, commit_tail(slot));
    crash_order();
}

/* Pass 4e: where the attached source stood. */
static void recover_store_cursor(struct engine *e, const struct segment_commit *slot,
                                 struct engine_recovery *report)
{
    if (slot->source == 0)
        return;
    uint32_t source = slot->source - 1;
    if (source < e->segment.dead_letters) {
        struct segment_queue *queue = &e->segment.queues[source];
        if (!queue_has_batch(load_relaxed(&queue->sel)))
            return; /* the release was complete */
        queue_park_batch(queue, commit_cursor(slot), commit_tail(slot), slot->wrap);
        report->attached_batches++;
    } else {
        store_relaxed(&e->segment.ports[source - e->segment.dead_letters - 1].pcur,
                      commit_cursor(slot));
        report->ports_attached++;
    }
    crash_order();
}

/* Pass 4: in the worker's name, with its lock word and journal [R_NOLOCK]; the flip last
 * [R_FLIPEARLY]. */
static void recover_worker(struct engine *e, uint32_t id, struct engine_recovery *report)
{
    struct worker *w = e->workers[id];
    w->slot = segment_commit_valid(w->durable);
    struct segment_commit slot = *w->slot;
    uint32_t step = recover_armed_step(w->durable);
    if (slot.source && slot.redo_how == COMMIT_ASIDE)
        set_aside_redo(e, &slot); /* before anything is looked for in these queues */
    if (durable_undo(e, id))      /* a */
        report->states_undone++;
    bool hung = recover_blame(e, id, &slot, report);
    STEP(redo_end, recover_redo_end(e, &slot));
    w->batch.source = slot.source; /* a drain's records are known by their source (deliver.D1) */
    POINT(recovery_flush, w);
    if (commit_out(&slot) > 0) {
        report->unflushed_outboxes++;
        w->flush.recovering = true;
        w->outbox.length = commit_out(&slot);
        flush_from(w, VALUE(flush_rest, step + 1));
        outbox_reset(w);
        w->flush.recovering = false;
    }
    POINT(recovery);
    if (slot.source && slot.redo_how == COMMIT_DIRECT)
        recover_redo_direct(e, &slot);
    if (hung) {
        /* before the flip: what is first then has not been running */
        store_relaxed(&w->durable->turn, 0);
        if (postpone_move(w))
            slot = *w->slot;
    }
    recover_store_cursor(e, &slot, report);
    w->batch.source = 0;
    if (slot.source || commit_out(&slot) || slot.redo)
        commit_flip(w, 0, 0, 0, 0, 0, 0);
    /* behind the flip: until then it speaks of what was attached */
    store_relaxed(&w->durable->turn, 0);
    store_relaxed(&w->durable->suspicion.trial, TRIAL_NONE);
}

/* Pass 7. */
static void recover_rebuild(struct engine *e, struct engine_recovery *report)
{
    const struct segment *s = &e->segment;
    uint32_t attached = (uint32_t)report->attached_batches;
    for (uint32_t i = 0; i < s->dead_letters; i++) {
        struct segment_queue *queue = &s->queues[i];
        uint32_t sel = load_relaxed(&queue->sel);
        /* segment_layout.L1, whatever these words have become: what is sent next begins where they
         * say */
        if (!queue_has_batch(sel)) {
            settle_relaxed(&queue->len[queue_active(sel) ^ 1], 0);
            settle_relaxed(&queue->cursor, 0);
            settle_relaxed(&queue->wrap, 0);
        } else {
            report->parked_batches++;
        }
        /* a backlog is looked at by whoever runs its port */
        if (i >= s->n_queues || !queue_has_work(queue))
            continue;
        if (i >= s->n_mailboxes)
            store_relaxed(&e->urgent[segment_mailbox(s, i)], 1); /* urgent.G4 */
        mask_set(e->workers[e->sources[segment_mailbox(s, i)].home], segment_mailbox(s, i));
    }
    report->parked_batches -= report->parked_batches < attached ? report->parked_batches : attached;
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++) {
        uint32_t source = engine_source_of_port(e, id);
        if (load_relaxed(&e->ports.table[id].state) != PORT_OPEN) {
            /* nobody's until it is added */
            store_relaxed(e->sources[source].own, own_running(OWN_NOBODY));
            continue;
        }
        port_publish_cursors(e, id); /* pass 5 */
        uint32_t home = placement_home(e, source, engine_workers(e));
        source_place(e, source, home, 0);
        mask_set(e->workers[home], source);
    }
}

/* Ports whose client has gone while no executor ran, and that the supervisor does not know any
 * more. A slot without an entry is that of a port which was being made (port_table.c). */
static void recover_forget_ports(struct engine *e)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++) {
        if (load_relaxed(&e->ports.table[id].state) == PORT_OPEN)
            continue;
        queue_drop(&e->segment.queues[segment_port_destination(&e->segment, id)]);
        struct segment_actor *slot = &e->segment.actors[id];
        uint64_t word = load_relaxed(&slot->word);
        if (slot_word_state(word) == ACTOR_SLOT_PORT)
            store_relaxed(&slot->word, slot_word_ended(word, REASON_CLIENT_GONE));
        crash_order();
        settle_relaxed(&e->segment.ports[id].generation, 0);
    }
}

int recover_run(struct engine *e, struct engine_recovery *report)
{
    uint64_t started = clock_now_ns();
    memset(report, 0, sizeof(*report));
    int r = verify_segment(e, report->damage);
    if (r < 0)
        return r;
    uint64_t verified = clock_now_ns();
    placement_init(e); /* owner words are in the segment: no byte of it changes before the look */
    e->faults.n = 0;
    store_relaxed(&e->segment.header->boots, load_relaxed(&e->segment.header->boots) + 1);
    store_relaxed(&e->segment.header->clean, 0);
    POINT(recovery_begins, e, report);
    accuse_begin(e);
    /* only now: who has looked has judged, too, and odeond need not remember the death before */
    store_relaxed(&e->stats->start_ns[START_VERIFIED], verified);
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        recover_roll_forward(e, id, report);
    recover_clear_locks(e, report);
    letters_redo(e);
    STEP(timer_redo, timer_recover_redo(e));
    STEP(timer_undo, report->timers_undone = timer_recover_undo(e));
    STEP(phases_undo, phases_undo(e));
    STEP(undo_spawns, recover_undo_spawns(e, report));
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        recover_worker(e, id, report);
    accuse_end(e);
    recover_gather_faults(e, report);
    recover_forget_ports(e);
    STEP(watches_look, watches_recover(e));
    actors_rebuild(e);
    set_aside_rebuild(e);
    r = timer_recover_rebuild(e);
    if (r < 0)
        return r;
    e->recovered = true;
    port_open_pending(e);
    recover_rebuild(e, report);
    for (uint32_t i = 0; i <= e->segment.dead_letters; i++) {
        struct segment_queue *queue = &e->segment.queues[i];
        uint32_t sel = load_relaxed(&queue->sel);
        assert(load_relaxed(&queue->lock) == 0);
        /* segment_layout.L1 */
        assert(queue_has_batch(sel) || i == e->segment.dead_letters ||
               load_relaxed(&queue->len[queue_active(sel) ^ 1]) == 0);
    }
    report->boots = load_relaxed(&e->segment.header->boots);
    report->duration_ns = clock_now_ns() - started;
    return 0;
}
