/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of all clients: numbers, memory, descriptors.
 *
 * A port's descriptors are kept until the executor has said that it is done with the port, whatever
 * happens to client and executors meanwhile: what the client had published is still consumed. Event
 * loop thread only.
 *
 * port_table.T1  An index is given again only after port_release(), and then with another
 *     generation; behind the last one it is spent, and given to nobody as long as this state lives.
 * port_table.T2  A port's memory never changes its size: both files are sealed before anybody else
 *     sees them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/account.h"
#include "daemon/supervisor/line.h"
#include "proto/bounds.h"

enum seat_port_state {
    PORT_FREE,
    PORT_OPENING, /* its client waits for the answer */
    PORT_OPEN,
    PORT_CLOSING, /* the executor drains it */
};

enum { PORT_TOKEN_SIZE = 16, PORT_TEXT_MAX = 256 };

struct seat_port {
    enum seat_port_state state;
    uid_t uid;           /* whose account pays, also when the client has gone */
    pid_t pid;           /* who answers for what is written in it, likewise; 0: not known */
    struct holding held; /* of it */
    bool may_not_stop;   /* its client had not the role `register` */
    uint32_t index, generation;
    uint64_t client_id;
    uint64_t submission_bytes, delivery_bytes, ref;
    uint32_t overflow;         /* enum port_overflow */
    uint32_t actors_max;       /* as the executor said; 0: it did not */
    uint64_t request_id;       /* of the PortOpen that waits */
    struct line_waiter stored; /* its descriptors are on the way into the store, while ... */
    bool storing;
    void *userdata;  /* the waiter's */
    bool known;      /* some executor may have heard of it */
    uint64_t add_id; /* commands to the executor that runs now; 0: not sent */
    uint64_t remove_id;
    bool added; /* the executor that runs now has it */
    uint8_t token[PORT_TOKEN_SIZE];
    int client_fd, executor_fd, doorbell_fd;
    /* -1: no pipe.  The reading end is kept, so that the executor never writes into a broken
     * pipe */
    int pipe_read_fd, pipe_write_fd;
};

struct port_table {
    uint32_t n_used, next;
    struct seat_port ports[ODEON_PORTS_MAX];
};

void port_table_init(struct port_table *table);
void port_table_fini(struct port_table *table);
/* A port in state PORT_OPENING without memory, or NULL: all are in use, or spent. */
struct seat_port *port_table_allocate(struct port_table *table, uint64_t client_id);
/* A port that another odeond has left, without its descriptors: PORT_OPEN or PORT_CLOSING, known to
 * executors. */
struct registry_port;
struct seat_port *port_table_restore(struct port_table *table, uint32_t index,
                                     const struct registry_port *entry);
/* It has its index's last generation (port_table.T1), or had it. */
bool port_is_spent(const struct seat_port *port);
/* Indices that nobody is given any more. */
uint32_t port_table_count_spent(const struct port_table *table);
/* Closes what it has; the index can be given again. */
void port_table_release(struct port_table *table, struct seat_port *port);
/* NULL: no such port in use. */
struct seat_port *port_table_find(struct port_table *table, uint64_t index, uint32_t generation);
/* A port that this client has open; NULL: it has none of this number. */
struct seat_port *port_table_find_of_client(struct port_table *table, uint64_t index,
                                            uint64_t client_id);
/* By the command of the running executor that named it. */
struct seat_port *port_table_find_command(struct port_table *table, uint64_t id);

uint32_t port_table_count_open(const struct port_table *table);
/* Of this user, closed and not at their end yet. */
uint32_t port_table_count_closing(const struct port_table *table, uid_t uid);

/* 0 in a size: the default.  0, or -EINVAL with a reason in `text` (PORT_TEXT_MAX). */
int port_check_sizes(uint64_t *submission_bytes, uint64_t *delivery_bytes, char *text);
/* Token, memory, doorbell and, if asked for, the pipe. 0 or negative errno; what was made is the
 * table's to release. */
int port_make_memory(struct seat_port *port, uint64_t submission_bytes, uint64_t delivery_bytes,
                     bool pipe);
/* Largest payload of a record that fits the port's submission ring. */
uint32_t port_payload_max(const struct seat_port *port);
