/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/letters.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/stuck/letter_marks.h"

/* One record of the store. */
struct letter {
    const struct segment_dead_letter *header;
    const struct envelope *envelope;
    uint64_t size;
};

static bool letter_at(const uint8_t *base, uint64_t at, uint64_t end, struct letter *ret)
{
    if (at >= end)
        return false;
    ret->header = (const struct segment_dead_letter *)(base + at);
    ret->envelope = (const struct envelope *)(ret->header + 1);
    ret->size = sizeof(*ret->header) + envelope_record_size(ret->envelope);
    return true;
}

static struct segment_queue *letters_queue(const struct engine *e)
{
    return &e->segment.queues[e->segment.dead_letters];
}

/* A walk over the letters, under their lock: from that of the id `from` on, or a little before. */
struct letters_walk {
    struct letter_marks *marks;
    const uint8_t *base;
    uint64_t at, end;
};

static struct letters_walk letters_walk_begin(struct engine *e, uint64_t from)
{
    struct segment_queue *queue = letters_queue(e);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    const struct letter_mark *mark = letter_marks_find(&e->letter_marks, from);
    struct letters_walk walk = { .marks = &e->letter_marks,
                                 .base =
                                     segment_window(&e->segment, e->segment.dead_letters, active),
                                 .at = mark ? mark->at : 0,
                                 .end = load_relaxed(&queue->len[active]) };
    struct letter letter;
    engine_check("letter_marks.LM1", !mark || (letter_at(walk.base, walk.at, walk.end, &letter) &&
                                               letter.header->id == mark->id));
    return walk;
}

/* False: there are no more. */
static bool letters_walk_next(struct letters_walk *walk, struct letter *ret)
{
    if (!letter_at(walk->base, walk->at, walk->end, ret))
        return false;
    letter_marks_note(walk->marks, ret->header->id, walk->at);
    walk->at += ret->size;
    return true;
}

static void letters_describe(const struct letter *letter, struct engine_dead_letter *ret)
{
    const struct envelope *envelope = letter->envelope;
    *ret = (struct engine_dead_letter){
        .id = letter->header->id,
        .time_ns = letter->header->time_ns,
        .to = envelope->to,
        .from = envelope->from,
        .actor_type = letter->header->actor_type,
        .message_type = envelope->type,
        .reason = envelope->behaviour,
        .attempts = envelope->attempts,
        .size = envelope_prefix_fits(envelope) ? envelope_payload_size(envelope) : 0,
    };
}

size_t engine_dead_letters_list(struct engine *e, uint64_t from, struct engine_dead_letter *rows,
                                size_t n, bool *ret_more)
{
    struct segment_queue *queue = letters_queue(e);
    struct letter letter;
    size_t found = 0;
    *ret_more = false;
    queue_lock(queue, e->control->id);
    struct letters_walk walk = letters_walk_begin(e, from);
    while (!*ret_more && letters_walk_next(&walk, &letter)) {
        if (letter.header->id < from)
            continue;
        *ret_more = found == n;
        if (!*ret_more)
            letters_describe(&letter, &rows[found++]);
    }
    queue_unlock(queue);
    return found;
}

int engine_dead_letter_get(struct engine *e, uint64_t id, struct engine_dead_letter *ret,
                           uint8_t payload[ODEON_PAYLOAD_MAX])
{
    struct segment_queue *queue = letters_queue(e);
    struct letter letter;
    int r = -ENOENT;
    queue_lock(queue, e->control->id);
    struct letters_walk walk = letters_walk_begin(e, id);
    while (r < 0 && letters_walk_next(&walk, &letter) && letter.header->id <= id) /* letters.DL2 */
        if (letter.header->id == id) {
            letters_describe(&letter, ret);
            memcpy(payload, envelope_payload(letter.envelope), ret->size);
            r = 0;
        }
    queue_unlock(queue);
    return r;
}

bool engine_dead_letters_exist(struct engine *e, const uint64_t *ids, size_t n,
                               uint64_t *ret_missing)
{
    struct segment_queue *queue = letters_queue(e);
    struct letter letter;
    size_t i = 0;
    queue_lock(queue, e->control->id);
    struct letters_walk walk = letters_walk_begin(e, n ? ids[0] : 0);
    while (i < n && letters_walk_next(&walk, &letter)) {
        if (letter.header->id > ids[i])
            break; /* letters.DL2: it does not come any more */
        while (i < n && ids[i] == letter.header->id)
            i++;
    }
    queue_unlock(queue);
    if (i < n)
        *ret_missing = ids[i];
    return i == n;
}

/* ---- taking out */

struct sweep {
    const uint64_t *ids; /* rising; n 0: all */
    size_t n, passed;    /* passed: so many are below the letter that is looked at */
    bool replay;
    actor_ref to; /* instead of the receiver; 0: the receiver */
    struct engine_dead_letters_done *done;
};

/* Letters are asked for in the order of their ids, which rise (letters.DL2). */
static bool letters_is_chosen(struct sweep *sweep, uint64_t id)
{
    while (sweep->passed < sweep->n && sweep->ids[sweep->passed] < id)
        sweep->passed++;
    return sweep->n == 0 || (sweep->passed < sweep->n && sweep->ids[sweep->passed] == id);
}

