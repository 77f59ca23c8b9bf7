/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on queues and workers (siege.h): more than actors take, more than ports take, handlers
 * that take long. */
#include <errno.h>
#include <stdlib.h>

#include "tests/siege/siege.h"
#include "tests/system/probe.h"

enum {
    RING = 1 << 16, /* what lies in it is run when its client has gone: seconds of works */
    BLOCKS_A_WORK = 100,
    FLOODED = 2000,
    WORK_NS = 2000000,
    LONG_NS = 100000000
};

struct line {
    struct odeon_client *client;
    struct odeon_port *port;
};

static struct line line_open(struct besieger *b, uint64_t delivery_bytes)
{
    const struct odeon_port_options options = { .struct_size = sizeof(options),
                                                .submission_bytes = RING,
                                                .delivery_bytes = delivery_bytes };
    struct line line = { NULL, NULL };

    if (!besieger_heard(b, odeon_client_connect(field.service->socket, "besieger", &line.client)) ||
        !besieger_heard(b, odeon_port_open(line.client, &options, &line.port)))
        pause_briefly();
    else
        atomic_fetch_add(&b->offender.connects, 1);
    return line;
}

static void line_close(struct line *line)
{
    odeon_port_close(line->port);
    odeon_client_disconnect(line->client);
}

/* Whether the port still takes something. */
static bool post(struct besieger *b, struct odeon_port *port, odeon_ref to, uint32_t type,
                 const void *data, size_t size)
{
    int r = odeon_port_post_wait(port, to, type, data, size, MILLISECONDS(100));

    if (r == 0)
        besieger_did(b, 1);
    if (r == -ETIMEDOUT && atomic_load(&b->keep))
        atomic_store(&b->full, true);
    return r == 0 || r == -EAGAIN || r == -ETIMEDOUT || besieger_heard(b, r);
}

/* Refusals are counted; whatever it is, it is gone. */
static void take(struct besieger *b, struct odeon_port *port)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(port, &delivery) == 1) {
        if (delivery.type == ODEON_MSG_REFUSAL) {
            (void)besieger_heard(b, -EDQUOT);
            if (atomic_load(&b->keep))
                atomic_store(&b->full, true);
        }
        odeon_port_release(port);
    }
}

/* Blocks, and now and then a work that holds them up. */
void act_flood(struct besieger *b)
{
    static const struct probe_block filled;
    const struct probe_work slow = { .ns = WORK_NS };
    struct line line = line_open(b, 1 << 16);
    bool open = line.port != NULL;

    for (uint64_t n = 0; open && besieger_goes_on(b); n++) {
        open = n % BLOCKS_A_WORK
                   ? post(b, line.port, field.ledger, field.block_type, &filled, sizeof(filled))
                   : post(b, line.port, field.ledger, field.work_type, &slow, sizeof(slow));
        if (n % BLOCKS_A_WORK == 0)
            take(b, line.port);
    }
    line_close(&line);
}

static void post_works(struct besieger *b, odeon_ref to)
{
    const struct probe_work slow = { .ns = WORK_NS };
    struct line line = line_open(b, RING);
    bool open = line.port != NULL;

    while (open && besieger_goes_on(b)) {
        open = post(b, line.port, to, field.work_type, &slow, sizeof(slow));
        take(b, line.port);
    }
    line_close(&line);
}

void act_slow(struct besieger *b)
{
    post_works(b, field.slow);
}

void act_stall(struct besieger *b)
{
    post_works(b, field.stall);
}

/* Asks for far more than it has room for, and reads nothing. */
void act_backlog(struct besieger *b)
{
    const struct probe_flood some = { .count = FLOODED };
    struct line line = line_open(b, 1 << 16);
    bool open = line.port != NULL;

    while (open && besieger_goes_on(b))
        open = post(b, line.port, field.echo, field.flood_type, &some, sizeof(some));
    line_close(&line);
}

/* Ports come and go beside a handler of its own that does not return for long; on a thread of its
 * own, as who shares a queue with such a one waits for it until it is set aside. */
void act_hang(struct besieger *b)
{
    const struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                             .where = ODEON_WHERE_DETACHED };
    const struct probe_work work = { .ns = LONG_NS };
    odeon_ref hanger = ODEON_NOBODY;
    struct line line = line_open(b, 1 << 16);
    bool open = line.port != NULL &&
                besieger_heard(b, odeon_actor_spawn_at(line.client, "probe_ledger", NULL, NULL, 0,
                                                       &where, &hanger));

    if (open && post(b, line.port, hanger, field.work_type, &work, sizeof(work)))
        for (int i = 0; i < 16 && besieger_goes_on(b); i++) {
            struct odeon_port *port = NULL;

            (void)besieger_heard(b, odeon_port_open(line.client, NULL, &port));
            odeon_port_close(port);
        }
    if (hanger != ODEON_NOBODY)
        besieger_stop_actor(b, line.client, hanger);
    line_close(&line);
}
