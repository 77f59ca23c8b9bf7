/* SPDX-License-Identifier: Apache-2.0 */
/* 14, logistic map: who has asked waits for the answer, whatever comes.
 *
 * There are `s` computers, each with a rate, 3.46 and 0.0025 more for each, and as many workers,
 * each with a term, at first 0.0025 times its number. A master tells each worker `t` times to get
 * its next term, and then to say which it has, all in one behaviour. A worker asks its computer for
 * rate * x * (1 - x), and while it waits for that puts everything else aside, to take it up again
 * in order. The master adds up the terms, ends all, and itself.
 * Messages: 1 + 3ts + 4s. Check: the sum, as a loop has it.
 *
 * A worker is in another phase while it waits. What it puts aside is thousands of the same signal,
 * more than a stash holds: it counts them.
 */
#include "program.h"

enum { LOGMAP_SERIES_MAX = 1000 };
#define LOGMAP_RATE 3.46
#define LOGMAP_STEP 0.0025

ODEON_ARGUMENTS(logmap_args, {
    uint32_t t;
    uint32_t s;
});

ODEON_SIGNAL(logmap_start, 1);
ODEON_SIGNAL(logmap_next, 1);
ODEON_SIGNAL(logmap_get, 1);
ODEON_SIGNAL(logmap_stop, 1);
ODEON_MESSAGE(logmap_compute, 1, { double x; });
ODEON_MESSAGE(logmap_result, 1, { double x; });
ODEON_INTERFACE(logmap_computer, logmap_compute, logmap_stop);
ODEON_INTERFACE(logmap_worker, logmap_next, logmap_get, logmap_result, logmap_stop);
ODEON_INTERFACE(logmap_master, logmap_start, logmap_result);

/* ---- computers ---- */

struct logmap_computer_args {
    double rate;
};

ODEON_STATE(logmap_computer, { double rate; });

ODEON_INIT(logmap_computer, struct logmap_computer_args)
{
    self->rate = args->rate;
    return 0;
}

