/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of the torture of promises: scribes (scribe.h).
 *
 * What is noted in a log stays noted when the executor dies in the turn. So a turn notes its number
 * first, which is in the kept state: if the number comes once more, what was noted below the first
 * one has not happened. All that a scribe knows of its timers and questions is in its state, too,
 * and so goes back with them.
 *
 * Threads: a log belongs to a scribe, and to the mayflies beside it in its queue: one behaviour at
 * a time. */
#include "tests/stress/scribe.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <string.h>

#include "tests/stress/scribe_log.h"

#define HOUR_US UINT32_C(3600000000)
enum { TICKS = 12, PERIODS = 2, QUESTIONS = 12, ENDS = 8 };

struct scribe_tick {
    uint64_t id, number; /* id 0: nothing */
};
struct scribe_period {
    uint64_t id, number, times, armed_ns; /* it was armed no later */
    uint64_t period_us;
};
struct scribe_asked {
    uint64_t token; /* stays behind its outcome: another one would be the checker's to judge */
    uint32_t number;
    uint16_t how, open;
};

struct scribe_end {
    uint64_t monitor, number; /* monitor 0: nothing */
};

ODEON_STATE(scribe, {
    struct scribe_log log; /* first: what is noted of it */
    uint64_t seed, hushed, timers_open, questions_open, ends_open, mayflies, blind, sung, member;
    odeon_ref others[8], mayfly;
    struct scribe_tick ticks[TICKS];
    struct scribe_period periods[PERIODS];
    struct scribe_asked asked[QUESTIONS];
    struct scribe_end ends[ENDS];
});

ODEON_INIT(scribe, struct scribe_args)
{
    self->seed = args->seed;
    self->blind = args->blind;
    scribe_log_init(&self->log, args->index + 1, args->path);
    return 0;
}

static uint64_t draw(struct scribe_state *self, uint64_t below)
{
    return scribe_mix(self->seed += UINT64_C(0x9e3779b97f4a7c15)) % below;
}

static odeon_ref other(struct scribe_state *self)
{
    return self->others[draw(self, SCRIBES)];
}

/* Another one that has its seats may ask before they have come: then it answers, and no more. */
static bool has_seats(const struct scribe_state *self)
{
    return self->others[0] != ODEON_NOBODY;
}

/* ---- timers ---- */

static void arm(struct scribe_state *self, struct odeon_context *ctx, enum scribe_due_what what,
                uint32_t delay_us)
{
    uint64_t number = scribe_note_armed(&self->log, ctx, HISTORY_ARMED, delay_us);
    odeon_timer timer;

    if (odeon_send_after(ctx, &timer, delay_us * UINT64_C(1000), odeon_self(ctx, scribe),
                         scribe_due, .number = number, .what = what) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->timers_open++;
    for (size_t i = 0; what == SCRIBE_TICK && i < TICKS; i++)
        if (self->ticks[i].id == 0) {
            self->ticks[i] = (struct scribe_tick){ .id = timer, .number = number };
            return;
        }
}

static void arm_tick(struct scribe_state *self, struct odeon_context *ctx)
{
    arm(self, ctx, SCRIBE_TICK, (uint32_t)draw(self, draw(self, 2) ? 500 : 20000));
}

static void cancel_tick(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_tick *tick = &self->ticks[draw(self, TICKS)];
    if (tick->id == 0)
        return;
    int r = odeon_timer_cancel(ctx, tick->id);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_CANCELLED : HISTORY_TIMER_GONE, tick->number, 0);
    if (r < 0 && r != -ENOENT)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->timers_open -= r == 0;
    tick->id = 0;
}

