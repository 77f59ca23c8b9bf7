/* SPDX-License-Identifier: Apache-2.0 */
/* timer_arm and timer_cancel: what arming a timer costs, and taking it back, while --actors others
 * are armed.
 *
 * One actor arms n timers for times between one and two hours from now, drawn evenly, a thousand in
 * each turn, and takes all of them back in the order in which it has armed them; --rounds times.
 * Clock: of the first halves, or of the second ones. Messages: timers. Those that are armed before
 * belong to other actors, for one alone may have half of what the others leave.
 */
#include "driver.h"

#include <stdlib.h>

#define DEFAULT_TIMERS 100000u
#define HOUR_NS        (3600 * ODEON_SECOND_NS)
enum { TIMERS_STEP = 1000, TIMERS_FILLERS = 12 };

ODEON_MESSAGE(bench_fill, 1, { uint64_t left; });
ODEON_MESSAGE(bench_filled, 1, { uint64_t left; });
ODEON_SIGNAL(bench_timer_go, 1);
ODEON_SIGNAL(bench_timer_due, 1);
ODEON_INTERFACE(bench_filler, bench_fill, bench_timer_due);
ODEON_INTERFACE(bench_timer_arm, bench_run, bench_filled, bench_timer_go, bench_timer_due);
ODEON_INTERFACE(bench_timer_cancel, bench_run, bench_filled, bench_timer_go, bench_timer_due);

static uint64_t timers_draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return HOUR_NS + (*seed >> 24) * UINT64_C(3274); /* 2^40 of these are an hour */
}

/* ---- those that are armed before ---- */

ODEON_STATE(bench_filler, {
    odeon_ref driver;
    uint64_t seed;
});

/* Arms what is left to arm, until it may have no more, and says what is left then. */
ODEON_RECEIVE(bench_filler, bench_fill)
{
    uint64_t left = msg->left;
    int r = 0;

    if (ctx->sender != ctx->self) {
        self->driver = ctx->sender;
        self->seed = ctx->self;
    }
    for (uint32_t i = 0; i < TIMERS_STEP && left > 0 && r == 0; i++) {
        r = odeon_signal_after(ctx, NULL, timers_draw(&self->seed), odeon_self(ctx, bench_filler),
                               bench_timer_due);
        left -= r == 0;
    }
    if (r == 0 && left > 0)
        odeon_send(ctx, odeon_self(ctx, bench_filler), bench_fill, .left = left);
    else
        odeon_send_any(ctx, self->driver, bench_filled, .left = left);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_filler, bench_timer_due)
{
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_filler, ODEON_ON(bench_filler, bench_fill),
               ODEON_ON(bench_filler, bench_timer_due));
/* Its timers go on when the executor has died: what a recovery with so many takes is measured, too
 * (bench/timers/run.sh). */
ODEON_ACTOR_TYPE(bench_filler, ODEON_POLICY(ODEON_RESTART_KEEP));

/* ---- the drivers ---- */

struct timers_driver {
    odeon_ref client;
    uint64_t n, all, rounds, armed, cancelled, seed, elapsed_ns;
    uint64_t turn_ns;    /* when the last turn began, and ... */
    odeon_timer *timers; /* n */
    bench_filler_ref fillers[TIMERS_FILLERS];
    uint32_t turn_cancelled;     /* ... what it did */
    uint32_t n_fillers, cancels; /* 1: it is the second half that is clocked */
};

static int timers_fail(struct timers_driver *self, struct odeon_context *ctx, int error,
                       const char *what)
{
    free(self->timers);
    self->timers = NULL;
    return driver_fail(ctx, self->client, error, what);
}

/* One more that arms what is left. */
static int timers_fill(struct timers_driver *self, struct odeon_context *ctx, uint64_t left)
{
    bench_filler_ref *filler = &self->fillers[self->n_fillers];
    int r;

    if (self->n_fillers == TIMERS_FILLERS)
        return timers_fail(self, ctx, -EAGAIN, "more timers than may be armed (setting timers)");
    r = odeon_spawn_into(ctx, filler, bench_filler, .placement = ODEON_PLACE_HERE);
    if (r == 0)
        r = odeon_send(ctx, *filler, bench_fill, .left = left);
    if (r < 0)
        return timers_fail(self, ctx, r, "cannot make a filler");
    self->n_fillers++;
    return ODEON_NODELETE;
}

