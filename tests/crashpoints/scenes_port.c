/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: what clients post on its way in, what they are sent on its way out, and ports coming and
 * going. */
#include <string.h>

#include "crash.h"
#include "daemon/common/page.h"

static void port_open_new(struct life *life, uint32_t id)
{
    ledger->client[id].generation = 1;
    life_port_add(life, id);
}

/* What the client's book says is published, and nobody has looked. */
static void post_all(struct life *life, uint32_t id)
{
    while (client_post(life, id)) {
    }
}

static void run_port_0(struct life *life)
{
    life_run_port(life, 0, 0);
}

static void run_queue_0(struct life *life)
{
    life_run_queue(life, 0, 0);
}

/* ---- in ---- */

/* To several queues; two for nobody, which come back; an answer to the client itself. */
static void setup_ingest(struct life *life)
{
    struct plan answer = { .act = ACT_SEND };
    port_open_new(life, 0);
    row_expect(0, 2, 0, 0);
    row_expect(1, 2, 0, 100);
    row_expect(2, 2, ROW_REFUSED, 0);
    row_expect(3, 2, 0, 0);
    row_expect(4, 2, ROW_CLIENT, 30);
    actor_ref gone = actor_ref_make(400, 7);
    plan_out(&answer, ledger->client[0].ref, 4);
    actor_ref to[4] = { sink_make(life, 0), sink_make(life, 1), gone,
                        relay_make(life, 2, &answer) };
    life_quiesce(life);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t row = 0; row < 4; row++)
            client_books(0, to[row], row, 1, row == 2);
    post_all(life, 0);
}

/* Above 16 KiB there is a flush on the way. */
static void setup_ingest_long(struct life *life)
{
    port_open_new(life, 0);
    row_expect(0, 16, 0, 600);
    row_expect(1, 16, 0, 600);
    actor_ref a = sink_make(life, 0), b = sink_make(life, 3);
    life_quiesce(life);
    for (uint32_t i = 0; i < 16; i++) {
        client_books(0, a, 0, 1, false);
        client_books(0, b, 1, 1, false);
    }
    post_all(life, 0);
}

/* Urgent posts between others. */
static void setup_urgent_posts(struct life *life)
{
    port_open_new(life, 0);
    row_expect(0, 3, 0, 0);
    row_expect(1, 3, ROW_URGENT, 24);
    actor_ref a = sink_make(life, 0), b = sink_make(life, 0);
    life_quiesce(life);
    for (uint32_t i = 0; i < 3; i++) {
        client_books(0, a, 0, 1, false);
        client_books(0, b, 1, 1, false);
    }
    post_all(life, 0);
}

static void setup_direct(struct life *life)
{
    port_open_new(life, 0);
    row_expect(0, 2, 0, 24);
    actor_ref a = sink_make(life, 0);
    life_quiesce(life);
    client_books(0, a, 0, 1, false);
    post_all(life, 0);
    client_books(0, a, 0, 1, false); /* the second one is published later */
}

/* ---- out ---- */

enum { FILL = 100 };

static void setup_deliver(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    port_open_new(life, 0);
    port_open_new(life, 1);
    row_expect(0, 2, 0, 0);
    for (uint32_t row = 1; row <= 4; row++) {
        row_expect(row, 2, row < 4 ? ROW_CLIENT : 0, row == 3 ? 90 : 0);
        plan_out(&plan, row < 4 ? ledger->client[row % 2].ref : sink_make(life, 1), row);
    }
    actor_ref relay = relay_make(life, 0, &plan);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, 2);
}

/* The ring is all but full, and its client does not read. */
static actor_ref fill_ring(struct life *life)
{
    struct plan fill = { .act = ACT_SEND }, more = { .act = ACT_SEND };
    port_open_new(life, 0);
    row_expect(0, FILL, 0, 0);
    row_expect(1, FILL, ROW_CLIENT, 600);
    row_expect(2, 4, 0, 0);
    row_expect(3, 4, ROW_CLIENT, 500);
    row_expect(4, 4, ROW_CLIENT, 700);
    plan_out(&fill, ledger->client[0].ref, 1);
    plan_out(&more, ledger->client[0].ref, 3);
    plan_out(&more, ledger->client[0].ref, 4);
    actor_ref filler = relay_make(life, 1, &fill), relay = relay_make(life, 0, &more);
    life_quiesce(life);
    cast_send(life->engine, filler, 0, FILL);
    while (life_run_ready(life)) {
    }
    return relay;
}

