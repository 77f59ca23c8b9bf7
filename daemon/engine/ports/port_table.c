/* SPDX-License-Identifier: Apache-2.0 */
/* Ports coming and going: mapping a client's memory, the durable entry, the actor slot that stands
 * for it. Control thread. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_rate.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/signal/doorbells.h"
#include "daemon/engine/signal/loud.h"
#include "daemon/engine/signal/wake.h"

/* A ring mapped twice in a row behind its page of words, so that no record wraps. */
static int port_table_map_memory(int fd, uint64_t ring_bytes, void **ret_words, uint8_t **ret_ring)
{
    const uint64_t once = port_ring_offset(page_bytes()) + ring_bytes;
    uint8_t *base = mmap(NULL, once + ring_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return -errno;
    int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    if (mmap(base, once, prot, flags, fd, 0) == MAP_FAILED ||
        mmap(base + once, ring_bytes, prot, flags, fd, (off_t)(once - ring_bytes)) == MAP_FAILED) {
        int r = -errno;
        munmap(base, once + ring_bytes);
        return r;
    }
    *ret_words = base;
    *ret_ring = base + once - ring_bytes;
    return 0;
}

static void port_table_unmap_memory(void *words, uint64_t ring_bytes)
{
    if (words)
        munmap(words, port_ring_offset(page_bytes()) + 2 * ring_bytes);
}

/* Everything but `state`, which others look at. */
static void port_reset(struct port *port)
{
    store_relaxed(&port->closing, 0);
    port->client_words = NULL;
    port->executor_words = NULL;
    port->doorbell_fd = port->pipe_fd = -1;
    port->closing_seen = false;
    port->room_woken = port->delivery_woken = 0;
    store_relaxed(&port->idle_polls, 0);
    store_relaxed(&port->broken, PORT_OK);
    store_relaxed(&port->slow, 0);
}

static int port_map(struct port *port, const struct engine_port_info *info)
{
    void *words = NULL;
    int r =
        port_table_map_memory(info->client_fd, info->submission_bytes, &words, &port->submission);
    if (r < 0)
        return r;
    port->client_words = words;
    port->submission_bytes = info->submission_bytes;
    r = port_table_map_memory(info->executor_fd, info->delivery_bytes, &words, &port->delivery);
    if (r < 0)
        return r;
    port->executor_words = words;
    port->delivery_bytes = info->delivery_bytes;
    port->doorbell_fd = fcntl(info->doorbell_fd, F_DUPFD_CLOEXEC, 3);
    if (port->doorbell_fd < 0)
        return -errno;
    if (info->pipe_fd >= 0 && (port->pipe_fd = fcntl(info->pipe_fd, F_DUPFD_CLOEXEC, 3)) < 0)
        return -errno;
    return 0;
}

static void port_unmap(struct port *port)
{
    port_table_unmap_memory(port->client_words, port->submission_bytes);
    port_table_unmap_memory(port->executor_words, port->delivery_bytes);
    if (port->doorbell_fd >= 0)
        close(port->doorbell_fd);
    if (port->pipe_fd >= 0)
        close(port->pipe_fd);
    port->client_words = NULL;
    port->executor_words = NULL;
    port->doorbell_fd = port->pipe_fd = -1;
}

/* The durable entry of a new port: everything before the generation, which makes it valid. */
static void port_table_durable_make(struct engine *e, uint32_t id)
{
    const struct port *port = &e->ports.table[id];
    struct segment_port *durable = &e->segment.ports[id];
    struct segment_queue *backlog = &e->segment.queues[segment_port_destination(&e->segment, id)];
    store_relaxed(&durable->generation, 0);
    crash_order();
    /* first: a batch of the port before must not be there with half of its words (verify.c) */
    store_relaxed(&backlog->sel, 0);
    crash_order();
    store_relaxed(&backlog->len[0], 0);
    store_relaxed(&backlog->len[1], 0);
    store_relaxed(&backlog->cursor, 0);
    actor_ref ref = actors_port_ref_next(e, id);
    actors_make_port(e, id, ref);
    durable->client = port->client;
    durable->ref = ref;
    durable->submission_bytes = port->submission_bytes;
    durable->delivery_bytes = port->delivery_bytes;
    store_relaxed(&durable->pcur, 0);
    store_relaxed(&durable->dtail, 0);
    crash_order();
    store_release(&durable->generation, port->generation);
}

static bool port_table_durable_matches(const struct segment_port *durable,
                                       const struct engine_port_info *info)
{
    return load_relaxed(&durable->generation) == info->generation &&
           durable->submission_bytes == info->submission_bytes &&
           durable->delivery_bytes == info->delivery_bytes;
}

/* Owner and words of a port whose durable entry stands. Its bell may have rung before anybody
 * watched: it is looked at once. */
static void port_open(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    uint64_t dtail = load_relaxed(&e->segment.ports[id].dtail);
    store_relaxed(&port->delivery_head,
                  dtail > port->delivery_bytes ? dtail - port->delivery_bytes : 0);
    store_relaxed(&port->poster, actor_ref_upper(e->segment.ports[id].ref) |
                                     e->budget.accounts[port->account].user);
    if (e->recovered)
        port_publish_cursors(e, id);
    source_place(e, engine_source_of_port(e, id),
                 placement_home(e, engine_source_of_port(e, id), engine_workers(e)), 0);
    store_release(&port->state, PORT_OPEN);
    atomic_fetch_or_explicit(&e->ports.open[id / 64], UINT64_C(1) << (id % 64),
                             memory_order_relaxed);
}

int port_add(struct engine *e, const struct engine_port_info *info, actor_ref *ret_ref)
{
    if (info->id >= ODEON_PORTS_MAX || info->generation == 0 ||
        !port_ring_size_is_good(info->submission_bytes) ||
        !port_ring_size_is_good(info->delivery_bytes) || info->overflow >= PORT_OVERFLOW_N)
        return -EINVAL;
    struct port *port = &e->ports.table[info->id];
    if (load_relaxed(&port->state) != PORT_FREE)
        return -EEXIST;
    const uint64_t words = port_ring_offset(page_bytes());
    if (memfd_check(info->client_fd, words + info->submission_bytes) < 0 ||
        memfd_check(info->executor_fd, words + info->delivery_bytes) < 0)
        return -EBADFD;
    struct segment_port *durable = &e->segment.ports[info->id];
    /* Drained and forgotten by an executor that died before it was heard: its records must not be
     * taken a second time. */
    bool known = port_table_durable_matches(durable, info);
    if (info->closing && !known)
        return -ENOENT;
    if (!known && actors_port_ref_next(e, info->id) == 0)
        return -ENOSPC;
    port_reset(port);
    port->generation = info->generation;
    port->client = info->client;
    port->overflow = info->overflow;
    port->backlog_bytes =
        info->backlog_bytes ? info->backlog_bytes : e->segment.header->backlog_bytes;
    if (port->backlog_bytes > e->segment.header->backlog_bytes)
        port->backlog_bytes = e->segment.header->backlog_bytes; /* what the window has room for */
    port->may_not_stop = info->may_not_stop;
    port_rate_reset(port, info->rated);
    loud_reset(port);
    int r = port_map(port, info);
    if (r == 0)
        r = doorbells_watch(e, info->id, port->doorbell_fd);
    if (r < 0) {
        port_unmap(port);
        return r;
    }
    port->account = budget_account_get(e, info->user);
    if (known) {
        *ret_ref = durable->ref;
        port_open(e, info->id);
    } else if (e->recovered) {
        port_table_durable_make(e, info->id);
        *ret_ref = durable->ref;
        port_open(e, info->id);
    } else {
        /* What the segment says of this index belongs to an earlier port: recovery finishes that
         * one first. */
        *ret_ref = actors_port_ref_next(e, info->id);
        store_relaxed(&port->state, PORT_PENDING);
    }
    if (e->started)
        source_signal(e, e->control, engine_source_of_port(e, info->id));
    return 0;
}

void port_open_pending(struct engine *e)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (load_relaxed(&e->ports.table[id].state) == PORT_PENDING) {
            port_table_durable_make(e, id);
            port_open(e, id);
        }
}

