/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of the scenes, which have no process of their own: whoever lives in the world posts
 * and reads for them, as their books say. */
#include <string.h>

#include <odeon/names.h>

#include "crash.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/core/masks.h"

void client_books(uint32_t id, actor_ref to, uint32_t row, uint32_t n, bool correlated)
{
    struct client_book *book = &ledger->client[id];
    for (uint32_t i = 0; i < n; i++)
        book->post[book->n_posts++] =
            (struct post){ .to = to, .row = row, .correlated = correlated };
}

static void ring_bell(struct life *life, uint32_t id)
{
    struct engine *e = life->engine;
    uint32_t source = engine_source_of_port(e, id);
    uint32_t owner = own_worker(load_relaxed(e->sources[source].own));
    if (owner != OWN_NOBODY)
        /* what a worker does that finds the doorbell rung */
        mask_set(e->workers[owner], source);
}

/* One moment for all, which is far ahead. */
#define POST_LATER_NS UINT64_C(1000000000000000000)

bool client_post(struct life *life, uint32_t id)
{
    struct client_book *book = &ledger->client[id];
    if (!book->open || book->posted == book->n_posts)
        return false;
    const struct post *post = &book->post[book->posted];
    bool undo = ledger->row[post->row].flags & ROW_UNDO,
         down = undo || ledger->row[post->row].flags & ROW_DOWN;
    unsigned later = ledger->row[post->row].flags & ROW_LATER ? PREFIX_AFTER : 0,
             prefix = later | (post->correlated ? PREFIX_CORRELATION : 0);
    uint32_t number = (uint32_t)++book->next[post->row];
    uint64_t correlation = (uint64_t)(post->row - undo) << 32 | number;
    struct envelope *at =
        (struct envelope *)(life->port[id].submission + (book->tail & (PORT_RING - 1)));
    size_t size = down ? 0 : item_fill(envelope_payload_behind(at, prefix), post->row, number);
    *at = (struct envelope){ .to = post->to,
                             .type = undo   ? MESSAGE_TYPE_PORT_DEMONITOR
                                     : down ? MESSAGE_TYPE_PORT_DOWN
                                            : item_type,
                             .length = (uint16_t)(envelope_prefix_bytes(prefix) + size),
                             .behaviour = BEHAVIOUR_NONE,
                             .prefix = (uint8_t)prefix };
    at->flags |= ledger->row[post->row].flags & ROW_URGENT ? ENVELOPE_URGENT : 0;
    if (post->correlated)
        envelope_word_put(at, PREFIX_CORRELATION, correlation);
    if (later)
        envelope_word_put(at, PREFIX_AFTER, POST_LATER_NS);
    book->posted++;
    book->tail += envelope_record_size(at);
    store_release(&life->port[id].words->submission_tail, book->tail);
    full_barrier();
    if (load_relaxed(&life->port[id].executor->need_wakeup))
        ring_bell(life, id);
    return true;
}

/* An end: of one that had ended before, that begins anew, or whose last word has come, in the row
 * WATCHER_ITEMS before. */
static void down_note(uint32_t id, const struct envelope *envelope)
{
    struct down down;
    memcpy(&down, envelope_payload(envelope), sizeof(down));
    uint32_t row = (uint32_t)(down.monitor >> 32);
    if (row < WATCHER_ITEMS || row >= N_ROWS || !(ledger->row[row].flags & ROW_DOWN) ||
        envelope->from != down.ref)
        fail("port %u is told of an end that it does not want to know of", id);
    if (down.reason != REASON_FINISHED && down.reason != REASON_BEGUN_ANEW &&
        down.reason != REASON_NO_SUCH_ACTOR)
        fail("port %u is told of an end with reason %u", id, down.reason);
    if (down.reason == REASON_FINISHED && ledger->row[row - WATCHER_ITEMS].last == 0)
        fail("port %u is told of an end before the last word", id);
    row_note(row, (uint32_t)down.monitor, false);
}

static void delivery_note(uint32_t id, const struct envelope *envelope)
{
    if (envelope->to != ledger->client[id].ref)
        fail("port %u gets what is for %llx", id, (unsigned long long)envelope->to);
    if (envelope->type == MESSAGE_TYPE_REFUSAL) {
        const struct refusal *refusal = envelope_payload(envelope);
        uint32_t row = (uint32_t)(refusal->correlation >> 32);
        if (row >= N_ROWS || !(ledger->row[row].flags & ROW_REFUSED))
            fail("port %u: a refusal of row %u, %s", id, row, odeon_reason_name(refusal->reason));
        row_note(row, (uint32_t)refusal->correlation, false);
        return;
    }
    if (envelope->type == MESSAGE_TYPE_PORT_DOWN) {
        down_note(id, envelope);
        return;
    }
    struct item item = item_take(envelope_payload(envelope), envelope_payload_size(envelope));
    if (!(ledger->row[item.row].flags & ROW_CLIENT))
        fail("port %u gets row %u", id, item.row);
    row_note(item.row, item.number, false);
}

bool client_read(struct life *life, uint32_t id)
{
    struct client_book *book = &ledger->client[id];
    uint64_t tail = book->open ? load_acquire(&life->port[id].executor->delivery_tail) : book->head,
             from = book->head;
    if (tail - book->head > PORT_RING)
        fail("port %u: the delivery ring goes from %llu to %llu", id,
             (unsigned long long)book->head, (unsigned long long)tail);
    while (book->head != tail) {
        const struct envelope *at =
            (const struct envelope *)(life->port[id].delivery + (book->head & (PORT_RING - 1)));
        delivery_note(id, at);
        book->head += envelope_record_size(at);
    }
    if (book->head == from)
        return false;
    store_release(&life->port[id].words->delivery_head, book->head);
    full_barrier();
    if (load_relaxed(&life->port[id].executor->backlog))
        ring_bell(life, id);
    return true;
}