static void setup_backlog(struct life *life)
{
    actor_ref relay = fill_ring(life);
    cast_send(life->engine, relay, 2, 4);
}

static void setup_drain(struct life *life)
{
    actor_ref relay = fill_ring(life);
    cast_send(life->engine, relay, 2, 4);
    life_run_queue(life, 0, 0);
    (void)client_read(life, 0);
}

/* More than it may hold waits behind the ring: its oldest go when it is drained. */
enum { BEHIND = 90 };

static void setup_drop_oldest(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    ledger->client[0].overflow = PORT_OVERFLOW_DROP_OLDEST;
    port_open_new(life, 0);
    row_expect(0, FILL + BEHIND, 0, 0);
    row_expect(1, FILL + BEHIND, ROW_CLIENT | ROW_MAY_SKIP, 600);
    ledger->row[1].least = 140; /* three groups of a flush in the ring, and 40 KB behind it */
    plan_out(&plan, ledger->client[0].ref, 1);
    actor_ref relay = relay_make(life, 1, &plan);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, FILL + BEHIND);
    while (life_run_ready(life)) {
    }
    (void)client_read(life, 0);
}

/* ---- coming and going ---- */

static void setup_close(struct life *life)
{
    setup_ingest(life);
    ledger->row[2].flags |= ROW_PREFIX; /* nobody reads refusals and answers any more */
    ledger->row[4].flags |= ROW_PREFIX | ROW_DEAD;
}

static void prepare_close(struct life *life)
{
    ledger->client[0].closing = 1;
    must("remove", engine_port_remove(life->engine, 0, 1));
}

static void run_until_closed(struct life *life)
{
    life_run_port(life, 0, 0);
    life_reap(life);
}

/* The next client in its place. */
static void setup_reopen(struct life *life)
{
    setup_close(life);
    prepare_close(life);
    life_quiesce(life);
    if (ledger->client[0].open)
        fail("the port is still there");
    ledger->client[0] = (struct client_book){ .generation = 2 };
    memset(life->world->region[REGION_PORT].map, 0, port_ring_offset(page_bytes()));
    memset(life->world->region[REGION_PORT + 1].map, 0, port_ring_offset(page_bytes()));
    row_expect(5, 3, ROW_PREFIX, 0);
    actor_ref sink = sink_make(life, 0);
    life_quiesce(life);
    client_books(0, sink, 5, 3, false);
}

static void reopen(struct life *life)
{
    life_port_add(life, 0);
}

/* In the place of one that has ended, whose name is taken over. */
static void setup_name(struct life *life)
{
    setup_reopen(life);
    ledger->names = 1;
    life_port_add(life, 0);
    port_open_new(life, 1);
    must("name", engine_port_register(life->engine, ledger->client[1].ref, "other", 1));
    life_quiesce(life);
}

static void name(struct life *life)
{
    must("name", engine_port_register(life->engine, ledger->client[0].ref, "screen", 1));
}

const struct scene scenes_port[] = {
    { "ingest", setup_ingest, NULL, run_port_0, 1, true, NULL, false },
    { "urgent posts", setup_urgent_posts, NULL, run_port_0, 1, true, NULL, false },
    { "ingest with a flush on the way", setup_ingest_long, NULL, run_port_0, 1, false, NULL,
      false },
    { "direct gulp", setup_direct, NULL, run_port_0, 1, true, NULL, false },
    { "delivery to the ring", setup_deliver, NULL, run_queue_0, 1, true, NULL, false },
    { "delivery to the backlog", setup_backlog, NULL, run_queue_0, 1, true, NULL, false },
    { "the backlog is drained", setup_drain, NULL, run_port_0, 1, true, NULL, false },
    { "the backlog drops its oldest", setup_drop_oldest, NULL, run_port_0, 1, true, NULL, false },
    { "a port is closed", setup_close, prepare_close, run_until_closed, 1, true, NULL, false },
    { "a port is opened", setup_reopen, NULL, reopen, 1, true, NULL, false },
    { "a port is given a name", setup_name, NULL, name, 1, true, NULL, false },
    { .name = NULL },
};
