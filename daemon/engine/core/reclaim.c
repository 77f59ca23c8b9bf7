/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/reclaim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/engine/base/points.h"

/* reclaim.M2 */
static uint32_t reclaim_pages_at_start(const struct engine *e, uint64_t window_bytes)
{
    return load_relaxed(&e->segment.header->boots) > 0 ? reclaim_pages(window_bytes) : 0;
}

int reclaim_open(struct engine *e)
{
    const struct segment *segment = &e->segment;
    size_t n = 2ul * segment->dead_letters;
    e->windows = aligned_alloc(64, n * sizeof(*e->windows));
    if (!e->windows)
        return -ENOMEM;
    memset((void *)e->windows, 0, n * sizeof(*e->windows));
    for (uint32_t i = 0; i < n; i++)
        e->windows[i].resident = reclaim_pages_at_start(e, segment->header->window_bytes);
    for (uint32_t id = 0; id < segment->n_ids; id++) {
        e->workers[id]->flush.window.resident =
            reclaim_pages_at_start(e, segment->header->outbox_bytes);
        e->workers[id]->allowance =
            (struct allowance){ .pages = RECLAIM_ALLOWANCE, .at = ticks_now() };
    }
    return 0;
}

void reclaim_close(struct engine *e)
{
    free(e->windows);
    e->windows = NULL;
}

void reclaim_exchange(struct window_history *a, struct window_history *b)
{
    uint32_t charged_a = load_relaxed(&a->charged), charged_b = load_relaxed(&b->charged);
    uint32_t given = a->given;
    struct window_history c;
    memcpy(&c, a, sizeof(c));
    memcpy(a, b, offsetof(struct window_history, charged));
    memcpy(b, &c, offsetof(struct window_history, charged));
    memcpy(a->notes, b->notes, sizeof(a->notes));
    memcpy(b->notes, c.notes, sizeof(b->notes));
    for (uint32_t i = 0; i < BUDGET_NOTES; i++) {
        uint64_t time = load_relaxed(&a->times[i]);
        store_relaxed(&a->times[i], load_relaxed(&b->times[i]));
        store_relaxed(&b->times[i], time);
    }
    a->given = b->given;
    b->given = given;
    store_relaxed(&a->charged, charged_b);
    store_relaxed(&b->charged, charged_a);
}

void reclaim_grow(struct worker *w, struct window_history *history, uint32_t touched)
{
    uint32_t grown = touched - history->resident,
             again = grown < history->given ? grown : history->given;
    history->resident = touched;
    history->given -= again;
    w->allowance.pages -= again;
}

/* Nothing but memory depends on the clock: where it stands still, a load that has used its
 * allowance up keeps its windows until memory is short. */
static bool reclaim_may(struct worker *w)
{
    struct allowance *allowance = &w->allowance;
    uint64_t now = ticks_now(), ms = ticks_to_ns(now - allowance->at) / 1000000;
    if (ms > 0) {
        uint64_t room = (uint64_t)(RECLAIM_ALLOWANCE - allowance->pages);
        allowance->at = now;
        if (ms > room / RECLAIM_PAGES_MS)
            allowance->pages = RECLAIM_ALLOWANCE;
        else
            allowance->pages += (int64_t)(ms * RECLAIM_PAGES_MS);
    }
    return allowance->pages > 0;
}

/* Is it the time to give something back of the window? If not, its next runs are looked at. */
static bool reclaim_is_allowed(struct worker *w, struct window_history *history)
{
    bool allowed = budget_is_pressed(w->engine) || reclaim_may(w);
    if (!allowed)
        history->little = history->need = 0;
    return allowed;
}

/* What has grown without being noted is more than that: at most what is behind. */
static uint32_t reclaim_given(const struct window_history *history, uint64_t window_bytes,
                              uint32_t behind, bool known)
{
    uint64_t given = (uint64_t)history->given + (known ? history->resident - behind : 0),
             most = reclaim_pages(window_bytes) - behind;
    return (uint32_t)(given < most ? given : most);
}

/* Everything behind twice the recent need. madvise(MADV_REMOVE) is fallocate(FALLOC_FL_PUNCH_HOLE)
 * on whatever is mapped there: it needs no descriptor of the segment, which the engine does not
 * keep. */