static void arm_period(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_period *period = &self->periods[draw(self, PERIODS)];
    uint32_t period_us = (uint32_t)(1000 + draw(self, 20000));
    if (period->id != 0)
        return;
    period->number = scribe_note_armed(&self->log, ctx, HISTORY_ARMED_EVERY, period_us);
    if (odeon_send_every(ctx, &period->id, period_us * UINT64_C(1000), odeon_self(ctx, scribe),
                         scribe_due, .number = period->number, .what = SCRIBE_PERIOD) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    period->times = 0;
    period->period_us = period_us;
    period->armed_ns = odeon_now_ns(ctx);
    self->timers_open++;
}

static void cancel_period(struct scribe_state *self, struct odeon_context *ctx,
                          struct scribe_period *period)
{
    if (period->id == 0)
        return;
    int r = odeon_timer_cancel(ctx, period->id);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_CANCELLED : HISTORY_TIMER_GONE, period->number,
                0);
    self->timers_open--;
    period->id = 0;
}

/* When it is quiet a periodic timer goes on until it has once come within its period: one of which
 * a time was lost, neither come nor missed, never does. */
static void take_period(struct scribe_state *self, struct odeon_context *ctx, uint64_t number)
{
    for (size_t i = 0; i < PERIODS; i++) {
        struct scribe_period *period = &self->periods[i];
        if (period->id == 0 || period->number != number)
            continue;
        period->times += 1 + odeon_timer_missed(ctx);
        if (self->hushed && odeon_now_ns(ctx) < period->armed_ns + (period->times + 1) *
                                                                       period->period_us *
                                                                       UINT64_C(1000))
            cancel_period(self, ctx, period);
    }
}

/* ---- questions ---- */

static uint32_t timeout_us(struct scribe_state *self, enum scribe_how how)
{
    switch (how) {
    case SCRIBE_LATE:
        return 1000;
    case SCRIBE_NEVER:
    case SCRIBE_MAYFLY:
        return (uint32_t)draw(self, 8000);
    default:
        return HOUR_US;
    }
}

static bool is_right(enum scribe_how how, uint32_t reason)
{
    switch (how) {
    case SCRIBE_LATE:
        return reason == 0 || reason == ODEON_REASON_DEADLINE;
    case SCRIBE_NEVER:
        return reason == ODEON_REASON_DEADLINE;
    case SCRIBE_DEAF:
        return reason == ODEON_REASON_NOT_ACCEPTED;
    case SCRIBE_MAYFLY:
        return reason == ODEON_REASON_DEADLINE || reason == ODEON_REASON_NO_SUCH_ACTOR;
    default:
        return reason == 0;
    }
}

/* Several scribes ask for the same at the same time: there is never a second one. ODEON_NOBODY:
 * another scribe is about to make it. */
static odeon_ref lamp(struct scribe_state *self, struct odeon_context *ctx)
{
    char name[] = "lamp.0";
    lamp_ref found = { ODEON_NOBODY };
    uint64_t number = draw(self, SCRIBE_LAMPS);
    struct scribe_args args = { .index = SCRIBE_FIRST_LAMP + number };
    name[sizeof(name) - 2] += (char)number;
    scribe_log_beside(&self->log, args.path, "lamp", number);
    int r = odeon_spawn_into(ctx, &found, lamp, .name = name, .find = 1, .args = &args,
                             .args_size = sizeof(args));
    if (r < 0 && r != -EAGAIN)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    return r < 0 ? ODEON_NOBODY : found.ref;
}

static void ask(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_asked *asked = &self->asked[draw(self, QUESTIONS)];
    enum scribe_how how = (enum scribe_how)draw(self, SCRIBE_HOWS);
    uint32_t us = timeout_us(self, how), hops = (uint32_t)(draw(self, 2) * draw(self, 5));
    uint64_t timeout_ns = us ? us * UINT64_C(1000) : 1;
    odeon_ref to = how == SCRIBE_MAYFLY ? self->mayfly
                   : how == SCRIBE_LAMP ? lamp(self, ctx)
                                        : other(self);
    if (asked->open || to == ODEON_NOBODY)
        return;
    asked->open = 1;
    asked->how = (uint16_t)how;
    asked->number = (uint32_t)scribe_note_asked(&self->log, ctx, us);
    int r = how == SCRIBE_DEAF ? odeon_ask_any(ctx, &asked->token, timeout_ns, to, scribe_unwanted,
                                               .number = asked->number)
                               : odeon_ask_any(ctx, &asked->token, timeout_ns, to, scribe_question,
                                               .asker = self->log.actor, .number = asked->number,
                                               .how = how, .hops = hops);
    if (r < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->questions_open++;
}

static void withdraw(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_asked *asked = &self->asked[draw(self, QUESTIONS)];
    if (!asked->open)
        return;
    int r = odeon_ask_cancel(ctx, asked->token);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_WITHDRAWN : HISTORY_ASK_GONE, asked->number, 0);
    self->questions_open--;
    asked->open = 0;
}

