/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of a simulated engine: roots, which pass a message on to its next place, and children,
 * made for one message. */
#pragma once

#include <stdint.h>

#include "daemon/engine/engine.h"
#include "tests/sim/workload.h"

enum { HOP_BYTES_MAX = 3000 };

struct hop {
    actor_ref origin; /* the client's port */
    actor_ref next[PLACES_MAX];
    uint32_t client, lane, number;
    uint32_t at, n, child_at;
};

/* The state of an account; kept over crashes. */
struct account {
    uint32_t index;
    uint32_t ran;
    int64_t balance;
};
/* What a number of a lane does to the balance of the account at a place. */
int64_t actors_amount(uint32_t number, uint32_t place);

void actors_register(struct engine *engine);
/* The children's type goes, if there are none just now, and comes back, as with another build of
 * its plugin. */
void actors_reload_children(struct engine *engine);
void actors_fill(uint8_t *payload, uint16_t bytes);
void actors_check_filler(uint16_t bytes, const uint8_t *payload);
