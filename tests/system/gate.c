/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that is open or shut, and puts off who comes while it is shut. One that keeps its state,
 * and one that does not. */
#include "tests/system/gate.h"

#include <odeon/plugin.h>

ODEON_STATELESS(gate);
ODEON_STATELESS(gate_frail);

static void let_pass(struct odeon_context *ctx, uint64_t number)
{
    odeon_reply(ctx, gate_passed, .number = number);
    if (number % GATE_SHUTS == 0)
        odeon_become(ctx, "shut");
}

static void put_off(struct odeon_context *ctx, const void *message)
{
    int r = odeon_stash(ctx, message);

    if (r < 0) {
        odeon_logf(ctx, ODEON_LOG_NOTICE, "the gate's stash: %d", r);
        odeon_reply(ctx, gate_passed, .number = 0);
    }
}

static void unlock(struct odeon_context *ctx)
{
    odeon_become(ctx, "open");
    odeon_unstash(ctx);
}

ODEON_RECEIVE(gate, gate_pass)
{
    let_pass(ctx, msg->number);
    return ODEON_NODELETE;
}
ODEON_RECEIVE(gate, gate_turn)
{
    odeon_become(ctx, "shut");
    return ODEON_NODELETE;
}
ODEON_RECEIVE_IN(gate, shut, gate_pass)
{
    put_off(ctx, msg);
    return ODEON_NODELETE;
}
ODEON_RECEIVE_IN(gate, shut, gate_turn)
{
    unlock(ctx);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(gate, ODEON_ON(gate, gate_pass), ODEON_ON(gate, gate_turn));
ODEON_HANDLERS_IN(gate, shut, ODEON_ON_IN(gate, shut, gate_pass),
                  ODEON_ON_IN(gate, shut, gate_turn));
ODEON_ACTOR_TYPE(gate, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_BEHAVIOURS_NAME("open"),
                 ODEON_PHASES(ODEON_PHASE(gate, shut)));

ODEON_RECEIVE(gate_frail, gate_pass)
{
    let_pass(ctx, msg->number);
    return ODEON_NODELETE;
}
ODEON_RECEIVE(gate_frail, gate_turn)
{
    odeon_become(ctx, "shut");
    return ODEON_NODELETE;
}
ODEON_RECEIVE_IN(gate_frail, shut, gate_pass)
{
    put_off(ctx, msg);
    return ODEON_NODELETE;
}
ODEON_RECEIVE_IN(gate_frail, shut, gate_turn)
{
    unlock(ctx);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(gate_frail, ODEON_ON(gate_frail, gate_pass), ODEON_ON(gate_frail, gate_turn));
ODEON_HANDLERS_IN(gate_frail, shut, ODEON_ON_IN(gate_frail, shut, gate_pass),
                  ODEON_ON_IN(gate_frail, shut, gate_turn));
ODEON_ACTOR_TYPE(gate_frail, ODEON_BEHAVIOURS_NAME("open"),
                 ODEON_PHASES(ODEON_PHASE(gate_frail, shut)));

ODEON_PLUGIN("gate", "1", ODEON_TYPE(gate), ODEON_TYPE(gate_frail));
