/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of savina.so have in common: their heads.
 *
 * A program NAME has spawn arguments `NAME_args`, a state savina_NAME that begins with `struct
 * program program; struct NAME_args args;`, three functions, and PROGRAM(NAME), which makes the
 * head's behaviours of them:
 *
 *     static void NAME_accept(struct savina_NAME_state *self)
 *         looks at the arguments, program_range() for each field, and prepares what is no part of
 *         the program; the clock does not run yet
 *     static int NAME_step(struct savina_NAME_state *self, struct odeon_context *ctx)
 *         makes actors and sends the first messages; what it returns, an enum program_step or a
 *         negative errno, says how it goes on
 *     static void NAME_verify(struct savina_NAME_state *self)
 *         holds what the actors have reported against what it should be: program_expect() and
 *         others
 *
 * The work is done when the last step is, and as many outcomes as `awaited` says have come. Actors
 * find the head in program_head: one program at a time runs in a service.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "savina.h"

#include <odeon/plugin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

ODEON_SIGNAL(savina_step, 1);  /* the head to itself: go on */
ODEON_SIGNAL(savina_ready, 1); /* of an actor: what was to come first has come */
/* What an actor has to tell; the head adds them up. */
ODEON_MESSAGE(savina_outcome, 1, {
    uint64_t messages; /* that no formula tells */
    int64_t count, value;
    double sum;
});
ODEON_MESSAGE(savina_failed, 1, { int64_t error; });
/* What every head accepts. */
ODEON_INTERFACE(program_any, savina_run, savina_check, savina_step, savina_ready, savina_outcome,
                savina_failed);

enum program_step {
    PROGRAM_DONE = 0,  /* that was all that the head has to do */
    PROGRAM_AGAIN = 1, /* it wants another turn */
    PROGRAM_WAIT = 2,  /* ... when `wanted` actors are ready */
};

/* How many actors a head makes, or messages it sends, in a turn. */
enum { PROGRAM_TURN = 4096 };

struct program {
    struct odeon_promise client;
    uint64_t messages; /* by the definition; what outcomes say is added */
    uint64_t outcomes, awaited, ready, wanted;
    int64_t count, value; /* of all outcomes */
    double sum;
    bool stepped; /* the last step is done */
    char what[sizeof(((struct savina_done *)NULL)->what)];
};

extern program_any_ref program_head;

/* The field must be in this range; what is wrong first is what is told. */
void program_range(struct program *program, const char *field, uint64_t value, uint64_t least,
                   uint64_t most);
/* The same with any reason: "FIELD: why". */
__attribute__((format(printf, 2, 3))) void program_refuse(struct program *program,
                                                          const char *format, ...);
void program_expect(struct program *program, const char *what, int64_t is, int64_t should);
/* Relative. */
void program_expect_near(struct program *program, const char *what, double is, double should,
                         double within);

/* The behaviours of a head. */
void program_begin(struct program *program, struct odeon_context *ctx);
int program_end(struct program *program, struct odeon_context *ctx, int error);
int program_go_on(struct program *program, struct odeon_context *ctx, int step);
int program_take(struct program *program, struct odeon_context *ctx,
                 const struct savina_outcome *outcome);
int program_tell(struct program *program, struct odeon_context *ctx);

/* What actors count where a message of each would be as much work as theirs: in memory, on a line
 * of each worker. Whoever looks, looks when all have ended. */
enum { PROGRAM_WORKERS = 1024, PROGRAM_COUNTS = 2 };
extern struct program_line {
    _Alignas(64) _Atomic uint64_t counts[PROGRAM_COUNTS];
} program_lines[PROGRAM_WORKERS];

static inline void program_count(struct odeon_context *ctx, uint32_t which)
{
    atomic_fetch_add_explicit(&program_lines[ctx->worker % PROGRAM_WORKERS].counts[which], 1,
                              memory_order_relaxed);
}
int64_t program_counted(uint32_t which);

/* Says to the head that something could not be sent or made. */
void program_fail(struct odeon_context *ctx, int error);

/* Around each send and spawn of an actor: if it fails, a message is missing, and so does the
 * program. */
static inline void program_must(struct odeon_context *ctx, int r)
{
    if (__builtin_expect(r < 0, 0))
        program_fail(ctx, r);
}

/* Of a loop that sends a lot: did this fail only because a turn may not send more? */
static inline bool program_is_full(int r)
{
    return r == -ENOBUFS || r == -EAGAIN;
}

#define program_report(ctx_, ...)                                                                  \
    program_must((ctx_), odeon_send((ctx_), program_head, savina_outcome, __VA_ARGS__))

#define PROGRAM(name_)                                                                             \
    ODEON_INTERFACE(savina_##name_, savina_run, savina_check, savina_step, savina_ready,           \
                    savina_outcome, savina_failed);                                                \
    ODEON_INIT(savina_##name_, struct name_##_args)                                                \
    {                                                                                              \
        self->args = *args;                                                                        \
        name_##_accept(self);                                                                      \
        return 0;                                                                                  \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_run)                                                      \
    {                                                                                              \
        program_begin(&self->program, ctx);                                                        \
        if (self->program.what[0] != '\0')                                                         \
            return program_end(&self->program, ctx, -EINVAL);                                      \
        return program_go_on(&self->program, ctx, name_##_step(self, ctx));                        \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_step)                                                     \
    {                                                                                              \
        return program_go_on(&self->program, ctx, name_##_step(self, ctx));                        \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_ready)                                                    \
    {                                                                                              \
        if (++self->program.ready != self->program.wanted)                                         \
            return ODEON_NODELETE;                                                                 \
        return program_go_on(&self->program, ctx, name_##_step(self, ctx));                        \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_outcome)                                                  \
    {                                                                                              \
        return program_take(&self->program, ctx, msg);                                             \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_failed)                                                   \
    {                                                                                              \
        return program_end(&self->program, ctx, (int)msg->error);                                  \
    }                                                                                              \
    ODEON_RECEIVE(savina_##name_, savina_check)                                                    \
    {                                                                                              \
        name_##_verify(self);                                                                      \
        return program_tell(&self->program, ctx);                                                  \
    }                                                                                              \
    ODEON_HANDLERS(savina_##name_, ODEON_ON(savina_##name_, savina_run),                           \
                   ODEON_ON(savina_##name_, savina_check), ODEON_ON(savina_##name_, savina_step),  \
                   ODEON_ON(savina_##name_, savina_ready),                                         \
                   ODEON_ON(savina_##name_, savina_outcome),                                       \
                   ODEON_ON(savina_##name_, savina_failed));                                       \
    ODEON_ACTOR_TYPE(savina_##name_, ODEON_POLICY(ODEON_RESTART_STOP), ODEON_TAKES(name_##_args))

#endif
