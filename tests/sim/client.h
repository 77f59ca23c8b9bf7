/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the engine: the words and rings of a port, used as libodeon uses them
 * (client-lib/src/post.c, receive.c), but for its limits in time: this one sleeps until it is
 * woken.
 *
 * A fiber of its own each.  Its memory outlives the engine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "proto/port_layout.h"
#include "tests/sim/sim.h"

enum { CLIENT_RING = ODEON_RING_MIN, CLIENTS_MAX = 8 * SIM_SCALE };

struct client {
    struct engine_port_info info;
    struct port_client *words;
    const struct port_executor *executor;
    uint8_t *submission;
    const uint8_t *delivery;
    uint64_t tail, room_head, head, released;
    uint64_t wants; /* bytes of room that it sleeps for; 0: it does not */
    bool listens;   /* sleeps until something is delivered */
    uint32_t wait_sequence;
    actor_ref ref;  /* the port's */
    uint64_t trace; /* which what it posts is in; 0: none */
    uint64_t when;  /* what it posts is to be sent then, by CLOCK_MONOTONIC; 0: at once */
};

/* Memory for client `id`: the same in each run, empty. */
void client_prepare(struct client *client, uint32_t id);
/* The port's next generation, its memory empty. */
void client_again(struct client *client);
/* Waits until there is room.  `correlation` 0: none. */
void client_post(struct client *client, actor_ref to, uint16_t type, uint8_t flags,
                 uint64_t correlation, const void *payload, uint16_t length);
/* The next delivery, valid until the next call; NULL: none. */
const struct envelope *client_next(struct client *client);
void client_wait(struct client *client);
