/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/memory_count.h"

#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/supervisor/turns.h"
#include "proto/segment_layout.h"

#define MEMORY_COUNT_SEGMENT_MOST (UINT64_C(1) << 46)

static void memory_count_set_ranges(struct file_part *ranges, const struct segment_header *header)
{
    const uint64_t bounds[] = { 0,
                                header->actors_offset,
                                header->undos_offset,
                                header->outboxes_offset,
                                header->dlq_offset,
                                header->backlogs_offset };
    uint64_t backlog = (header->windows_offset - header->backlogs_offset) / ODEON_PORTS_MAX;

    for (unsigned i = 0; i < MEMORY_RANGE_BACKLOGS; i++)
        ranges[i] = (struct file_part){ .from = bounds[i], .to = bounds[i + 1] };
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        ranges[MEMORY_RANGE_BACKLOGS + i] =
            (struct file_part){ .from = header->backlogs_offset + i * backlog,
                                .to = header->backlogs_offset + (i + 1) * backlog };
    ranges[MEMORY_RANGES - 1] =
        (struct file_part){ .from = header->windows_offset, .to = UINT64_MAX };
}

/* The header is the executor's: one that makes no sense is not relied on. */
static bool memory_count_makes_sense(const struct segment_header *header)
{
    return header->magic == SEGMENT_MAGIC && header->version == SEGMENT_VERSION &&
           header->actors_offset <= header->undos_offset &&
           header->undos_offset <= header->outboxes_offset &&
           header->outboxes_offset <= header->dlq_offset &&
           header->dlq_offset <= header->backlogs_offset &&
           header->backlogs_offset <= header->windows_offset &&
           header->windows_offset < MEMORY_COUNT_SEGMENT_MOST;
}

static void memory_count_begin(struct memory_count *count)
{
    struct segment_header header;

    for (size_t i = 0; i < MEMORY_RANGES; i++)
        count->ranges[i] = (struct file_part){ 0 };
    if (pread(count->fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
        memory_count_makes_sense(&header))
        memory_count_set_ranges(count->ranges, &header);
    else
        count->ranges[MEMORY_TABLES].to = UINT64_MAX;
    file_pages_begin(&count->pages, count->fd, count->ranges, MEMORY_RANGES);
}

static void memory_count_tell(struct memory_asker *asker)
{
    for (struct memory_asker *next; asker; asker = next) {
        next = asker->next;
        asker->done(asker);
    }
}

static void memory_count_end(struct memory_count *count)
{
    struct memory_figures *figures = &count->figures;

    for (unsigned i = 0; i < MEMORY_QUEUES; i++)
        figures->parts[i] = count->ranges[i].bytes;
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        figures->backlogs[i] = count->ranges[MEMORY_RANGE_BACKLOGS + i].bytes;
    figures->parts[MEMORY_QUEUES] = count->ranges[MEMORY_RANGES - 1].bytes;
}

static void memory_count_on_idle(uv_idle_t *idle);

/* memory_count.MC1 */
static void memory_count_go_on(struct memory_count *count)
{
    check("memory_count.MC1", !count->going_on && count->asked == NULL);
    count->asked = count->next;
    count->next = NULL;
    count->going_on = count->asked != NULL;
    if (!count->going_on) {
        uv_idle_stop(&count->idle);
        return;
    }
    memory_count_begin(count);
    uv_idle_start(&count->idle, memory_count_on_idle);
}

static void memory_count_on_idle(uv_idle_t *idle)
{
    struct memory_count *count = idle->data;
    struct memory_asker *asked = count->asked;

    turns_begin_piece("counting memory");
    if (!file_pages_step(&count->pages))
        return;
    memory_count_end(count);
    count->asked = NULL;
    count->going_on = false;
    memory_count_go_on(count);
    memory_count_tell(asked);
}

void memory_count_init(struct memory_count *count, uv_loop_t *loop)
{
    uv_idle_init(loop, &count->idle);
    count->idle.data = count;
    count->asked = count->next = NULL;
    count->going_on = false;
}

void memory_count_fini(struct memory_count *count)
{
    struct memory_asker *asked = count->asked, *next = count->next;

    count->asked = count->next = NULL;
    count->going_on = false;
    uv_close((uv_handle_t *)&count->idle, NULL);
    memory_count_tell(asked); /* memory_count.MC2 */
    memory_count_tell(next);
}

void memory_count_ask(struct memory_count *count, int fd, struct memory_asker *asker)
{
    count->fd = fd;
    asker->next = count->next;
    count->next = asker;
    if (!count->going_on)
        memory_count_go_on(count);
}

const struct memory_figures *memory_count_get(const struct memory_count *count)
{
    return &count->figures;
}