static int timers_begin(struct timers_driver *self, struct odeon_context *ctx,
                        const struct bench_run *run)
{
    self->client = ctx->sender;
    self->n = driver_default(run->n, DEFAULT_TIMERS);
    self->all = self->rounds = driver_default(run->rounds, 1);
    self->timers = calloc(self->n, sizeof(*self->timers));
    if (!self->timers)
        return timers_fail(self, ctx, -ENOMEM, "no memory");
    if (run->actors > 0)
        return timers_fill(self, ctx, run->actors);
    odeon_signal_any(ctx, ctx->self, bench_timer_go);
    return ODEON_NODELETE;
}

static int timers_filled(struct timers_driver *self, struct odeon_context *ctx, uint64_t left)
{
    if (left > 0)
        return timers_fill(self, ctx, left);
    odeon_signal_any(ctx, ctx->self, bench_timer_go);
    return ODEON_NODELETE;
}

static int timers_arm(struct timers_driver *self, struct odeon_context *ctx)
{
    int r = 0;

    for (uint32_t i = 0; i < TIMERS_STEP && self->armed < self->n && r == 0; i++, self->armed++)
        r = self->cancels
                ? odeon_signal_after(ctx, &self->timers[self->armed], timers_draw(&self->seed),
                                     odeon_self(ctx, bench_timer_cancel), bench_timer_due)
                : odeon_signal_after(ctx, &self->timers[self->armed], timers_draw(&self->seed),
                                     odeon_self(ctx, bench_timer_arm), bench_timer_due);
    return r;
}

static int timers_cancel(struct timers_driver *self, struct odeon_context *ctx)
{
    int r = 0;

    for (uint32_t i = 0; i < TIMERS_STEP && self->cancelled < self->n && r == 0; i++)
        r = odeon_timer_cancel(ctx, self->timers[self->cancelled++]);
    return r;
}

static int timers_end(struct timers_driver *self, struct odeon_context *ctx)
{
    if (self->cancels) /* the last turn */
        self->elapsed_ns += odeon_now_ns(ctx) - self->turn_ns;
    for (uint32_t i = 0; i < self->n_fillers; i++)
        odeon_stop(ctx, self->fillers[i], ODEON_DELETE);
    free(self->timers);
    self->timers = NULL;
    return driver_finish(ctx, self->client, self->elapsed_ns, self->n * self->all);
}

/* A turn of either half, which lasts until the next one begins. */
static int timers_go(struct timers_driver *self, struct odeon_context *ctx)
{
    uint64_t now_ns = odeon_now_ns(ctx);
    uint32_t cancelling = self->armed == self->n;
    int r = cancelling ? timers_cancel(self, ctx) : timers_arm(self, ctx);

    if (r < 0)
        return timers_fail(self, ctx, r, cancelling ? "cannot cancel" : "cannot arm");
    if (self->turn_ns != 0 && self->turn_cancelled == self->cancels)
        self->elapsed_ns += now_ns - self->turn_ns;
    self->turn_ns = now_ns;
    self->turn_cancelled = cancelling;
    if (self->cancelled == self->n) {
        self->armed = self->cancelled = 0;
        if (--self->rounds == 0)
            return timers_end(self, ctx);
    }
    odeon_signal_any(ctx, ctx->self, bench_timer_go);
    return ODEON_NODELETE;
}

#define DRIVER(name_, cancels_)                                                                    \
    ODEON_STATE(name_, { struct timers_driver driver; });                                          \
    ODEON_RECEIVE(name_, bench_run)                                                                \
    {                                                                                              \
        self->driver.cancels = (cancels_);                                                         \
        return timers_begin(&self->driver, ctx, msg);                                              \
    }                                                                                              \
    ODEON_RECEIVE(name_, bench_filled)                                                             \
    {                                                                                              \
        return timers_filled(&self->driver, ctx, msg->left);                                       \
    }                                                                                              \
    ODEON_RECEIVE(name_, bench_timer_go)                                                           \
    {                                                                                              \
        return timers_go(&self->driver, ctx);                                                      \
    }                                                                                              \
    ODEON_RECEIVE(name_, bench_timer_due)                                                          \
    {                                                                                              \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_HANDLERS(name_, ODEON_ON(name_, bench_run), ODEON_ON(name_, bench_filled),               \
                   ODEON_ON(name_, bench_timer_go), ODEON_ON(name_, bench_timer_due));             \
    ODEON_ACTOR_TYPE(name_)

DRIVER(bench_timer_arm, 0);
DRIVER(bench_timer_cancel, 1);