/* Into the control thread's outbox, as new.  False: it stays. */
static bool letters_replay(struct engine *e, const struct sweep *sweep, const struct letter *letter)
{
    struct worker *w = e->control;
    actor_ref to = sweep->to ? sweep->to : letter->envelope->to;
    uint32_t slot = actor_ref_slot(to);
    uint64_t key = slot < e->config.actors_max ? load_relaxed(&e->actors.table[slot].key) : 0,
             size = envelope_record_size(letter->envelope);
    if (actor_key_generation(key) != actor_ref_generation(to) || !actor_key_lives(key)) {
        sweep->done->gone++;
        return false;
    }
    if (!outbox_look_for_room(w, actor_key_destination(key))) {
        sweep->done->full++;
        return false;
    }
    /* behind the first that does not fit none goes: it would overtake that one */
    if (sweep->done->more || !outbox_fits(w, size)) {
        sweep->done->more = true;
        return false;
    }
    struct envelope *out = outbox_append(w, actor_key_destination(key), size);
    memcpy(out, letter->envelope, size);
    out->to = to;
    out->flags &= ENVELOPE_REPLY;
    out->attempts = 0;
    out->behaviour = BEHAVIOUR_NONE; /* it was the reason */
    return true;
}

static void letters_sel_store(struct segment_queue *queue, unsigned active)
{
    store_release(&queue->sel, active ? SEL_ACTIVE : 0);
    crash_order();
    store_relaxed(&queue->len[active ^ 1], 0);
    crash_order();
}

void letters_redo(struct engine *e)
{
    const struct segment_commit *slot =
        segment_commit_valid(&e->segment.workers[e->segment.n_ids - 1]);
    if (slot->redo && slot->redo_how == COMMIT_LETTERS)
        STEP(letters_redo, letters_sel_store(letters_queue(e), (unsigned)slot->redo - 1));
}

/* The whole pages of a buffer that is not the active one any more. */
static void letters_give_back(struct engine *e, unsigned buffer)
{
    const uint64_t page = e->segment.page_bytes;
    uint64_t base =
        (uint64_t)(uintptr_t)segment_window(&e->segment, e->segment.dead_letters, buffer);
    uint64_t from = (base + page - 1) & ~(page - 1);
    uint64_t to = (base + segment_window_bytes(&e->segment, e->segment.dead_letters)) & ~(page - 1);
    if (to > from)
        (void)madvise((void *)(uintptr_t)from, to - from, MADV_REMOVE);
}

static void letters_sweep_run(struct engine *e, struct sweep *sweep)
{
    struct worker *w = e->control;
    struct segment_queue *queue = letters_queue(e);
    struct letter letter;
    uint64_t kept = 0;
    queue_lock(queue, w->id);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    const uint8_t *from = segment_window(&e->segment, e->segment.dead_letters, active);
    uint8_t *to = segment_window(&e->segment, e->segment.dead_letters, active ^ 1);
    uint64_t end = load_relaxed(&queue->len[active]);
    for (uint64_t at = 0; letter_at(from, at, end, &letter); at += letter.size) {
        if (letters_is_chosen(sweep, letter.header->id) &&
            (!sweep->replay || letters_replay(e, sweep, &letter))) {
            sweep->done->done++;
            continue;
        }
        memcpy(to + kept, letter.header, letter.size);
        kept += letter.size;
    }
    store_relaxed(&queue->len[active ^ 1], kept); /* of the inactive buffer: nobody's yet */
    crash_order();
    POINT(letters_kept, queue, active ^ 1);
    commit_flip(w, 0, 0, 0, w->outbox.length, (active ^ 1) + 1, COMMIT_LETTERS); /* letters.DL1 */
    POINT(outbox);
    letters_sel_store(queue, active ^ 1);
    letter_marks_drop(&e->letter_marks);
    queue_unlock(queue);
    flush_from(w, 1);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    outbox_reset(w);
    letters_give_back(e, active);
    stat_add(w, sweep->replay ? STAT_dead_letters_replayed : STAT_dead_letters_purged,
             sweep->done->done);
    stat_add(w, STAT_messages_sent, w->outbox.n_logged);
    w->outbox.n_logged = w->outbox.n_flushed = 0;
}

void engine_dead_letters_purge(struct engine *e, const uint64_t *ids, size_t n,
                               struct engine_dead_letters_done *ret_done)
{
    *ret_done = (struct engine_dead_letters_done){ 0 };
    letters_sweep_run(e, &(struct sweep){ .ids = ids, .n = n, .done = ret_done });
}

void engine_dead_letters_replay(struct engine *e, const uint64_t *ids, size_t n, actor_ref to,
                                struct engine_dead_letters_done *ret_done)
{
    *ret_done = (struct engine_dead_letters_done){ 0 };
    letters_sweep_run(
        e, &(struct sweep){ .ids = ids, .n = n, .replay = true, .to = to, .done = ret_done });
}
