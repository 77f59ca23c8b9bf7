/* SPDX-License-Identifier: Apache-2.0 */
/* See gathered.h. Turns' numbers are in the kept state, as the promised's are (promised.c). */
#include "gathered.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <signal.h>
#include <unistd.h>

#include "tests/history/history.h"

enum { ENDS = 8, ASKER = GATHERED_MOST + 1 /* whoever asks them, in a history */ };
enum phase { HERE, AWAY };

ODEON_STATE(gathered, {
    struct gathered_args args;
    uint64_t turn, published, heard, ends, downs, puts_off;
    uint64_t monitors[ENDS];
});

static struct history_log *gathered_logs[GATHERED_MOST + 1];

ODEON_INIT(gathered, struct gathered_args)
{
    self->args = *args;
    return 0;
}

static void note(const struct gathered_state *self, struct odeon_context *ctx, unsigned kind,
                 uint64_t number, uint64_t from)
{
    struct history_log **log = &gathered_logs[self->args.number];
    struct history_record record = { .sender = self->args.number,
                                     .at_ns = odeon_now_ns(ctx),
                                     .sequence = number,
                                     .kind = (uint8_t)kind,
                                     .redelivered = ctx->redelivered != 0,
                                     .from = (uint32_t)from };

    if (!*log)
        *log = history_log_open(self->args.path, GATHERED_LOG_RECORDS);
    if (*log)
        history_log_note(*log, &record);
}

static void begin(struct gathered_state *self, struct odeon_context *ctx)
{
    note(self, ctx, HISTORY_TURN, ++self->turn, 0);
}

/* What must not fail is damage if it does. */
static void must(const struct gathered_state *self, struct odeon_context *ctx, int r, unsigned line)
{
    if (r < 0)
        note(self, ctx, 0, line, 0);
}

/* ---- what it is told to do ---- */

static void publish(struct gathered_state *self, struct odeon_context *ctx, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        note(self, ctx, HISTORY_PUBLISHED, ++self->published, 0);
        must(self, ctx,
             odeon_publish(ctx, GATHERED_GROUP, gathered_said, .from = self->args.number,
                           .number = self->published),
             __LINE__);
    }
}

static void have_child(struct gathered_state *self, struct odeon_context *ctx, odeon_ref port)
{
    gathered_child_ref child = odeon_spawn(ctx, gathered_child, .link = 1);

    must(self, ctx, child.ref == ODEON_NOBODY ? -EAGAIN : 0, __LINE__);
    must(self, ctx, odeon_send_any(ctx, port, gathered_told, .child = child.ref), __LINE__);
}

static void watch(struct gathered_state *self, struct odeon_context *ctx, odeon_ref whom,
                  uint32_t parent)
{
    uint64_t *monitor = &self->monitors[self->ends % ENDS];

    note(self, ctx, HISTORY_LINKED, ++self->ends, parent);
    must(self, ctx, odeon_monitor_any(ctx, monitor, whom), __LINE__);
}

static void take_back(struct gathered_state *self, struct odeon_context *ctx, uint32_t most)
{
    int r = most ? odeon_unstash_some(ctx, most) : odeon_unstash(ctx);

    must(self, ctx, r, __LINE__);
    note(self, ctx, HISTORY_TAKEN_BACK, (uint64_t)r, most);
    self->puts_off = 0;
}

static void become_away(const struct gathered_state *self, struct odeon_context *ctx)
{
    note(self, ctx, HISTORY_BECOMES, AWAY, 0);
    must(self, ctx, odeon_become(ctx, "away"), __LINE__);
    if (!ctx->redelivered)
        (void)kill(getpid(), SIGKILL);
}

static int act(struct gathered_state *self, struct odeon_context *ctx,
               const struct gathered_do *told, enum phase phase)
{
    begin(self, ctx);
    note(self, ctx, HISTORY_PHASE, phase, 0);
    switch (told->what) {
    case GATHERED_JOIN:
        note(self, ctx, odeon_join(ctx, GATHERED_GROUP) == 0 ? HISTORY_JOINED : HISTORY_IS_MEMBER,
             0, 0);
        break;
    case GATHERED_LEAVE:
        note(self, ctx, odeon_leave(ctx, GATHERED_GROUP) == 0 ? HISTORY_LEFT : HISTORY_NO_MEMBER, 0,
             0);
        break;
    case GATHERED_PUBLISH:
        publish(self, ctx, told->n);
        break;
    case GATHERED_HAVE_CHILD:
        have_child(self, ctx, told->port);
        break;
    case GATHERED_WATCH:
        watch(self, ctx, told->other, told->n);
        break;
    case GATHERED_PUT_OFF:
        self->puts_off = 1;
        break;
    case GATHERED_TAKE_BACK:
        take_back(self, ctx, told->n);
        break;
    case GATHERED_BECOME:
        become_away(self, ctx);
        break;
    case GATHERED_SAY:
        (void)odeon_send_any(ctx, told->port, gathered_told, .heard = self->heard,
                             .downs = self->downs);
        break;
    default:
        note(self, ctx, HISTORY_ENDED, 0, 0);
        return ODEON_DELETE;
    }
    return ODEON_NODELETE;
}

/* ---- behaviours ---- */

ODEON_RECEIVE(gathered, gathered_do)
{
    return act(self, ctx, msg, HERE);
}

ODEON_RECEIVE_IN(gathered, away, gathered_do)
{
    return act(self, ctx, msg, AWAY);
}

ODEON_RECEIVE(gathered, gathered_question)
{
    begin(self, ctx);
    note(self, ctx, HISTORY_TAKEN, msg->number, ASKER);
    if (!self->puts_off)
        return ODEON_NODELETE;
    must(self, ctx, odeon_stash(ctx, msg), __LINE__);
    note(self, ctx, HISTORY_PUT_OFF, msg->number, ASKER);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(gathered, gathered_said)
{
    begin(self, ctx);
    note(self, ctx, HISTORY_HEARD, msg->number, msg->from);
    self->heard++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(gathered, odeon_down)
{
    begin(self, ctx);
    for (uint64_t i = 0; i < ENDS; i++)
        if (self->monitors[i] == msg->monitor) {
            note(self, ctx, HISTORY_DOWN, i + 1, 0);
            self->downs |= UINT64_C(1) << i;
        }
    return ODEON_NODELETE;
}

ODEON_HANDLERS(gathered, ODEON_ON(gathered, gathered_do), ODEON_ON(gathered, gathered_question),
               ODEON_ON(gathered, gathered_said), ODEON_ON(gathered, odeon_down));
ODEON_HANDLERS_IN(gathered, away, ODEON_ON_IN(gathered, away, gathered_do),
                  ODEON_ON(gathered, gathered_question), ODEON_ON(gathered, gathered_said),
                  ODEON_ON(gathered, odeon_down));
ODEON_ACTOR_TYPE(gathered, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_BEHAVIOURS_NAME("here"),
                 ODEON_PHASES(ODEON_PHASE(gathered, away)));

ODEON_STATE(gathered_child, { uint64_t nothing; });

ODEON_RECEIVE(gathered_child, gathered_idle)
{
    return ODEON_NODELETE;
}

ODEON_HANDLERS(gathered_child, ODEON_ON(gathered_child, gathered_idle));
ODEON_ACTOR_TYPE(gathered_child, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("gathered", "1.0.0", ODEON_TYPE(gathered), ODEON_TYPE(gathered_child));
