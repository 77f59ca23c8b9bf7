/* SPDX-License-Identifier: Apache-2.0 */
/* What the behaviours of all kinds of traffic use. */
#pragma once

#include "tests/counting/traffic.h"

struct member {
    actor_ref ref;
    struct sim_random random;
    uint32_t sent, answers; /* the kind's */
};
extern struct member *members;
extern uint32_t n_members;

/* To another one, or itself; nothing any more when enough has been counted. */
int send_to(struct engine_context *ctx, uint32_t member);
/* To whoever sent the message that is run. */
int send_answer(struct engine_context *ctx);
