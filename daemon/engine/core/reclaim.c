/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/reclaim.h"

#include <errno.h>
#include <stdlib.h>
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
    e->windows = calloc(2ul * segment->n_queues, sizeof(*e->windows));
    if (!e->windows)
        return -ENOMEM;
    for (uint32_t i = 0; i < 2 * segment->n_queues; i++)
        e->windows[i].resident = reclaim_pages_at_start(e, segment->header->window_bytes);
    for (uint32_t id = 0; id < segment->n_ids; id++)
        e->workers[id]->flush.window.resident =
            reclaim_pages_at_start(e, segment->header->outbox_bytes);
    return 0;
}

void reclaim_close(struct engine *e)
{
    free(e->windows);
    e->windows = NULL;
}

/* Everything behind twice the recent need. madvise(MADV_REMOVE) is fallocate(FALLOC_FL_PUNCH_HOLE)
 * on whatever is mapped there: it needs no descriptor of the segment, which the engine does not
 * keep. */
static void reclaim_give_back(struct worker *w, struct window_history *history, uint8_t *base,
                              uint64_t window_bytes, uint32_t keep)
{
    uint32_t behind = 2 * history->need > keep ? 2 * history->need : keep;
    uint64_t bytes = (uint64_t)(history->resident - behind) * RECLAIM_PAGE;
    engine_check("reclaim.M2", behind < history->resident);
    bool known = history->resident < reclaim_pages(window_bytes);
    if (madvise(base + (uint64_t)behind * RECLAIM_PAGE, bytes, MADV_REMOVE) == 0) {
        stat_add(w, STAT_windows_reclaimed, 1);
        stat_add(w, STAT_bytes_reclaimed, known ? bytes : 0);
    }
    /* refused (pages of another size, or locked): not tried until it has grown again */
    *history = (struct window_history){ .resident = behind };
}

void reclaim_queue(struct worker *w, uint32_t queue, unsigned buffer)
{
    const struct segment *segment = &w->engine->segment;
    const struct segment_queue *emptied = &segment->queues[queue];
    engine_check("reclaim.M1", !queue_has_batch(load_relaxed(&emptied->sel)) &&
                                   buffer != queue_active(load_relaxed(&emptied->sel)) &&
                                   load_relaxed(&emptied->len[buffer]) == 0);
    reclaim_give_back(w, &w->engine->windows[2 * queue + buffer],
                      segment_window(segment, queue, buffer), segment->header->window_bytes,
                      RECLAIM_QUEUE_PAGES);
}

void reclaim_outbox(struct worker *w)
{
    reclaim_give_back(w, &w->flush.window, w->outbox.log, w->engine->segment.header->outbox_bytes,
                      RECLAIM_OUTBOX_PAGES);
}
