/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own posting, killed: what was published is consumed, nothing else, and what a call
 * returned for was published. And the first start of all, from a segment of zeros. */
#include <string.h>
#include <unistd.h>

#include "client-lib/src/port.h"
#include "crash.h"
#include "daemon/common/page.h"

static struct odeon_port *port;

static void setup_post(struct life *life)
{
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    row_expect(0, 3, ROW_PREFIX, 0);
    row_expect(1, 3, ROW_PREFIX, 60);
    ledger->actor[0] = sink_make(life, 0);
    life_quiesce(life);
}

static void prepare_post(struct life *life)
{
    static _Atomic uint32_t alive = 1;
    struct port_plan plan = {
        .submission_bytes = PORT_RING,
        .delivery_bytes = PORT_RING,
        .submission_offset = port_ring_offset(page_bytes()),
        .delivery_offset = port_ring_offset(page_bytes()),
        .payload_max = ODEON_PAYLOAD_MAX,
        .actors_max = life_config()->actors_max,
        .ref = ledger->client[0].ref,
        .client_memory = life->world->region[REGION_PORT].fd,
        .executor_memory = life->world->region[REGION_PORT + 1].fd,
        .doorbell = dup(life->world->doorbell_fd[0]),
        .pipe = -1,
    };
    must("port", port_new(&plan, &alive, &port));
    ledger->client[0].closing = 1; /* from now on it may be dead */
}

static void post_one(uint32_t index)
{
    uint8_t record[sizeof(struct item) + 64];
    struct row *row = &ledger->row[index];
    item_fill(record, index, (uint32_t)row->accepted + 1);
    must("post", odeon_port_post(port, ledger->actor[0], item_type, record,
                                 sizeof(struct item) + row->size));
    row->accepted++;
}

static void post(struct life *life)
{
    (void)life;
    for (unsigned i = 0; i < 3; i++) {
        post_one(0);
        post_one(1);
    }
}

const struct scene scenes_client[] = {
    { "a client posts", setup_post, prepare_post, post, 0, true, NULL, false },
    { "a first start", NULL, NULL, NULL, 0, false, NULL, false },
    { .name = NULL },
};
