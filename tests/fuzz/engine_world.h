/* SPDX-License-Identifier: Apache-2.0 */
/* An engine without threads for the fuzzers of rings: two clients of it, one honest and one that is
 * played by the input, and actors that check what they are given.
 *
 * One thread plays worker 0, the control thread and both clients. The world is made once and lives
 * for all inputs; a port that was closed is opened again with the next generation.
 *
 * engine_world.E1  A behaviour is run with messages of its type's size from a port that exists.
 * engine_world.E2  A header word of the hostile ring is loaded once a visit (port.R1).
 * engine_world.E3  What is delivered is a chain of records for that port.
 * engine_world.E4  The honest client's messages are answered, each once, in order.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "proto/port_layout.h"
#include "tests/fuzz/fuzz.h"

enum { WORLD_RING = ODEON_RING_MIN, WORLD_HONEST = 1, WORLD_HOSTILE = 2, WORLD_CHANGES = 32 };

struct world_client {
    struct engine_port_info info;
    struct port_client *mine;
    const struct port_executor *theirs;
    uint8_t *submission;
    const uint8_t *delivery;
    uint64_t tail;  /* what has been put, not necessarily published */
    uint64_t taken; /* of the delivery ring, looked at */
    actor_ref ref;
};

struct world {
    struct engine *engine;
    struct engine_config config;
    struct world_client client[ODEON_PORTS_MAX]; /* by port: two of them are used */
    actor_ref echo, former, dead;
    uint16_t number, bulk, flood;
    uint32_t type;
    uint64_t posted, answered; /* by and to the honest client */
};

struct world *world_get(void);

/* The hostile client. */
struct world_client *world_hostile(void);
void world_put(struct world_client *client, const struct envelope *envelope, struct input *payload);
void world_publish(struct world_client *client, uint64_t tail);
/* Before the n-th load from client memory from now on, `value` is written at `offset` of its memory
 * (words, then ring); or, with `near`, at so many words behind what is loaded. */
void world_change(uint32_t n, bool near, uint64_t offset, uint64_t value);

/* Visits the hostile port and runs what came of it, until nothing is left; engine_world.E1 to
 * engine_world.E3. */
void world_run(void);
/* An honest message and its answer (engine_world.E4); then the hostile port is opened anew if it
 * has been closed. */
void world_end(void);
