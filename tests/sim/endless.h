/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that sends itself a message with each one that it runs, until the load is over, beside a
 * root actor in its queue: the mate, which the first client posts to.
 *
 * endless.N1  What waits for others of the queue waits for so many of its turns at most (place.U6):
 *     of quick ones, those of PLACE_WAITS parks, which only batches need that are not short; of
 *     others, those of a slice. Counted are turns in which the queue's active buffer is not empty,
 *     and has been the active one: that goes on for ever if the batch does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "daemon/engine/send/place.h"
#include "tests/sim/sim.h"

enum {
    ENDLESS_MATE = 0, /* root */
    ENDLESS_WORKER = 0,
    ENDLESS_THROUGHPUT_MAX = 8, /* of quick turns */
};

struct endless {
    bool there;
    bool halted;        /* it is to send nothing any more */
    bool told;          /* it has had its first message */
    uint32_t crowd;     /* messages that it has at once */
    uint32_t turn_ns;   /* 0: quick, and the throughput is small; else it is large */
    uint32_t turns_max; /* endless.N1 */
    uint32_t turns;     /* while somebody has waited in the buffer that is active */
    uint32_t active;    /* which that is */
    uint32_t crashes;   /* behind so many that was counted */
    uint64_t bounded;   /* waits that have ended, behind half of turns_max and more */
};

/* Behind everything else that is drawn, by chances of its own: loads without it are what they would
 * be. */
void endless_draw(void);
uint32_t endless_throughput(struct sim_random *random);
void endless_register(struct engine *engine);
/* Control thread, in each life of the engine. */
void endless_begin(struct engine *engine);
