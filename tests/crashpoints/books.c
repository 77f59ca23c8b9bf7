/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true, whatever instruction the last process was killed at.
 *
 * books.K1  Of each row every number comes to its receiver, one after the other, once; or once
 *     more, marked as redelivered, as often in all as there are workers that may have been killed
 *     in a handler.  To a client never twice.
 * books.K2  Dead letters and refusals are rows, too.
 * books.K3  Behind recovery: no lock, no attached source, no length without a batch
 *     (segment_layout.L1), what clients see is what is durable.
 * books.K4  At rest: nothing in any buffer, no ready bit missing, no port's record untaken, as many
 *     actors of each type as there should be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <odeon/names.h>

#include "crash.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"

struct ledger *ledger;

void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ledger->failure, sizeof(ledger->failure), format, args);
    va_end(args);
    _exit(1);
}

void must(const char *what, int r)
{
    if (r < 0)
        fail("%s: %s", what, strerror(-r));
}

/* books.K1 */
void row_note(uint32_t index, uint64_t number, bool redelivered)
{
    if (index >= N_ROWS)
        fail("an item of row %u", index);
    struct row *row = &ledger->row[index];
    bool again = number == row->last && redelivered;
    bool next = number == row->last + 1 || (row->flags & ROW_MAY_SKIP && number > row->last);
    if (!again && !next)
        fail("row %u: %llu after %llu%s", index, (unsigned long long)number,
             (unsigned long long)row->last, redelivered ? ", redelivered" : "");
    if (again && row->flags & ROW_CLIENT)
        fail("row %u: %llu is delivered twice", index, (unsigned long long)number);
    row->taken += !again;
    ledger->redelivered += redelivered;
    if (ledger->redelivered > ledger->redelivered_max)
        fail("row %u: %llu is redelivered, one too many", index, (unsigned long long)number);
    row->last = number;
}

/* ---- the segment ---- */

/* A name is its port's, or free: none is a port's that nobody can find by it. */
static void names_check(struct engine *e)
{
    const struct segment *s = &e->segment;
    for (uint32_t at = 0; at < ODEON_NAMES_MAX; at++) {
        actor_ref ref = load_relaxed(&s->names[at].ref), found = 0;
        uint32_t slot = actor_ref_slot(ref);
        if (ref == 0 || slot >= N_PORTS || ref != ledger->client[slot].ref)
            continue;
        if (engine_actor_lookup(e, s->names[at].name, &found) < 0 || found != ref)
            fail("port %u has the name '%s', and is not found by it", slot, s->names[at].name);
    }
}

/* books.K3 */
void books_after_recovery(struct engine *e)
{
    const struct segment *s = &e->segment;
    if (ledger->names)
        names_check(e);
    for (uint32_t i = 0; i <= s->dead_letters; i++) {
        struct segment_queue *queue = &s->queues[i];
        uint32_t sel = load_relaxed(&queue->sel);
        if (load_relaxed(&queue->lock))
            fail("queue %u: its lock is held by %u", i, load_relaxed(&queue->lock));
        if (!queue_has_batch(sel) && i < s->n_queues &&
            (load_relaxed(&queue->len[queue_active(sel) ^ 1]) || load_relaxed(&queue->cursor) ||
             load_relaxed(&queue->wrap)))
            fail("queue %u: no batch, and a length", i);
        if (load_relaxed(&queue->len[0]) % 8 || load_relaxed(&queue->len[1]) % 8 ||
            (i < s->dead_letters && load_relaxed(&queue->cursor) % 8))
            fail("queue %u: a length that no record has", i);
    }
    for (uint32_t id = 0; id < s->n_ids; id++) {
        const struct segment_commit *slot = segment_commit_valid(&s->workers[id]);
        if (slot->source || commit_out(slot) || load_relaxed(&s->workers[id].turn))
            fail("worker %u is still attached to %u, outbox %llu", id, slot->source,
                 (unsigned long long)commit_out(slot));
    }
    for (uint32_t id = 0; id < N_PORTS; id++) {
        if (load_relaxed(&e->ports.table[id].state) != PORT_OPEN)
            continue;
        const struct port_executor *words = e->ports.table[id].executor_words;
        struct segment_port *durable = &s->ports[id];
        if (load_relaxed(&words->submission_head) != load_relaxed(&durable->pcur) ||
            load_relaxed(&words->delivery_tail) != load_relaxed(&durable->dtail))
            fail("port %u: head %llu of %llu, tail %llu of %llu", id,
                 (unsigned long long)load_relaxed(&words->submission_head),
                 (unsigned long long)load_relaxed(&durable->pcur),
                 (unsigned long long)load_relaxed(&words->delivery_tail),
                 (unsigned long long)load_relaxed(&durable->dtail));
        if (!ledger->client[id].closing && ledger->client[id].head > load_relaxed(&durable->dtail))
            fail("port %u: its client has read to %llu of %llu", id,
                 (unsigned long long)ledger->client[id].head,
                 (unsigned long long)load_relaxed(&durable->dtail));
    }
}

