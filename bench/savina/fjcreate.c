/* SPDX-License-Identifier: Apache-2.0 */
/* 4, fork-join actor creation: actors that live for one message.
 *
 * `n` times, the head makes an actor and sends it one message, for which it computes the square of
 * a sine, and ends. Messages: n. Check: so many have been computed.
 *
 * The head makes 4,096 in a turn, then goes on in the next one. What has been computed is counted
 * in memory that the actors of a worker share: a message of each would be as much work as theirs.
 * Whoever takes the time waits until all have ended.
 */
#include "lcg.h"
#include "program.h"

ODEON_ARGUMENTS(fjcreate_args, { uint64_t n; });

ODEON_SIGNAL(fjcreate_work, 1);
ODEON_INTERFACE(fjcreate_actor, fjcreate_work);

ODEON_STATELESS(fjcreate_actor);

ODEON_RECEIVE(fjcreate_actor, fjcreate_work)
{
    if (lcg_compute())
        program_count(ctx, 0);
    return ODEON_DELETE;
}

ODEON_HANDLERS(fjcreate_actor, ODEON_ON(fjcreate_actor, fjcreate_work));
ODEON_ACTOR_TYPE(fjcreate_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_fjcreate, {
    struct program program;
    struct fjcreate_args args;
    fjcreate_actor_ref last; /* is there, and waits for its message */
    bool waits;
    uint64_t made;
});

static void fjcreate_accept(struct savina_fjcreate_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 100000000);
}

static int fjcreate_step(struct savina_fjcreate_state *self, struct odeon_context *ctx)
{
    self->program.messages = self->args.n;
    for (uint32_t i = 0; i < PROGRAM_TURN && self->made < self->args.n; i++) {
        int r = self->waits ? 0 : odeon_spawn_into(ctx, &self->last, fjcreate_actor);
        if (r == 0) {
            self->waits = true;
            r = odeon_signal(ctx, self->last, fjcreate_work);
        }
        if (program_is_full(r))
            return PROGRAM_AGAIN;
        if (r < 0)
            return r;
        self->waits = false;
        self->made++;
    }
    return self->made < self->args.n ? PROGRAM_AGAIN : PROGRAM_DONE;
}

static void fjcreate_verify(struct savina_fjcreate_state *self)
{
    program_expect(&self->program, "computed", program_counted(0), (int64_t)self->args.n);
}

PROGRAM(fjcreate);
