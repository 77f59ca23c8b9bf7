/* SPDX-License-Identifier: Apache-2.0 */
/* A port's mapping and its end.  port.h has the invariants, port_open.c asks the service for one.
 *
 * Each memory is mapped as [words][ring][ring again] in one reservation of address space.
 */
#include "client-lib/src/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client-lib/src/error.h"

/* A smaller ring than the protocol's smallest is taken, too: what it holds is the service's to
 * decide. */
static int port_check_ring(const char *what, uint64_t bytes, uint32_t offset, size_t words)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (bytes == 0 || bytes > ODEON_RING_MAX || (bytes & (bytes - 1)) != 0 || bytes % page != 0)
        return error_set(-EPROTO,
                         "the service offers a %s ring of %llu bytes: not a power of two of whole "
                         "pages up to %d",
                         what, (unsigned long long)bytes, ODEON_RING_MAX);
    if (offset < words || offset % page != 0)
        return error_set(-EPROTO,
                         "the service offers a %s ring at offset %u: not behind the port's words "
                         "at a page (%llu bytes)",
                         what, offset, (unsigned long long)page);
    return 0;
}

/* The descriptor must be a memory file that nobody can shrink under us: SIGBUS would be the end. */
static int port_check_memory(const char *what, int fd, uint64_t bytes)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat status;

    if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        return error_set(
            -EPROTO,
            "the service's %s memory is not a memory file sealed against shrinking and growing",
            what);
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size < bytes)
        return error_set(
            -EPROTO, "the service's %s memory is shorter than the %llu bytes it is said to have",
            what, (unsigned long long)bytes);
    return 0;
}

static int port_map_twice(int fd, uint32_t offset, uint64_t ring, int protection,
                          void **ret_mapping, size_t *ret_size)
{
    size_t once = offset + (size_t)ring, size = once + (size_t)ring;
    uint8_t *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int error;

    if (base == MAP_FAILED)
        return error_set(-errno, "no address space for a port: %s", error_describe(-errno));
    if (mmap(base, once, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
        mmap(base + once, (size_t)ring, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) ==
            MAP_FAILED) {
        error = -errno;
        munmap(base, size);
        return error_set(error, "cannot map a port's memory: %s", error_describe(error));
    }
    *ret_mapping = base;
    *ret_size = size;
    return 0;
}

static int port_check_plan(const struct port_plan *plan)
{
    int result = port_check_ring("submission", plan->submission_bytes, plan->submission_offset,
                                 sizeof(struct port_client));

    if (result == 0)
        result = port_check_ring("delivery", plan->delivery_bytes, plan->delivery_offset,
                                 sizeof(struct port_executor));
    if (result == 0)
        result = port_check_memory("client", plan->client_memory,
                                   plan->submission_offset + plan->submission_bytes);
    if (result == 0)
        result = port_check_memory("executor", plan->executor_memory,
                                   plan->delivery_offset + plan->delivery_bytes);
    if (result == 0 && (plan->payload_max == 0 || plan->payload_max > ODEON_PAYLOAD_MAX))
        result = error_set(-EPROTO,
                           "the service allows payloads of %u bytes: this library knows 1 to %d",
                           plan->payload_max, ODEON_PAYLOAD_MAX);
    if (result == 0 && plan->actors_max == 0)
        result = error_set_literal(-EPROTO, "the service has room for no actors");
    return result;
}

/* The cursors go on where they are: a port is empty when it is new, and may be in use when it is
 * mapped again. */
static int port_read_cursors(struct odeon_port *port)
{
    port->submission_head =
        atomic_load_explicit(&port->theirs->submission_head, memory_order_acquire);
    port->submission_tail = port->submission_published =
        atomic_load_explicit(&port->mine->submission_tail, memory_order_relaxed);
    port->delivery_tail = atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire);
    port->delivery_taken = port->delivery_released = port->delivery_lent =
        atomic_load_explicit(&port->mine->delivery_head, memory_order_relaxed);
    if (port->submission_tail - port->submission_head > port->submission_size ||
        port->delivery_tail - port->delivery_taken > port->delivery_size ||
        ((port->submission_tail | port->delivery_taken) & 7) != 0)
        return error_set_literal(
            -EPROTO, "rule port.L1 is broken: the service's port has impossible cursors");
    return 0;
}

static int port_map(struct odeon_port *port, const struct port_plan *plan)
{
    int result =
        port_map_twice(plan->client_memory, plan->submission_offset, plan->submission_bytes,
                       PROT_READ | PROT_WRITE, &port->mapping[0], &port->mapping_size[0]);

    if (result == 0)
        result = port_map_twice(plan->executor_memory, plan->delivery_offset, plan->delivery_bytes,
                                PROT_READ, &port->mapping[1], &port->mapping_size[1]);
    if (result < 0)
        return result;
    port->mine = port->mapping[0];
    port->theirs = port->mapping[1];
    port->submission = (uint8_t *)port->mapping[0] + plan->submission_offset;
    port->delivery = (const uint8_t *)port->mapping[1] + plan->delivery_offset;
    port->submission_size = plan->submission_bytes;
    port->delivery_size = plan->delivery_bytes;
    return port_read_cursors(port);
}