/* books.K2 */
static void dead_letters_note(struct engine *e)
{
    const struct segment *s = &e->segment;
    struct segment_queue *queue = &s->queues[s->dead_letters];
    unsigned active = queue_active(load_relaxed(&queue->sel));
    const uint8_t *base = segment_window(s, s->dead_letters, active);
    uint64_t last = 0;
    for (uint64_t at = 0, end = load_relaxed(&queue->len[active]); at < end;) {
        const struct segment_dead_letter *letter = (const struct segment_dead_letter *)(base + at);
        const struct envelope *envelope = (const struct envelope *)(letter + 1);
        if (letter->id <= last || letter->id > load_relaxed(&queue->cursor))
            fail("dead letter %llu comes behind %llu", (unsigned long long)letter->id,
                 (unsigned long long)last);
        last = letter->id;
        const struct item *item = envelope_payload(envelope);
        if (envelope->type != item_type || envelope_payload_size(envelope) < sizeof(*item) ||
            item->row >= N_ROWS || !(ledger->row[item->row].flags & ROW_DEAD))
            fail("a dead letter of type %u, %u bytes, row %u, reason %s", envelope->type,
                 envelope->length, envelope_payload_size(envelope) >= sizeof(*item) ? item->row : 0,
                 odeon_reason_name(envelope->behaviour));
        row_note(item->row, item->number, false);
        at += sizeof(*letter) + envelope_record_size(envelope);
    }
}

static void rows_check(void)
{
    for (uint32_t i = 0; i < N_ROWS; i++) {
        const struct row *row = &ledger->row[i];
        if (row->taken < row->least)
            fail("row %u: %llu came, at least %llu should have", i, (unsigned long long)row->taken,
                 (unsigned long long)row->least);
        if (row->flags & ROW_PREFIX ? row->last < row->accepted || row->last > row->end
                                    : row->last != row->end)
            fail("row %u ends with %llu, not %llu", i, (unsigned long long)row->last,
                 (unsigned long long)row->end);
        if (row->flags & ROW_WHOLE && row->last != 0 && row->last != row->end)
            fail("row %u ends with %llu of %llu", i, (unsigned long long)row->last,
                 (unsigned long long)row->end);
    }
}

static void actors_check(struct engine *e)
{
    for (uint32_t i = 0; i < N_CAST; i++) {
        struct engine_actor_type_view view;
        must("type", engine_actor_type_get(e, cast_type[i], &view));
        if (view.live < ledger->live[i] || view.live > ledger->live[i] + ledger->live_more[i])
            fail("%llu actors of type %s, not %llu", (unsigned long long)view.live, view.name,
                 (unsigned long long)ledger->live[i]);
    }
    uint64_t slots = 0, live = 0, more = 0;
    for (uint32_t slot = ODEON_PORTS_MAX; slot < load_relaxed(&e->segment.header->slots_high);
         slot++)
        slots += slot_word_state(load_relaxed(&e->segment.actors[slot].word)) != ACTOR_SLOT_FREE;
    for (uint32_t i = 0; i < N_CAST; i++) {
        live += ledger->live[i];
        more += ledger->live_more[i];
    }
    if (slots < live || slots > live + more)
        fail("%llu slots are taken, by %llu actors", (unsigned long long)slots,
             (unsigned long long)live);
}

/* books.K4 */
void books_at_rest(struct engine *e)
{
    const struct segment *s = &e->segment;
    books_after_recovery(e);
    for (uint32_t i = 0; i < s->dead_letters; i++) {
        struct segment_queue *queue = &s->queues[i];
        if (queue_has_work(queue) || load_relaxed(&queue->len[0]) || load_relaxed(&queue->len[1]))
            fail("queue %u is not empty, and nobody is told to look", i);
    }
    for (uint32_t id = 0; id < N_PORTS; id++)
        if (ledger->client[id].open && !ledger->client[id].closing &&
            load_relaxed(&s->ports[id].pcur) != ledger->client[id].tail)
            fail("port %u: %llu of %llu bytes are taken", id,
                 (unsigned long long)load_relaxed(&s->ports[id].pcur),
                 (unsigned long long)ledger->client[id].tail);
    dead_letters_note(e);
    rows_check();
    actors_check(e);
}