static void reclaim_give_back(struct worker *w, struct window_history *history, uint8_t *base,
                              uint64_t window_bytes, uint32_t keep)
{
    struct engine *e = w->engine;
    uint32_t need = budget_is_pressed(e) ? 0 : 2 * history->need;
    uint32_t behind = need > keep ? need : keep;
    engine_check("reclaim.M2", behind < history->resident);
    behind = budget_whole_pages(e, behind);
    uint64_t bytes =
        behind < history->resident ? (uint64_t)(history->resident - behind) * RECLAIM_PAGE : 0;
    bool known = history->resident < reclaim_pages(window_bytes);
    if (bytes > 0 && madvise(base + (uint64_t)behind * RECLAIM_PAGE, bytes, MADV_REMOVE) == 0) {
        stat_add(w, STAT_windows_reclaimed, 1);
        stat_add(w, STAT_bytes_reclaimed, known ? bytes : 0);
        history->given = reclaim_given(history, window_bytes, behind, known);
    }
    /* refused (locked): not tried until it has grown again */
    if (bytes > 0)
        history->resident = behind;
    history->need = 0;
    history->little = 0;
    budget_give_back(e, history, behind);
}

void reclaim_queue(struct worker *w, uint32_t queue, unsigned buffer)
{
    const struct segment *segment = &w->engine->segment;
    const struct segment_queue *emptied = &segment->queues[queue];
    engine_check("reclaim.M1", !queue_has_batch(load_relaxed(&emptied->sel)) &&
                                   buffer != queue_active(load_relaxed(&emptied->sel)) &&
                                   load_relaxed(&emptied->len[buffer]) == 0);
    struct window_history *history = &w->engine->windows[2 * queue + buffer];
    if (reclaim_is_allowed(w, history))
        reclaim_give_back(w, history, segment_window(segment, queue, buffer),
                          segment->header->window_bytes, RECLAIM_QUEUE_PAGES);
}

void reclaim_outbox(struct worker *w)
{
    if (reclaim_is_allowed(w, &w->flush.window))
        reclaim_give_back(w, &w->flush.window, w->outbox.log,
                          w->engine->segment.header->outbox_bytes, RECLAIM_OUTBOX_PAGES);
}

static bool reclaim_buffer(struct worker *w, uint32_t queue, unsigned buffer)
{
    const struct segment *segment = &w->engine->segment;
    struct engine *e = w->engine;
    struct window_history *history = &e->windows[2 * queue + buffer];
    bool freed = budget_has_notes(history);
    uint32_t charged = load_relaxed(&history->charged);
    budget_notes_clear(e, history);
    if (charged == 0)
        return freed;
    if (history->resident < charged + budget_free_pages(e))
        history->resident = charged + budget_free_pages(e);
    reclaim_give_back(w, history, segment_window(segment, queue, buffer),
                      segment_window_bytes(segment, queue), RECLAIM_QUEUE_PAGES);
    return true;
}

bool reclaim_idle(struct worker *w, uint32_t queue)
{
    struct segment_queue *idle = &w->engine->segment.queues[queue];
    bool freed = false;
    queue_lock(idle, w->id);
    if (!queue_has_work(idle)) {
        freed = reclaim_buffer(w, queue, 0);
        freed = reclaim_buffer(w, queue, 1) || freed;
    }
    queue_unlock(idle);
    return freed;
}

bool reclaim_backlog(struct worker *w, uint32_t backlog)
{
    const struct segment_queue *emptied = &w->engine->segment.queues[backlog];
    unsigned buffer = queue_active(load_relaxed(&emptied->sel)) ^ 1;
    engine_check("reclaim.M1", !queue_has_batch(load_relaxed(&emptied->sel)) &&
                                   load_relaxed(&emptied->len[buffer]) == 0);
    return reclaim_buffer(w, backlog, buffer);
}

/* How far a buffer's records reach. */
static uint64_t reclaim_held_bytes(const struct segment_queue *queue, unsigned buffer)
{
    uint32_t sel = load_relaxed(&queue->sel);
    uint64_t length = load_relaxed(&queue->len[buffer]), wrap = load_relaxed(&queue->wrap);
    if (buffer == queue_active(sel))
        return length;
    if (!queue_has_batch(sel))
        return 0;
    return wrap > length ? wrap : length;
}

/* True: nothing is left behind the first `pages`. */
static bool reclaim_trim(const struct engine *e, uint8_t *base, uint64_t window_bytes,
                         uint32_t pages)
{
    uint64_t kept = (uint64_t)budget_whole_pages(e, pages) * RECLAIM_PAGE;
    return kept >= window_bytes || madvise(base + kept, window_bytes - kept, MADV_REMOVE) == 0;
}

