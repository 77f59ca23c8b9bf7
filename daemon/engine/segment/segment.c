/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/page.h"
#include "daemon/engine/base/atomic.h"
#include "daemon/engine/base/points.h"

static uint64_t segment_page(const struct engine_config *config)
{
    return config->page_bytes ? config->page_bytes : page_bytes();
}

bool segment_page_is_good(const struct engine_config *config)
{
    uint64_t page = segment_page(config);
    return page >= SEGMENT_PAGE_LEAST && page <= SEGMENT_PAGE_MOST && (page & (page - 1)) == 0;
}

static uint64_t segment_round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) & ~(to - 1);
}

/* Of one buffer: policy drop-oldest lets it grow to twice the limit, until the port is run
 * (deliver.D5). */
static uint64_t segment_backlog_window(const struct segment_header *h)
{
    return 2 * h->backlog_bytes;
}

uint32_t segment_workers_max(const struct engine_config *config)
{
    return config->workers_max ? config->workers_max : config->n_workers;
}

void segment_layout(const struct engine_config *config, struct segment_header *h)
{
    const uint64_t page = segment_page(config);
    uint64_t at = segment_round_up(sizeof(*h), page);
    memset(h, 0, sizeof(*h));
    h->version = SEGMENT_VERSION;
    h->layout_hash = segment_layout_hash(page);
    h->workers_max = segment_workers_max(config);
    h->queues_per_worker = config->queues_per_worker;
    h->detached_max = config->detached_max;
    h->n_ids = h->workers_max + h->detached_max + 1;
    h->n_mailboxes =
        h->workers_max * (h->queues_per_worker + 2) + ODEON_FOLLOW_QUEUES + h->detached_max;
    h->n_queues = 2 * h->n_mailboxes;
    h->actors_max = config->actors_max;
    h->limit_bytes = config->limit_bytes;
    h->outbox_bytes = segment_round_up(config->outbox_bytes, page);
    h->backlog_bytes = segment_round_up(config->backlog_bytes, page);
    h->dlq_bytes = segment_round_up(config->dlq_bytes, page);
    h->durable_bytes = config->durable_bytes;
    h->answer_key[0] = config->answer_key[0];
    h->answer_key[1] = config->answer_key[1];
    h->timer_bytes = config->timers_max ? segment_round_up(config->timer_bytes, page) : 0;
    h->state_stride =
        config->durable_bytes
            ? segment_round_up(sizeof(struct segment_state) + config->durable_bytes, 64)
            : 0;
    h->undo_stride = segment_round_up(sizeof(struct segment_undo) + config->durable_bytes, 64);
    /* A sender is refused above the limit, and some only above twice the limit: all outboxes may
     * still come on top (outbox.B4). */
    h->window_bytes =
        segment_round_up(2 * h->limit_bytes + h->n_ids * h->outbox_bytes + ENVELOPE_SIZE_MAX, page);

#define PLACE(field, bytes) (h->field = at, at = segment_round_up(at + (uint64_t)(bytes), page))
    PLACE(workers_offset, h->n_ids * sizeof(struct segment_worker));
    PLACE(queues_offset, (h->n_queues + ODEON_PORTS_MAX + 1) * sizeof(struct segment_queue));
    PLACE(ports_offset, ODEON_PORTS_MAX * sizeof(struct segment_port));
    PLACE(message_types_offset, ODEON_MESSAGE_TYPES_MAX * sizeof(struct segment_message_type));
    PLACE(actor_types_offset, ODEON_ACTOR_TYPES_MAX * sizeof(struct segment_actor_type));
    PLACE(names_offset, ODEON_NAMES_MAX * sizeof(struct segment_name));
    PLACE(phases_offset, ODEON_PHASES_MAX * sizeof(struct segment_phase));
    PLACE(actors_offset, h->actors_max * sizeof(struct segment_actor));
    PLACE(args_offset, (uint64_t)h->actors_max * ODEON_SPAWN_ARGS_MAX);
    PLACE(coming.timers.offset, config->timers_max * sizeof(struct segment_timer));
    h->coming.timers.count = config->timers_max;
    PLACE(timer_messages_offset, TIMER_CLASSES * h->timer_bytes);
    PLACE(undos_offset, h->n_ids * h->undo_stride);
    PLACE(states_offset, h->actors_max * h->state_stride);
    PLACE(outboxes_offset, h->n_ids * h->outbox_bytes);
    PLACE(dlq_offset, 2 * h->dlq_bytes);
    PLACE(backlogs_offset, 2 * segment_backlog_window(h) * ODEON_PORTS_MAX);
    PLACE(windows_offset, 2 * h->window_bytes * h->n_queues);
#undef PLACE
    h->size = at;
}

