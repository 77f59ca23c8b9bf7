/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of all clients; the interface is in port_table.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/common/port_pipe.h"
#include "daemon/supervisor/port_table.h"
#include "proto/envelope.h"
#include "proto/port_layout.h"
#include "proto/registry_layout.h"

static void port_table_forget_descriptors(struct seat_port *port)
{
    port->client_fd = port->executor_fd = port->doorbell_fd = port->pipe_read_fd =
        port->pipe_write_fd = -1;
}

void port_table_init(struct port_table *table)
{
    *table = (struct port_table){ 0 };
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        table->ports[i].index = i;
        port_table_forget_descriptors(&table->ports[i]);
    }
}

void port_table_fini(struct port_table *table)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (table->ports[i].state != PORT_FREE)
            port_table_release(table, &table->ports[i]);
}

bool port_is_spent(const struct seat_port *port)
{
    return port->generation == UINT32_MAX;
}

uint32_t port_table_count_spent(const struct port_table *table)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        n += table->ports[i].state == PORT_FREE && port_is_spent(&table->ports[i]);
    return n;
}

struct seat_port *port_table_allocate(struct port_table *table, uint64_t client_id)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &table->ports[(table->next + i) % ODEON_PORTS_MAX];
        uint32_t index = port->index, generation = port->generation + 1;

        if (port->state != PORT_FREE || port_is_spent(port))
            continue;
        *port = (struct seat_port){
            .state = PORT_OPENING, .index = index, .generation = generation, .client_id = client_id
        };
        port_table_forget_descriptors(port);
        table->next = (index + 1) % ODEON_PORTS_MAX;
        table->n_used++;
        return port;
    }
    return NULL;
}

struct seat_port *port_table_restore(struct port_table *table, uint32_t index,
                                     const struct registry_port *entry)
{
    struct seat_port *port = &table->ports[index];
    bool open;

    check("port_table.T1", port->state == PORT_FREE);
    open = atomic_load_explicit(&entry->state, memory_order_acquire) == REGISTRY_OPEN;

    *port = (struct seat_port){ .state = open ? PORT_OPEN : PORT_CLOSING,
                                .index = index,
                                .generation = entry->generation,
                                .client_id = entry->client,
                                .submission_bytes = entry->submission_bytes,
                                .delivery_bytes = entry->delivery_bytes,
                                .ref = entry->ref,
                                .overflow = entry->overflow,
                                .uid = entry->uid,
                                .may_not_stop = entry->may_not_stop != 0,
                                .held.amounts = { [QUOTA_PORTS] = 1,
                                                  [QUOTA_RING_BYTES] = entry->submission_bytes +
                                                                       entry->delivery_bytes,
                                                  [QUOTA_BACKLOG_BYTES] = entry->backlog_bytes },
                                .actors_max = entry->actors_max,
                                .known = true };
    memcpy(port->token, entry->token, sizeof(port->token));
    port_table_forget_descriptors(port);
    table->n_used++;
    return port;
}

void port_table_release(struct port_table *table, struct seat_port *port)
{
    int *const fds[] = { &port->client_fd, &port->executor_fd, &port->doorbell_fd,
                         &port->pipe_read_fd, &port->pipe_write_fd };

    check("port_table.T1", port->state != PORT_FREE && table->n_used > 0);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
    port_table_forget_descriptors(port);
    port->state = PORT_FREE;
    port->client_id = 0;
    port->add_id = port->remove_id = 0;
    memset(port->token, 0, sizeof(port->token));
    table->n_used--;
}

struct seat_port *port_table_find(struct port_table *table, uint64_t index, uint32_t generation)
{
    struct seat_port *port;

    if (index >= ODEON_PORTS_MAX)
        return NULL;
    port = &table->ports[index];
    return port->state != PORT_FREE && port->generation == generation ? port : NULL;
}

struct seat_port *port_table_find_of_client(struct port_table *table, uint64_t index,
                                            uint64_t client_id)
{
    struct seat_port *port;

    if (index >= ODEON_PORTS_MAX)
        return NULL;
    port = &table->ports[index];
    return port->state == PORT_OPEN && port->client_id == client_id ? port : NULL;
}

struct seat_port *port_table_find_command(struct port_table *table, uint64_t id)
{
    if (id == 0)
        return NULL;
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &table->ports[i];

        if (port->state != PORT_FREE && (port->add_id == id || port->remove_id == id))
            return port;
    }
    return NULL;
}

uint32_t port_table_count_open(const struct port_table *table)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        n += table->ports[i].state == PORT_OPEN;
    return n;
}

uint32_t port_table_count_closing(const struct port_table *table, uid_t uid)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        n += table->ports[i].state == PORT_CLOSING && table->ports[i].uid == uid;
    return n;
}

static int port_table_check_size(const char *name, uint64_t *bytes, char *text)
{
    if (*bytes == 0)
        *bytes = ODEON_RING_DEFAULT;
    if (port_ring_size_is_good(*bytes))
        return 0;
    snprintf(text, PORT_TEXT_MAX,
             "%s of %llu bytes: a ring's size is a power of two from %d to %d, or 0 for the "
             "default (%d)",
             name, (unsigned long long)*bytes, ODEON_RING_MIN, ODEON_RING_MAX, ODEON_RING_DEFAULT);
    return -EINVAL;
}

int port_check_sizes(uint64_t *submission_bytes, uint64_t *delivery_bytes, char *text)
{
    int r = port_table_check_size("submission ring", submission_bytes, text);

    return r < 0 ? r : port_table_check_size("delivery ring", delivery_bytes, text);
}

/* The descriptor or negative errno goes to *to, which stays -1 on failure. */
static int port_table_keep(int *to, int fd)
{
    if (fd < 0)
        return fd;
    *to = fd;
    return 0;
}

int port_make_memory(struct seat_port *port, uint64_t submission_bytes, uint64_t delivery_bytes,
                     bool pipe)
{
    const uint64_t client_bytes = port_ring_offset(page_bytes()) + submission_bytes,
                   executor_bytes = port_ring_offset(page_bytes()) + delivery_bytes;
    int r;

    port->submission_bytes = submission_bytes;
    port->delivery_bytes = delivery_bytes;
    if (getrandom(port->token, sizeof(port->token), 0) != (ssize_t)sizeof(port->token))
        return -EIO;
    r = port_table_keep(&port->client_fd, memfd_make_sealed("odeon-port-client", client_bytes));
    if (r < 0)
        return r;
    r = port_table_keep(&port->executor_fd,
                        memfd_make_sealed("odeon-port-executor", executor_bytes));
    if (r < 0)
        return r;
    check("port_table.T2", memfd_check(port->client_fd, client_bytes) == 0);
    check("port_table.T2", memfd_check(port->executor_fd, executor_bytes) == 0);
    port->doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (port->doorbell_fd < 0)
        return -errno;
    if (pipe) {
        int ends[2];

        r = port_pipe_make(ends);
        if (r < 0)
            return r;
        port->pipe_read_fd = ends[0];
        port->pipe_write_fd = ends[1];
    }
    return 0;
}

uint32_t port_payload_max(const struct seat_port *port)
{
    uint64_t room = port->submission_bytes - sizeof(struct envelope);

    return room < ODEON_PAYLOAD_MAX ? (uint32_t)room : ODEON_PAYLOAD_MAX;
}