static void reclaim_start_window(struct engine *e, uint32_t queue, unsigned buffer)
{
    const struct segment *segment = &e->segment;
    struct window_history *history = &e->windows[2 * queue + buffer];
    uint64_t held = reclaim_held_bytes(&segment->queues[queue], buffer);
    uint32_t pages = held ? reclaim_pages(held + RECLAIM_REACH) : 0;
    if (load_relaxed(&segment->header->boots) > 1 &&
        reclaim_trim(e, segment_window(segment, queue, buffer),
                     segment_window_bytes(segment, queue), pages))
        history->resident = pages;
    budget_notes_clear(e, history);
    budget_touch(e, history, held);
}

static void reclaim_account_record(struct engine *e, struct window_history *window,
                                   uint32_t account, const struct envelope *envelope, uint64_t size)
{
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(envelope->to)].key);
    if (budget_is_accounted(e))
        budget_note(e, window, account, size);
    if (!load_relaxed(&e->budget.quota_ns) ||
        actor_key_generation(key) != actor_ref_generation(envelope->to))
        return;
    /* nothing has been timed by this executor: a guess, with which its ports wait for the first */
    uint64_t ns = budget_time_of(e, key, envelope->type).ns;
    if (ns)
        budget_time_note(e, window, account, ns);
}

static void reclaim_account_records(struct engine *e, uint32_t queue, unsigned buffer, uint64_t at,
                                    uint64_t end)
{
    const uint8_t *base = segment_window(&e->segment, queue, buffer);
    for (uint64_t size; at < end; at += size) {
        const struct envelope *envelope = (const struct envelope *)(base + at);
        uint32_t slot = actor_ref_slot(envelope->from);
        size = envelope_record_size(envelope);
        if (slot < ODEON_PORTS_MAX && e->segment.ports[slot].ref == envelope->from &&
            e->ports.table[slot].account)
            reclaim_account_record(e, &e->windows[2 * queue + buffer], e->ports.table[slot].account,
                                   envelope, size);
    }
}

/* Whose records wait in a message queue. */
static void reclaim_account_queue(struct engine *e, uint32_t id)
{
    const struct segment_queue *queue = &e->segment.queues[id];
    uint32_t sel = load_relaxed(&queue->sel);
    unsigned active = queue_active(sel);
    reclaim_account_records(e, id, active, 0, load_relaxed(&queue->len[active]));
    if (!queue_has_batch(sel))
        return;
    uint64_t tail = load_relaxed(&queue->len[active ^ 1]), cursor = load_relaxed(&queue->cursor),
             wrap = load_relaxed(&queue->wrap);
    reclaim_account_records(e, id, active ^ 1, cursor, wrap ? wrap : tail);
    if (wrap)
        reclaim_account_records(e, id, active ^ 1, 0, tail);
}

/* Is there a port whose user's time is bound? Else nothing is looked for. */
static bool reclaim_has_bound_users(const struct engine *e)
{
    bool any = false;
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        any = any || e->ports.table[id].account;
    return any && load_relaxed(&e->budget.quota_ns) > 0;
}

void reclaim_start(struct engine *e)
{
    const struct segment *segment = &e->segment;
    for (uint32_t id = 0; id < segment->dead_letters; id++) {
        reclaim_start_window(e, id, 0);
        reclaim_start_window(e, id, 1);
    }
    for (uint32_t id = 0; id < segment->n_ids; id++)
        if (load_relaxed(&segment->header->boots) > 1 &&
            reclaim_trim(e, segment_outbox(segment, id), segment->header->outbox_bytes, 0))
            e->workers[id]->flush.window.resident = 0;
    if (!budget_is_accounted(e) && !reclaim_has_bound_users(e))
        return;
    for (uint32_t id = 0; id < segment->n_queues; id++)
        reclaim_account_queue(e, id);
    if (!budget_is_accounted(e))
        return;
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        for (unsigned buffer = 0; e->ports.table[id].account && buffer < 2; buffer++) {
            uint32_t backlog = segment_port_destination(segment, id);
            uint64_t held = reclaim_held_bytes(&segment->queues[backlog], buffer);
            if (held)
                budget_note(e, &e->windows[2 * backlog + buffer], e->ports.table[id].account, held);
        }
}