uint64_t segment_size(const struct engine_config *config)
{
    struct segment_header h;
    segment_layout(config, &h);
    return h.size;
}

uint64_t segment_message_window_bytes(const struct engine_config *config)
{
    struct segment_header h;
    segment_layout(config, &h);
    return h.window_bytes;
}

/* Before its sizes are compared: in another layout they are elsewhere. */
static int segment_refuse_version(uint32_t theirs, const char **reterr_text)
{
    if (theirs > SEGMENT_VERSION)
        *reterr_text = "the segment is of a layout that is newer than this build's, which is 2: "
                       "the segment is "
                       "kept as it is; start a build of that layout";
    else if (theirs >= SEGMENT_VERSION_TIMERLESS)
        *reterr_text =
            "the segment is of an earlier build of layout 2, which knew less: it is kept as "
            "it "
            "is; start the build that made it and stop that, which drains it; then start this one";
    else
        *reterr_text =
            "the segment is of layout 1 (before ABI 2), this build has layout 2: it is kept as it "
            "is; start the build that made it and stop that, which drains it; then start this one";
    return -EPROTO;
}

/* The same of both ways to meet another layout. */
static int segment_refuse_layout(uint64_t theirs, const char **reterr_text)
{
    switch (segment_layout_page(theirs)) {
    case 0:
        *reterr_text = "the segment was made by a build with another layout";
        break;
    case 4 << 10:
        *reterr_text = "the segment is laid out for pages of 4 KiB, and this machine has others";
        break;
    case 16 << 10:
        *reterr_text = "the segment is laid out for pages of 16 KiB, and this machine has others";
        break;
    case 64 << 10:
        *reterr_text = "the segment is laid out for pages of 64 KiB, and this machine has others";
        break;
    default:
        *reterr_text = "the segment is laid out for pages of another size than this machine's";
    }
    return -EPROTO;
}

/* Sizes, and strides and offsets: all that follows from them. */
static bool segment_is_laid_out_as(const struct segment_header *theirs,
                                   const struct segment_header *ours)
{
    return memcmp(&theirs->version, &ours->version,
                  offsetof(struct segment_header, boots) -
                      offsetof(struct segment_header, version)) == 0;
}

static int segment_check(const struct segment_header *ours, const struct segment_header *theirs,
                         const char **reterr_text)
{
    if (theirs->version != ours->version)
        return segment_refuse_version(theirs->version, reterr_text);
    if (theirs->layout_hash != ours->layout_hash)
        return segment_refuse_layout(theirs->layout_hash, reterr_text);
    if (theirs->workers_max != ours->workers_max ||
        theirs->queues_per_worker != ours->queues_per_worker ||
        theirs->detached_max != ours->detached_max || theirs->n_ids != ours->n_ids ||
        theirs->n_queues != ours->n_queues || theirs->actors_max != ours->actors_max ||
        theirs->limit_bytes != ours->limit_bytes || theirs->outbox_bytes != ours->outbox_bytes ||
        theirs->backlog_bytes != ours->backlog_bytes || theirs->dlq_bytes != ours->dlq_bytes ||
        theirs->durable_bytes != ours->durable_bytes || theirs->timer_bytes != ours->timer_bytes ||
        theirs->coming.timers.count != ours->coming.timers.count || theirs->size != ours->size) {
        *reterr_text = "the segment was made with other sizes (workers-max, queues-per-worker, "
                       "detached, actors, timers or a bytes setting)";
        return -EPROTO;
    }
    if (!segment_is_laid_out_as(theirs, ours)) {
        *reterr_text = "the segment's header is damaged: its tables are not where they must be";
        return -EPROTO;
    }
    return 0;
}

static void segment_format_type(struct segment_message_type *type, const char *name, uint32_t size,
                                const char *fields)
{
    type->version = 1;
    type->size = size;
    strcpy(type->name, name);
    strcpy(type->fields, fields);
}

/* The service's own messages have the first entries. */
static void segment_format_types(struct segment_header *header,
                                 const struct segment_header *computed)
{
    struct segment_message_type *types =
        (struct segment_message_type *)((uint8_t *)header + computed->message_types_offset);
    segment_format_type(&types[MESSAGE_TYPE_NO_ANSWER], NO_ANSWER_NAME, sizeof(struct no_answer),
                        NO_ANSWER_FIELDS);
    segment_format_type(&types[MESSAGE_TYPE_DOWN], DOWN_NAME, sizeof(struct down), DOWN_FIELDS);
    store_relaxed(&header->n_message_types, MESSAGE_TYPE_FIRST_PLAIN);
}