/* `number` 0: it is not told. `reason` 0: an answer. */
static void take_outcome(struct scribe_state *self, struct odeon_context *ctx, uint64_t number,
                         uint32_t reason)
{
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct scribe_asked *asked = &self->asked[i];
        if (asked->token != odeon_answer_token(ctx))
            continue;
        if ((number && number != asked->number) || !is_right((enum scribe_how)asked->how, reason))
            scribe_note_wrong(&self->log, ctx, __LINE__);
        scribe_note(&self->log, ctx, scribe_outcome_of(reason), asked->number, 0);
        self->questions_open -= asked->open;
        asked->open = 0;
        return;
    }
    scribe_note_wrong(&self->log, ctx, __LINE__); /* of none that is known any more */
}

static void owe(struct scribe_state *self, struct odeon_context *ctx, uint64_t number,
                uint32_t delay_us)
{
    struct odeon_promise promise = { 0 };
    if (odeon_reply_later(ctx, &promise) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    uint64_t timer = scribe_note_armed(&self->log, ctx, HISTORY_ARMED, delay_us);
    if (odeon_send_after(ctx, NULL, delay_us * UINT64_C(1000), odeon_self(ctx, scribe), scribe_owed,
                         .timer = timer, .number = number,
                         .promise = { promise.to, promise.correlation, promise.signature }) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->timers_open++;
}

/* ---- ends ---- */

/* Before it can have ended, or long behind that. `parent`: it is to end with that actor. */
static void watch(struct scribe_state *self, struct odeon_context *ctx, odeon_ref whom,
                  uint64_t parent)
{
    size_t i = 0;
    while (i < ENDS && self->ends[i].monitor)
        i++;
    if (i == ENDS || whom == ODEON_NOBODY || self->blind)
        return;
    struct scribe_end *end = &self->ends[i];
    end->number = scribe_note_watched(&self->log, ctx, parent);
    if (odeon_monitor_any(ctx, &end->monitor, whom) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->ends_open++;
}

static void watch_the_last(struct scribe_state *self, struct odeon_context *ctx)
{
    watch(self, ctx, self->mayfly, 0);
}

static void unwatch(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_end *end = &self->ends[draw(self, ENDS)];
    if (end->monitor == 0 || draw(self, 3) != 0)
        return;
    int r = odeon_demonitor(ctx, end->monitor);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_UNWATCHED : HISTORY_WATCH_GONE, end->number, 0);
    if (r == 0) { /* else its word is under way */
        self->ends_open--;
        end->monitor = 0;
    }
}

/* ---- what it does ---- */

static void have_mayfly(struct scribe_state *self, struct odeon_context *ctx)
{
    struct scribe_args args = { .index = self->log.actor | (self->mayflies + 1) << 8,
                                .blind = self->blind };
    if (draw(self, 4) != 0)
        return;
    memcpy(args.path, self->log.path, sizeof(args.path));
    mayfly_ref child = odeon_spawn(ctx, mayfly, .placement = ODEON_PLACE_HERE, .args = &args,
                                   .args_size = sizeof(args));
    if (child.ref == ODEON_NOBODY ||
        odeon_send(ctx, child, mayfly_begin, .scribe = other(self), .seed = draw(self, 1000)) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->mayfly = child.ref;
    self->mayflies++;
    watch(self, ctx, child.ref, 0);
}

static void end_period(struct scribe_state *self, struct odeon_context *ctx)
{
    if (draw(self, 4) == 0)
        cancel_period(self, ctx, &self->periods[draw(self, PERIODS)]);
}

static void sing(struct scribe_state *self, struct odeon_context *ctx)
{
    if (self->blind)
        return;
    scribe_note(&self->log, ctx, HISTORY_PUBLISHED, ++self->sung, 0);
    if (odeon_publish(ctx, SCRIBE_CHOIR, scribe_sung, .scribe = self->log.actor,
                      .number = self->sung) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
}

static void join(struct scribe_state *self, struct odeon_context *ctx)
{
    int r = odeon_join(ctx, SCRIBE_CHOIR);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_JOINED : HISTORY_IS_MEMBER, 0, 0);
    if (r < 0 && r != -EALREADY)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->member = 1;
}

static void leave(struct scribe_state *self, struct odeon_context *ctx)
{
    int r = odeon_leave(ctx, SCRIBE_CHOIR);
    scribe_note(&self->log, ctx, r == 0 ? HISTORY_LEFT : HISTORY_NO_MEMBER, 0, 0);
    if (r < 0 && r != -ENOENT)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    self->member = 0;
}

static void come_or_go(struct scribe_state *self, struct odeon_context *ctx)
{
    if (self->blind)
        return;
    (self->member ? leave : join)(self, ctx);
}

static void act(struct scribe_state *self, struct odeon_context *ctx)
{
    static void (*const acts[])(struct scribe_state *, struct odeon_context *) = {
        arm_tick,    arm_tick,    arm_tick,    arm_tick,
        cancel_tick, cancel_tick, arm_period,  end_period,
        ask,         ask,         ask,         ask,
        withdraw,    withdraw,    have_mayfly, watch_the_last,
        unwatch,     sing,        come_or_go
    };

    for (uint64_t n = draw(self, 4); n > 0 && !self->hushed && has_seats(self); n--)
        acts[draw(self, sizeof(acts) / sizeof(acts[0]))](self, ctx);
}

/* Kills are to find turns under way, with what they have noted. */
static void linger(const struct scribe_state *self)
{
    scribe_dawdle(self->log.turn % 16 == 0 ? 100000 : (unsigned)(self->log.turn % 7) * 10);
}

static void begin(struct scribe_state *self, struct odeon_context *ctx)
{
    scribe_note_turn(&self->log, ctx);
    linger(self);
}

ODEON_RECEIVE(scribe, scribe_seats)
{
    begin(self, ctx);
    memcpy(self->others, msg->others, sizeof(self->others));
    arm(self, ctx, SCRIBE_STEP, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, scribe_post)
{
    scribe_note_turn(&self->log, ctx);
    scribe_note_run(&self->log, ctx, msg->client, msg->number);
    linger(self);
    act(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, scribe_question)
{
    begin(self, ctx);
    if (ctx->hops < msg->hops && has_seats(self)) {
        if (odeon_forward_any(ctx, other(self), msg) < 0)
            scribe_note_wrong(&self->log, ctx, __LINE__);
        return ODEON_NODELETE;
    }
    if ((msg->how == SCRIBE_AT_ONCE || msg->how == SCRIBE_TWICE) &&
        odeon_reply(ctx, scribe_answer, .number = msg->number) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    if (msg->how == SCRIBE_LATER || msg->how == SCRIBE_TWICE)
        owe(self, ctx, msg->number, (uint32_t)draw(self, 3000));
    if (msg->how == SCRIBE_LATE)
        owe(self, ctx, msg->number, (uint32_t)(900 + draw(self, 200)));
    act(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, scribe_answer)
{
    begin(self, ctx);
    take_outcome(self, ctx, msg->number, 0);
    act(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, odeon_no_answer)
{
    begin(self, ctx);
    take_outcome(self, ctx, 0, msg->reason);
    act(self, ctx);
    return ODEON_NODELETE;
}

/* A mayfly keeps its state: there is one way for it to end, and one more to have been told late. A
 * moth is stopped, by the end of whom it is linked to. */
ODEON_RECEIVE(scribe, odeon_down)
{
    begin(self, ctx);
    size_t i = 0;
    while (i < ENDS && self->ends[i].monitor != msg->monitor)
        i++;
    if (i == ENDS || (msg->reason != ODEON_REASON_FINISHED && msg->reason != ODEON_REASON_STOPPED &&
                      msg->reason != ODEON_REASON_NO_SUCH_ACTOR)) {
        scribe_note_wrong(&self->log, ctx, __LINE__);
        return ODEON_NODELETE;
    }
    scribe_note(&self->log, ctx, HISTORY_DOWN, self->ends[i].number, 0);
    self->ends[i].monitor = 0;
    self->ends_open--;
    act(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, scribe_due)
{
    begin(self, ctx);
    scribe_note(&self->log, ctx, HISTORY_FIRED, msg->number, odeon_timer_missed(ctx));
    if (msg->what == SCRIBE_PERIOD)
        take_period(self, ctx, msg->number);
    else
        self->timers_open--;
    for (size_t i = 0; msg->what == SCRIBE_TICK && i < TICKS; i++)
        if (self->ticks[i].number == msg->number)
            self->ticks[i].id = 0;
    if (msg->what == SCRIBE_STEP && !self->hushed)
        arm(self, ctx, SCRIBE_STEP, (uint32_t)(1000 + draw(self, 9000)));
    act(self, ctx);
    return ODEON_NODELETE;
}

/* An answer to a question that is over is of no use, and no fault. */
ODEON_RECEIVE(scribe, scribe_owed)
{
    struct odeon_promise promise;

    begin(self, ctx);
    scribe_note(&self->log, ctx, HISTORY_FIRED, msg->timer, odeon_timer_missed(ctx));
    self->timers_open--;
    memcpy(&promise, msg->promise, sizeof(promise));
    int r = odeon_answer(ctx, &promise, scribe_answer, .number = msg->number);
    if (r < 0 && r != -ESTALE)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    act(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(scribe, moth_hatched)
{
    begin(self, ctx);
    if (!self->hushed)
        watch(self, ctx, msg->moth, msg->mayfly);
    return ODEON_NODELETE;
}

/* It does nothing upon that, or there would be ever more of them. */
ODEON_RECEIVE(scribe, scribe_sung)
{
    begin(self, ctx);
    scribe_note(&self->log, ctx, HISTORY_HEARD, msg->number, (uint32_t)msg->scribe);
    return ODEON_NODELETE;
}

/* It leaves, or is told that it is no member, whatever it knows. */
ODEON_RECEIVE(scribe, scribe_hush)
{
    begin(self, ctx);
    self->hushed = 1;
    if (!self->blind)
        leave(self, ctx);
    if (msg->last_us)
        arm(self, ctx, SCRIBE_END, (uint32_t)msg->last_us);
    odeon_reply(ctx, scribe_open, .timers = self->timers_open, .questions = self->questions_open,
                .ends = self->ends_open, .sung = self->sung);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(scribe, ODEON_ON(scribe, scribe_seats), ODEON_ON(scribe, scribe_post),
               ODEON_ON(scribe, scribe_question), ODEON_ON(scribe, scribe_answer),
               ODEON_ON(scribe, odeon_no_answer), ODEON_ON(scribe, odeon_down),
               ODEON_ON(scribe, scribe_due), ODEON_ON(scribe, scribe_owed),
               ODEON_ON(scribe, scribe_hush), ODEON_ON(scribe, moth_hatched),
               ODEON_ON(scribe, scribe_sung));
ODEON_ACTOR_TYPE(scribe, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_DECLARE_TYPE(mayfly);
ODEON_DECLARE_TYPE(moth);
ODEON_DECLARE_TYPE(lamp);
ODEON_DECLARE_TYPE(ear);
ODEON_PLUGIN("scribe", "1.0.0", ODEON_TYPE(scribe), ODEON_TYPE(mayfly), ODEON_TYPE(moth),
             ODEON_TYPE(lamp), ODEON_TYPE(ear));