int port_remove(struct engine *e, uint32_t id, uint32_t generation)
{
    if (id >= ODEON_PORTS_MAX || load_relaxed(&e->ports.table[id].state) == PORT_FREE ||
        e->ports.table[id].generation != generation)
        return -ENOENT;
    store_release(&e->ports.table[id].closing, 1);
    full_barrier();
    if (e->started && load_relaxed(&e->ports.table[id].state) == PORT_OPEN)
        source_signal(e, e->control, engine_source_of_port(e, id));
    return 0;
}

/* What nobody will read holds no memory. */
static void port_table_empty_backlog(struct engine *e, uint32_t id)
{
    uint32_t destination = segment_port_destination(&e->segment, id);
    struct segment_queue *backlog = &e->segment.queues[destination];
    queue_lock(backlog, e->control->id);
    queue_drop(backlog);
    queue_unlock(backlog);
    overflow_freed(e->control, reclaim_idle(e->control, destination));
}

void port_forget(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    port_table_empty_backlog(e, id);
    budget_account_put(e, port->account);
    port->account = 0;
    doorbells_unwatch(e, port->doorbell_fd);
    atomic_fetch_and_explicit(&e->ports.open[id / 64], ~(UINT64_C(1) << (id % 64)),
                              memory_order_relaxed);
    /* The durable entry stays until the index is used again, or recovery forgets it: who has not
     * heard of the end before a kill adds the port once more, and what was taken from it must not
     * be taken again. */
    port_unmap(port);
    store_release(&port->state, PORT_FREE);
}

static struct port *port_table_find(struct engine *e, uint32_t id, uint32_t generation)
{
    struct port *port = id < ODEON_PORTS_MAX ? &e->ports.table[id] : NULL;
    return port && e->started && load_relaxed(&port->state) != PORT_FREE &&
                   port->generation == generation
               ? port
               : NULL;
}

int engine_port_mute(struct engine *e, uint32_t id, uint32_t generation)
{
    struct port *port = port_table_find(e, id, generation);
    if (!port)
        return -ENOENT;
    engine_check("loud.D2", load_relaxed(&port->bell.loud) != 0);
    doorbells_unwatch(e, port->doorbell_fd);
    stat_add(e->control, STAT_ports_muted, 1);
    return 0;
}

/* loud.D3 */
int engine_port_listen(struct engine *e, uint32_t id, uint32_t generation)
{
    struct port *port = port_table_find(e, id, generation);
    if (!port)
        return -ENOENT;
    loud_forgive(port);
    int r = doorbells_watch(e, id, port->doorbell_fd);
    if (load_relaxed(&port->state) == PORT_OPEN)
        source_signal(e, e->control, engine_source_of_port(e, id));
    return r;
}

uint64_t engine_port_client(const struct engine *e, uint32_t id)
{
    return id < ODEON_PORTS_MAX && load_relaxed(&e->ports.table[id].state) != PORT_FREE
               ? e->ports.table[id].client
               : 0;
}

void port_close_all(struct engine *e)
{
    for (uint32_t id = 0; e->ports.table && id < ODEON_PORTS_MAX; id++)
        if (load_relaxed(&e->ports.table[id].state) != PORT_FREE)
            port_unmap(&e->ports.table[id]);
}