/* The header is written in full before its magic: a kill in between leaves a segment that is
 * formatted again. */
static void segment_format(struct segment_header *header, const struct segment_header *computed)
{
    memcpy((uint8_t *)header + sizeof(header->magic),
           (const uint8_t *)computed + sizeof(header->magic),
           sizeof(*header) - sizeof(header->magic));
    segment_format_types(header, computed);
    store_relaxed(&header->n_actor_types, 1);
    store_relaxed(&header->n_phases, 1);
    store_relaxed(&header->slots_high, ODEON_PORTS_MAX);
    store_relaxed(&header->clean, 1);
    struct segment_worker *workers =
        (struct segment_worker *)((uint8_t *)header + computed->workers_offset);
    /* counts begin at 1: 0 is a record that is being filled */
    for (uint32_t id = 0; id < computed->n_ids; id++)
        store_relaxed(&workers[id].slot[0].what, commit_what(0, 1));
    struct segment_queue *queues =
        (struct segment_queue *)((uint8_t *)header + computed->queues_offset);
    for (uint32_t i = 0; i < 2 * computed->n_queues; i++)
        store_relaxed(&queues[i / 2].window[i % 2], i);
    crash_order();
    store_release(&header->magic, SEGMENT_MAGIC);
}

/* Grows a new file to its size; says of one that is too small whose it is. */
static int segment_make_room(int fd, const struct segment_header *computed,
                             const char **reterr_text)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size >= computed->size)
        return 0;
    struct {
        uint64_t magic;
        uint32_t version, n_ids;
        uint64_t layout_hash;
    } head = { 0 }; /* what begins with anything is not ours to grow */
    if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && head.magic != 0) {
        if (head.magic == SEGMENT_MAGIC && head.version != computed->version)
            return segment_refuse_version(head.version, reterr_text);
        if (head.magic == SEGMENT_MAGIC && head.layout_hash != computed->layout_hash)
            return segment_refuse_layout(head.layout_hash, reterr_text);
        *reterr_text = head.magic == SEGMENT_MAGIC
                           ? "the segment was made with other sizes (workers-max, "
                             "queues-per-worker, detached, actors, timers or a bytes setting)"
                           : "not an engine segment";
        return -EPROTO;
    }
    if (ftruncate(fd, (off_t)computed->size) < 0) {
        *reterr_text = "the segment is smaller than the configuration needs and cannot grow";
        return errno == EPERM ? -EPROTO : -errno;
    }
    return 0;
}

/* Formats a segment that nobody has used, and judges any other. */
static int segment_begin(struct segment_header *header, const struct segment_header *computed,
                         const char **reterr_text)
{
    uint64_t magic = load_acquire(&header->magic);
    if (magic == 0 && load_relaxed(&header->boots) == 0) {
        segment_format(header, computed);
        return 0;
    }
    *reterr_text = magic ? "not an engine segment"
                         : "the segment's header is damaged: it has been in use, and its magic "
                           "number is gone";
    return magic == SEGMENT_MAGIC ? segment_check(computed, header, reterr_text) : -EPROTO;
}

/* The header has bytes rounded up to pages. */
static uint64_t segment_unround(uint64_t wanted, uint64_t theirs, uint64_t page)
{
    return segment_round_up(wanted, page) == theirs ? wanted : theirs;
}

bool segment_config(int fd, const struct engine_config *wanted, struct engine_config *ret_config)
{
    const uint64_t page = segment_page(wanted);
    struct engine_config config = *wanted;
    struct segment_header theirs, computed;

    if (pread(fd, &theirs, sizeof(theirs), 0) != (ssize_t)sizeof(theirs) ||
        load_relaxed(&theirs.magic) != SEGMENT_MAGIC || theirs.version != SEGMENT_VERSION ||
        theirs.layout_hash != segment_layout_hash(page))
        return false;
    config.workers_max = theirs.workers_max;
    config.queues_per_worker = theirs.queues_per_worker;
    config.detached_max = theirs.detached_max;
    config.actors_max = theirs.actors_max;
    config.limit_bytes = theirs.limit_bytes;
    config.outbox_bytes = segment_unround(wanted->outbox_bytes, theirs.outbox_bytes, page);
    config.backlog_bytes = segment_unround(wanted->backlog_bytes, theirs.backlog_bytes, page);
    config.dlq_bytes = segment_unround(wanted->dlq_bytes, theirs.dlq_bytes, page);
    config.durable_bytes = theirs.durable_bytes;
    config.timers_max = (uint32_t)theirs.coming.timers.count;
    if (config.timers_max > 0)
        config.timer_bytes = segment_unround(wanted->timer_bytes, theirs.timer_bytes, page);
    segment_layout(&config, &computed);
    if (!segment_is_laid_out_as(&theirs, &computed))
        return false;
    *ret_config = config;
    return true;
}