ODEON_RECEIVE(logmap_computer, logmap_compute)
{
    program_must(ctx, odeon_reply(ctx, logmap_result, .x = self->rate * msg->x * (1 - msg->x)));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(logmap_computer, logmap_stop)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(logmap_computer, ODEON_ON(logmap_computer, logmap_compute),
               ODEON_ON(logmap_computer, logmap_stop));
ODEON_ACTOR_TYPE(logmap_computer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- workers ---- */

struct logmap_worker_args {
    logmap_master_ref master;
    logmap_computer_ref computer;
    double x;
};

ODEON_STATE(logmap_worker, {
    struct logmap_worker_args of;
    uint32_t nexts; /* put aside, ... */
    bool get;       /* ... and behind them */
});

ODEON_INIT(logmap_worker, struct logmap_worker_args)
{
    self->of = *args;
    return 0;
}

static void logmap_ask(struct logmap_worker_state *self, struct odeon_context *ctx)
{
    program_must(ctx, odeon_send(ctx, self->of.computer, logmap_compute, .x = self->of.x));
}

static void logmap_tell(struct logmap_worker_state *self, struct odeon_context *ctx)
{
    program_must(ctx, odeon_send(ctx, self->of.master, logmap_result, .x = self->of.x));
}

ODEON_RECEIVE(logmap_worker, logmap_next)
{
    logmap_ask(self, ctx);
    program_must(ctx, odeon_become(ctx, "waiting"));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(logmap_worker, logmap_get)
{
    logmap_tell(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(logmap_worker, logmap_result) /* nothing was asked */
{
    program_fail(ctx, -EPROTO);
    return ODEON_DELETE;
}

ODEON_RECEIVE(logmap_worker, logmap_stop)
{
    return ODEON_DELETE;
}

ODEON_RECEIVE_IN(logmap_worker, waiting, logmap_next)
{
    self->nexts++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(logmap_worker, waiting, logmap_get)
{
    self->get = true;
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(logmap_worker, waiting, logmap_result)
{
    self->of.x = msg->x;
    if (self->nexts > 0) { /* the first that was put aside: it waits again */
        self->nexts--;
        logmap_ask(self, ctx);
        return ODEON_NODELETE;
    }
    if (self->get)
        logmap_tell(self, ctx);
    program_must(ctx, odeon_become(ctx, "ready"));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(logmap_worker, ODEON_ON(logmap_worker, logmap_next),
               ODEON_ON(logmap_worker, logmap_get), ODEON_ON(logmap_worker, logmap_result),
               ODEON_ON(logmap_worker, logmap_stop));
ODEON_HANDLERS_IN(logmap_worker, waiting, ODEON_ON_IN(logmap_worker, waiting, logmap_next),
                  ODEON_ON_IN(logmap_worker, waiting, logmap_get),
                  ODEON_ON_IN(logmap_worker, waiting, logmap_result),
                  ODEON_ON(logmap_worker, logmap_stop));
ODEON_ACTOR_TYPE(logmap_worker, ODEON_POLICY(ODEON_RESTART_STOP), ODEON_BEHAVIOURS_NAME("ready"),
                 ODEON_PHASES(ODEON_PHASE(logmap_worker, waiting)));

/* ---- the master ---- */

ODEON_STATE(logmap_master, {
    struct logmap_args args;
    uint32_t results;
    double sum;
    logmap_computer_ref computers[LOGMAP_SERIES_MAX];
    logmap_worker_ref workers[LOGMAP_SERIES_MAX];
});

ODEON_INIT(logmap_master, struct logmap_args)
{
    self->args = *args;
    for (uint32_t i = 0; i < args->s; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &self->computers[i], logmap_computer,
                                           ODEON_ARGS(struct logmap_computer_args,
                                                      .rate = LOGMAP_RATE + i * LOGMAP_STEP)));
        program_must(ctx, odeon_spawn_into(ctx, &self->workers[i], logmap_worker,
                                           ODEON_ARGS(struct logmap_worker_args,
                                                      .master = odeon_self(ctx, logmap_master),
                                                      .computer = self->computers[i],
                                                      .x = i * LOGMAP_STEP)));
    }
    return 0;
}

ODEON_RECEIVE(logmap_master, logmap_start)
{
    for (uint64_t i = 0; i < (uint64_t)self->args.t * self->args.s; i++)
        program_must(ctx, odeon_signal(ctx, self->workers[i % self->args.s], logmap_next));
    for (uint32_t i = 0; i < self->args.s; i++)
        program_must(ctx, odeon_signal(ctx, self->workers[i], logmap_get));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(logmap_master, logmap_result)
{
    self->sum += msg->x;
    if (++self->results < self->args.s)
        return ODEON_NODELETE;
    for (uint32_t i = 0; i < self->args.s; i++) {
        program_must(ctx, odeon_signal(ctx, self->computers[i], logmap_stop));
        program_must(ctx, odeon_signal(ctx, self->workers[i], logmap_stop));
    }
    program_report(ctx, .sum = self->sum);
    return ODEON_DELETE;
}

ODEON_HANDLERS(logmap_master, ODEON_ON(logmap_master, logmap_start),
               ODEON_ON(logmap_master, logmap_result));
ODEON_ACTOR_TYPE(logmap_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_logmap, {
    struct program program;
    struct logmap_args args;
});

static void logmap_accept(struct savina_logmap_state *self)
{
    program_range(&self->program, "s", self->args.s, 1, LOGMAP_SERIES_MAX);
    program_range(&self->program, "t", self->args.t, 1,
                  self->args.s != 0 ? 1500000 / self->args.s : 1500000);
}

static int logmap_step(struct savina_logmap_state *self, struct odeon_context *ctx)
{
    logmap_master_ref master;
    int r = odeon_spawn_into(ctx, &master, logmap_master,
                             ODEON_ARGS(struct logmap_args, .t = self->args.t, .s = self->args.s));
    if (r == 0)
        r = odeon_signal(ctx, master, logmap_start);
    self->program.awaited = 1;
    self->program.messages =
        1 + 3 * (uint64_t)self->args.t * self->args.s + 4 * (uint64_t)self->args.s;
    return r;
}

static void logmap_verify(struct savina_logmap_state *self)
{
    double sum = 0;
    for (uint32_t i = 0; i < self->args.s; i++) {
        double x = i * LOGMAP_STEP, rate = LOGMAP_RATE + i * LOGMAP_STEP;
        for (uint32_t j = 0; j < self->args.t; j++)
            x = rate * x * (1 - x);
        sum += x;
    }
    program_expect_near(&self->program, "sum", self->program.sum, sum, 1e-9);
}

PROGRAM(logmap);
