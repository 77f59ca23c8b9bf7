/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that is open or shut, and puts off who comes while it is shut: `gate`, which keeps its
 * state, and `gate_frail`, which does not, and differs in nothing else. */
#include "tests/system/gate.h"

#include <odeon/plugin.h>

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

#define GATE(name_, ...)                                                                           \
    ODEON_STATELESS(name_);                                                                        \
    ODEON_RECEIVE(name_, gate_pass)                                                                \
    {                                                                                              \
        let_pass(ctx, msg->number);                                                                \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE(name_, gate_turn)                                                                \
    {                                                                                              \
        odeon_become(ctx, "shut");                                                                 \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE_IN(name_, shut, gate_pass)                                                       \
    {                                                                                              \
        put_off(ctx, msg);                                                                         \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE_IN(name_, shut, gate_turn)                                                       \
    {                                                                                              \
        unlock(ctx);                                                                               \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_HANDLERS(name_, ODEON_ON(name_, gate_pass), ODEON_ON(name_, gate_turn));                 \
    ODEON_HANDLERS_IN(name_, shut, ODEON_ON_IN(name_, shut, gate_pass),                            \
                      ODEON_ON_IN(name_, shut, gate_turn));                                        \
    ODEON_ACTOR_TYPE(name_, ODEON_BEHAVIOURS_NAME("open"), ODEON_PHASES(ODEON_PHASE(name_, shut)), \
                     __VA_ARGS__)

GATE(gate, ODEON_POLICY(ODEON_RESTART_KEEP));
GATE(gate_frail, ODEON_POLICY(ODEON_RESTART_INIT));

ODEON_PLUGIN("gate", "1", ODEON_TYPE(gate), ODEON_TYPE(gate_frail));