int port_new(struct port_plan *plan, const _Atomic uint32_t *alive, struct odeon_port **ret_port)
{
    struct odeon_port *port;
    int result = port_check_plan(plan);

    if (result < 0)
        return result;
    port = aligned_alloc(alignof(struct odeon_port), sizeof(*port));
    if (!port)
        return error_set_literal(-ENOMEM, "no memory for a port");
    memset(port, 0, sizeof(*port));
    pthread_mutex_init(&port->turn, NULL);
    pthread_mutex_init(&port->room_turn, NULL);
    port->doorbell = port->pipe = -1;
    port->alive = alive;
    port->id = plan->id;
    port->ref = plan->ref;
    port->payload_max = plan->payload_max;
    port->prefix = plan->prefix;
    port->room_by_pipe = plan->room_by_pipe;
    port->monitors = plan->monitors;
    port->demonitors = plan->demonitors;
    port->actors_max = port->actors_alone = plan->actors_max;
    memcpy(port->token, plan->token, sizeof(port->token));
    STAILQ_INIT(&port->kept);
    STAILQ_INIT(&port->returned);
    result = port_map(port, plan);
    /* this end's own description: the executor's writing end is not touched by it */
    if (result == 0 && plan->pipe >= 0 && fcntl(plan->pipe, F_SETFL, O_NONBLOCK) < 0)
        result = error_set(-errno, "the port's pipe cannot be used: %s", error_describe(-errno));
    if (result < 0) {
        port_free(port);
        return result;
    }
    port->doorbell = plan->doorbell;
    port->pipe = plan->pipe;
    plan->doorbell = plan->pipe = -1;
    *ret_port = port;
    return 0;
}

void port_share(struct odeon_port *port)
{
    port->shared = true;
    port->actors_alone = 0;
}

static void port_free_kept(struct port_kept_list *list)
{
    struct port_kept *kept;

    while ((kept = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        if (!kept->of_awaited)
            free(kept);
    }
}

void port_depart(struct odeon_port *port)
{
    /* read by an odeond that starts, from the file */
    atomic_store_explicit(&port->mine->departed, 1, memory_order_seq_cst);
}

void port_free(struct odeon_port *port)
{
    for (int i = 0; i < 2; i++)
        if (port->mapping[i])
            munmap(port->mapping[i], port->mapping_size[i]);
    if (port->doorbell >= 0)
        close(port->doorbell);
    if (port->pipe >= 0)
        close(port->pipe);
    port_free_kept(&port->kept);
    port_free_kept(&port->returned);
    pthread_mutex_destroy(&port->turn);
    pthread_mutex_destroy(&port->room_turn);
    free(atomic_load_explicit(&port->awaiting, memory_order_relaxed));
    free(port);
}

void port_mark_closed(struct odeon_port *port, int error, enum odeon_closed why, const char *reason)
{
    if (atomic_exchange_explicit(&port->closing, 1, memory_order_relaxed) != 0)
        return;
    port->why = why;
    snprintf(port->reason, sizeof(port->reason), "%s", reason);
    /* publish the reason, read by the acquire in port_open() and port_explain() */
    atomic_store_explicit(&port->closed, error, memory_order_release);
}

enum odeon_closed port_closed_by(unsigned broken)
{
    switch (broken) {
    case PORT_OK:
    case PORT_BROKEN_CLOSED:
        return ODEON_CLOSED_BY_SERVICE;
    case PORT_BROKEN_SLOW:
        return ODEON_CLOSED_TOO_SLOW;
    case PORT_BROKEN_TAIL:
    case PORT_BROKEN_LENGTH:
    case PORT_BROKEN_HEADER:
    case PORT_BROKEN_SLOT:
    case PORT_BROKEN_HEAD:
        return ODEON_CLOSED_BAD_RECORD;
    default: /* a later version's */
        return ODEON_CLOSED_BY_SERVICE;
    }
}

int port_explain_fork(void)
{
    return error_set_literal(-ECHILD, "the port belongs to the process of which this one is a "
                                      "fork: connect and open a port here");
}

void port_ring_doorbell(const struct odeon_port *port)
{
    uint64_t one = 1;
    ssize_t written;

    /* -EAGAIN: its count is at the top, which is an edge as well as any other to those who watch
     * it */
    do
        written = syscall(SYS_write, port->doorbell, &one, sizeof(one)); /* connect.C6 */
    while (written < 0 && errno == EINTR);
}
