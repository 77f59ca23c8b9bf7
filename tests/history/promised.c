/* SPDX-License-Identifier: Apache-2.0 */
/* See promised.h. One actor of the type: its log, which a pointer leads to, is the process's, and
 * opened anew in each. The turns' numbers are in the kept state, so that a turn that was not
 * committed notes once more, under the same number, what it then has been promised. */
#include "promised.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <string.h>

#include "tests/history/history.h"

struct promised_path {
    char path[128];
};
struct promised_timer {
    uint64_t id, number; /* id 0: nothing */
};
struct promised_asked {
    uint64_t token;
    uint32_t number, never;
};

ODEON_STATE(promised, {
    odeon_ref port;
    uint64_t turn, timers, questions;
    struct promised_timer armed[PROMISED_TIMERS];
    struct promised_asked asked[PROMISED_QUESTIONS]; /* by number; the last ones */
    char path[128];
});

static struct history_log *promised_log;

ODEON_INIT(promised, struct promised_path)
{
    memcpy(self->path, args->path, sizeof(self->path));
    return 0;
}

static void note(const struct promised_state *self, struct odeon_context *ctx, unsigned kind,
                 uint64_t number, uint32_t span_us)
{
    struct history_record record = { .sender = 1,
                                     .at_ns = odeon_now_ns(ctx),
                                     .sequence = number,
                                     .kind = (uint8_t)kind,
                                     .redelivered = ctx->redelivered != 0,
                                     .span_us = span_us };

    if (!promised_log)
        promised_log = history_log_open(self->path, PROMISED_LOG_RECORDS);
    if (promised_log)
        history_log_note(promised_log, &record);
}

static void begin(struct promised_state *self, struct odeon_context *ctx)
{
    note(self, ctx, HISTORY_TURN, ++self->turn, 0);
}

static void remember_timer(struct promised_state *self, uint64_t id, uint64_t number)
{
    for (size_t i = 0; i < PROMISED_TIMERS; i++)
        if (self->armed[i].id == 0) {
            self->armed[i] = (struct promised_timer){ .id = id, .number = number };
            return;
        }
}

static void arm(struct promised_state *self, struct odeon_context *ctx, enum promised_what what,
                uint32_t span_us)
{
    uint64_t number = self->timers + 1, span_ns = span_us * UINT64_C(1000);
    bool every = what == PROMISED_EVERY;
    odeon_timer timer;
    int r;

    /* before it, so that the time is not behind the arming; a turn that could not arm is damage */
    note(self, ctx, every ? HISTORY_ARMED_EVERY : HISTORY_ARMED, number, span_us);
    r = every ? odeon_send_every(ctx, &timer, span_ns, odeon_self(ctx, promised), promised_due,
                                 .number = number, .every = 1)
              : odeon_send_after(ctx, &timer, span_ns, odeon_self(ctx, promised), promised_due,
                                 .number = number, .tell = what == PROMISED_TELL);
    if (r < 0)
        note(self, ctx, 0, __LINE__, 0);
    self->timers++;
    if (what != PROMISED_TELL)
        remember_timer(self, timer, number);
}

static void ask(struct promised_state *self, struct odeon_context *ctx, bool never,
                uint32_t span_us)
{
    uint64_t number = self->questions + 1, token = 0;

    note(self, ctx, HISTORY_ASKED, number, span_us);
    if (odeon_ask(ctx, &token, span_us * UINT64_C(1000), odeon_self(ctx, promised),
                  promised_question, .number = number, .never = never) < 0)
        note(self, ctx, 0, __LINE__, 0);
    self->questions++;
    self->asked[number % PROMISED_QUESTIONS] =
        (struct promised_asked){ .token = token, .number = (uint32_t)number, .never = never };
}

static void cancel(struct promised_state *self, struct odeon_context *ctx, uint64_t from)
{
    for (size_t i = 0; i < PROMISED_TIMERS; i++) {
        struct promised_timer *timer = &self->armed[i];
        if (timer->id == 0 || timer->number < from)
            continue;
        note(self, ctx,
             odeon_timer_cancel(ctx, timer->id) == 0 ? HISTORY_CANCELLED : HISTORY_TIMER_GONE,
             timer->number, 0);
        timer->id = 0;
    }
}

static void withdraw(struct promised_state *self, struct odeon_context *ctx, uint64_t from)
{
    for (size_t i = 0; i < PROMISED_QUESTIONS; i++) {
        struct promised_asked *asked = &self->asked[i];
        if (!asked->never || asked->number < from)
            continue;
        note(self, ctx,
             odeon_ask_cancel(ctx, asked->token) == 0 ? HISTORY_WITHDRAWN : HISTORY_ASK_GONE,
             asked->number, 0);
        asked->never = 0;
    }
}

/* In one turn: each call of the next ones has the service forget two that were taken back. */
static void take_back(struct promised_state *self, struct odeon_context *ctx, uint32_t n)
{
    cancel(self, ctx, n ? self->timers + 1 - n : 0);
    withdraw(self, ctx, n ? self->questions + 1 - n : 0);
}

ODEON_RECEIVE(promised, promised_do)
{
    begin(self, ctx);
    self->port = msg->port;
    switch (msg->what) {
    case PROMISED_TAKE_BACK:
        take_back(self, ctx, msg->n);
        break;
    case PROMISED_SAY:
        (void)odeon_send_any(ctx, self->port, promised_told, .number = self->timers);
        break;
    case PROMISED_ASK:
    case PROMISED_NEVER:
        for (uint32_t i = 0; i < msg->n; i++)
            ask(self, ctx, msg->what == PROMISED_NEVER, msg->span_us);
        break;
    default:
        for (uint32_t i = 0; i < msg->n; i++)
            arm(self, ctx, (enum promised_what)msg->what, msg->span_us);
        break;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(promised, promised_due)
{
    begin(self, ctx);
    note(self, ctx, HISTORY_FIRED, msg->number, odeon_timer_missed(ctx));
    for (size_t i = 0; i < PROMISED_TIMERS; i++)
        if (self->armed[i].number == msg->number && !msg->every)
            self->armed[i].id = 0;
    if (msg->tell)
        (void)odeon_send_any(ctx, self->port, promised_told, .number = msg->number);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(promised, promised_question)
{
    begin(self, ctx);
    if (!msg->never && odeon_reply(ctx, promised_answer, .number = msg->number) < 0)
        note(self, ctx, 0, __LINE__, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(promised, promised_answer)
{
    begin(self, ctx);
    note(self, ctx, HISTORY_ANSWERED, msg->number, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(promised, odeon_no_answer)
{
    uint64_t number = 0; /* nobody's */

    begin(self, ctx);
    for (size_t i = 0; i < PROMISED_QUESTIONS; i++)
        if (self->asked[i].token == msg->token) {
            number = self->asked[i].number;
            self->asked[i].never = 0;
        }
    note(self, ctx, msg->reason == ODEON_REASON_DEADLINE ? HISTORY_EXPIRED : HISTORY_UNANSWERED,
         number, 0);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(promised, ODEON_ON(promised, promised_do), ODEON_ON(promised, promised_due),
               ODEON_ON(promised, promised_question), ODEON_ON(promised, promised_answer),
               ODEON_ON(promised, odeon_no_answer));
ODEON_ACTOR_TYPE(promised, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("promised", "1.0.0", ODEON_TYPE(promised));