static struct segment segment_at(uint8_t *base, const struct segment_header *computed)
{
    uint32_t pinned = computed->workers_max * computed->queues_per_worker;
    return (struct segment){
        .base = base,
        .size = computed->size,
        .page_bytes = segment_layout_page(computed->layout_hash),
        .header = (struct segment_header *)base,
        .workers = (struct segment_worker *)(base + computed->workers_offset),
        .queues = (struct segment_queue *)(base + computed->queues_offset),
        .actors = (struct segment_actor *)(base + computed->actors_offset),
        .args = base + computed->args_offset,
        .states = base + computed->states_offset,
        .message_types = (struct segment_message_type *)(base + computed->message_types_offset),
        .actor_types = (struct segment_actor_type *)(base + computed->actor_types_offset),
        .phases = (struct segment_phase *)(base + computed->phases_offset),
        .timers = (struct segment_timer *)(base + computed->coming.timers.offset),
        .names = (struct segment_name *)(base + computed->names_offset),
        .ports = (struct segment_port *)(base + computed->ports_offset),
        .n_queues = computed->n_queues,
        .n_mailboxes = computed->n_mailboxes,
        .n_ids = computed->n_ids,
        .n_timers = (uint32_t)computed->coming.timers.count,
        .dead_letters = computed->n_queues + ODEON_PORTS_MAX,
        .workers_max = computed->workers_max,
        .queues_per_worker = computed->queues_per_worker,
        .detached_max = computed->detached_max,
        .pinned_first = pinned,
        .follow_first = pinned + computed->workers_max,
        .aside_first = pinned + computed->workers_max + ODEON_FOLLOW_QUEUES,
        .detached_first = pinned + 2 * computed->workers_max + ODEON_FOLLOW_QUEUES,
    };
}

int segment_open(struct segment *segment, const struct engine_config *config, int fd,
                 const char **reterr_text)
{
    struct segment_header computed;
    segment_layout(config, &computed);
    int r = segment_make_room(fd, &computed, reterr_text);
    if (r < 0)
        return r;
    uint8_t *base =
        mmap(NULL, computed.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        r = -errno;
        *reterr_text = r == -ENOMEM
                           ? "the segment cannot be mapped: there is not enough memory, or "
                             "not as much address space (LimitAS=)"
                           : "the segment cannot be mapped";
        return r;
    }
    (void)madvise(base + computed.outboxes_offset, computed.size - computed.outboxes_offset,
                  MADV_DONTDUMP);
    r = segment_begin((struct segment_header *)base, &computed, reterr_text);
    if (r < 0) {
        munmap(base, computed.size);
        return r;
    }
    *segment = segment_at(base, &computed);
    engine_check("outbox.B4", segment->header->window_bytes >=
                                  2 * segment->header->limit_bytes +
                                      segment->n_ids * segment->header->outbox_bytes);
    return 0;
}

void segment_close(struct segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->size);
    segment->base = NULL;
}

uint8_t *segment_window_other(const struct segment *segment, uint32_t queue, unsigned buffer)
{
    const struct segment_header *h = segment->header;
    if (queue < segment->dead_letters)
        return segment->base + h->backlogs_offset +
               (2 * (uint64_t)(queue - segment->n_queues) + buffer) * segment_backlog_window(h);
    return segment->base + h->dlq_offset + buffer * h->dlq_bytes;
}

uint64_t segment_window_bytes(const struct segment *segment, uint32_t queue)
{
    const struct segment_header *h = segment->header;
    if (queue < segment->n_queues)
        return h->window_bytes;
    return queue < segment->dead_letters ? segment_backlog_window(h) : h->dlq_bytes;
}

uint8_t *segment_outbox(const struct segment *segment, uint32_t id)
{
    return segment->base + segment->header->outboxes_offset + id * segment->header->outbox_bytes;
}
