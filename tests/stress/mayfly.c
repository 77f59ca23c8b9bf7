/* SPDX-License-Identifier: Apache-2.0 */
/* Mayflies: they end soon, with a timer armed and a question asked that they will not see the end
 * of. They lie in the queue of the scribe that has made them, and note in its log. Moths end with
 * the mayfly that has made them; lamps and ears do not end, and have logs of their own. */
#include <errno.h>
#include <odeon/plugin.h>
#include <string.h>

#include "tests/stress/scribe.h"
#include "tests/stress/scribe_log.h"

enum { MAYFLY_LONG = 200 }; /* some live on behind a restart */
ODEON_STATE(mayfly, {
    struct scribe_log log;
    uint64_t number, token, blind;
});

ODEON_INIT(mayfly, struct scribe_args)
{
    scribe_log_init(&self->log, args->index, args->path);
    self->blind = args->blind;
    return 0;
}

/* Anywhere: in another queue than its parent's it may be about to run when that ends. */
static int hatch(struct odeon_context *ctx, odeon_ref scribe, uint64_t more, uint64_t mayfly)
{
    moth_ref child = odeon_spawn(ctx, moth, .link = 1);

    return child.ref == ODEON_NOBODY ? -EAGAIN
                                     : odeon_send(ctx, child, moth_begin, .scribe = scribe,
                                                  .more = more, .mayfly = mayfly);
}

static void arm(struct mayfly_state *self, struct odeon_context *ctx, enum scribe_due_what what,
                uint32_t delay_us)
{
    uint64_t number = scribe_note_armed(&self->log, ctx, HISTORY_ARMED, delay_us);

    if (odeon_send_after(ctx, NULL, delay_us * UINT64_C(1000), odeon_self(ctx, mayfly), scribe_due,
                         .number = number, .what = what) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
}

ODEON_RECEIVE(mayfly, mayfly_begin)
{
    scribe_note_turn(&self->log, ctx);
    arm(self, ctx, SCRIBE_END, (uint32_t)(msg->seed * (msg->seed % 8 == 0 ? MAYFLY_LONG : 5)));
    arm(self, ctx, SCRIBE_TICK, (uint32_t)(msg->seed * 7));
    arm(self, ctx, SCRIBE_TICK, 3600u * 1000000);
    self->number = scribe_note_asked(&self->log, ctx, 3600u * 1000000);
    if (odeon_ask_any(ctx, &self->token, 3600 * ODEON_SECOND_NS, msg->scribe, scribe_question,
                      .number = self->number,
                      .how = msg->seed % 2 ? SCRIBE_LATER : SCRIBE_NEVER) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    if (self->blind)
        return ODEON_NODELETE;
    if (hatch(ctx, msg->scribe, msg->seed % 3, self->log.actor) < 0 ||
        odeon_join(ctx, SCRIBE_CHOIR) < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    scribe_note(&self->log, ctx, HISTORY_JOINED, 0, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(mayfly, scribe_sung)
{
    scribe_note_turn(&self->log, ctx);
    scribe_note(&self->log, ctx, HISTORY_HEARD, msg->number, (uint32_t)msg->scribe);
    return ODEON_NODELETE;
}

/* It says nothing. */
ODEON_RECEIVE(mayfly, scribe_question)
{
    scribe_note_turn(&self->log, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(mayfly, scribe_answer)
{
    scribe_note_turn(&self->log, ctx);
    if (odeon_answer_token(ctx) != self->token || msg->number != self->number)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    scribe_note(&self->log, ctx, HISTORY_ANSWERED, msg->number, 0);
    return ODEON_NODELETE;
}

/* Within the hour there is none. */
ODEON_RECEIVE(mayfly, odeon_no_answer)
{
    scribe_note_turn(&self->log, ctx);
    scribe_note_wrong(&self->log, ctx, __LINE__);
    scribe_note(&self->log, ctx, scribe_outcome_of(msg->reason), self->number, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(mayfly, scribe_due)
{
    scribe_note_turn(&self->log, ctx);
    scribe_note(&self->log, ctx, HISTORY_FIRED, msg->number, odeon_timer_missed(ctx));
    if (msg->what != SCRIBE_END)
        return ODEON_NODELETE;
    scribe_note(&self->log, ctx, HISTORY_ENDED, 0, 0);
    return ODEON_DELETE;
}

ODEON_HANDLERS(mayfly, ODEON_ON(mayfly, mayfly_begin), ODEON_ON(mayfly, scribe_question),
               ODEON_ON(mayfly, scribe_answer), ODEON_ON(mayfly, odeon_no_answer),
               ODEON_ON(mayfly, scribe_due), ODEON_ON(mayfly, scribe_sung));
ODEON_ACTOR_TYPE(mayfly, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_STATE(moth, { uint64_t flown; });

/* A last word of one that ends before it has begun comes, too: it is stopped behind what waits. */
ODEON_RECEIVE(moth, moth_begin)
{
    self->flown++;
    if (odeon_send_any(ctx, msg->scribe, moth_hatched, .moth = ctx->self, .mayfly = msg->mayfly) <
            0 ||
        (msg->more > 0 && hatch(ctx, msg->scribe, msg->more - 1, msg->mayfly) < 0))
        odeon_log(ctx, ODEON_LOG_ERROR, "a moth cannot hatch");
    return ODEON_NODELETE;
}

ODEON_HANDLERS(moth, ODEON_ON(moth, moth_begin));
ODEON_ACTOR_TYPE(moth, ODEON_POLICY(ODEON_RESTART_KEEP));

/* After some answers it is dark for a while, and puts off what it is asked. */
enum { LAMP_ANSWERS = 2, LAMP_DARK_NS = 1000000, LAMP_DAWDLES = 200000 };
enum lamp_phase { LAMP_LIT, LAMP_DARK };
/* `lights`: that are armed. */
ODEON_STATE(lamp, {
    struct scribe_log log;
    uint64_t answered, lights;
});

ODEON_INIT(lamp, struct scribe_args)
{
    scribe_log_init(&self->log, args->index, args->path);
    return 0;
}

/* First in each behaviour, which is one of this phase. */
static void lamp_turn(struct lamp_state *self, struct odeon_context *ctx, enum lamp_phase phase)
{
    scribe_note_turn(&self->log, ctx);
    scribe_note(&self->log, ctx, HISTORY_PHASE, phase, 0);
}

static void lamp_become(struct lamp_state *self, struct odeon_context *ctx, enum lamp_phase phase)
{
    scribe_note(&self->log, ctx, HISTORY_BECOMES, phase, 0);
    if (odeon_become(ctx, phase == LAMP_DARK ? "dark" : "lit") < 0)
        scribe_note_wrong(&self->log, ctx, __LINE__);
    scribe_dawdle(LAMP_DAWDLES);
}

static void lamp_dim(struct lamp_state *self, struct odeon_context *ctx)
{
    if (odeon_signal_after(ctx, NULL, LAMP_DARK_NS, odeon_self(ctx, lamp), lamp_light) < 0)
        return;
    self->lights++;
    lamp_become(self, ctx, LAMP_DARK);
}

ODEON_RECEIVE(lamp, scribe_question)
{
    lamp_turn(self, ctx, LAMP_LIT);
    scribe_note(&self->log, ctx, HISTORY_TAKEN, msg->number, (uint32_t)msg->asker);
    odeon_reply(ctx, scribe_answer, .number = msg->number);
    if (++self->answered % LAMP_ANSWERS == 0)
        lamp_dim(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(lamp, lamp_light)
{
    lamp_turn(self, ctx, LAMP_LIT);
    self->lights--;
    return ODEON_NODELETE;
}

/* It has no room for more than so many. If it is dark and nothing is to light it, the history
 * tells what is wrong; the run is to come to its end. */
ODEON_RECEIVE_IN(lamp, dark, scribe_question)
{
    lamp_turn(self, ctx, LAMP_DARK);
    scribe_note(&self->log, ctx, HISTORY_TAKEN, msg->number, (uint32_t)msg->asker);
    if (odeon_stash(ctx, msg) == 0)
        scribe_note(&self->log, ctx, HISTORY_PUT_OFF, msg->number, (uint32_t)msg->asker);
    else
        odeon_reply(ctx, scribe_answer, .number = msg->number);
    if (self->lights == 0)
        lamp_dim(self, ctx);
    return ODEON_NODELETE;
}

/* Where they have no room it is dark a while longer. */
ODEON_RECEIVE_IN(lamp, dark, lamp_light)
{
    lamp_turn(self, ctx, LAMP_DARK);
    self->lights--;
    int r = odeon_unstash(ctx);
    if (r < 0) {
        lamp_dim(self, ctx);
        return ODEON_NODELETE;
    }
    scribe_note(&self->log, ctx, HISTORY_TAKEN_BACK, (uint64_t)r, 0);
    lamp_become(self, ctx, LAMP_LIT);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(lamp, ODEON_ON(lamp, scribe_question), ODEON_ON(lamp, lamp_light));
ODEON_HANDLERS_IN(lamp, dark, ODEON_ON_IN(lamp, dark, scribe_question),
                  ODEON_ON_IN(lamp, dark, lamp_light));
ODEON_ACTOR_TYPE(lamp, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_BEHAVIOURS_NAME("lit"),
                 ODEON_PHASES(ODEON_PHASE(lamp, dark)));

/* `noted`: that it has joined, in its first turn; when its init ran is the service's to say. */
ODEON_STATE(ear, {
    struct scribe_log log;
    uint64_t member, noted, wrong, heard[SCRIBES];
});

ODEON_INIT(ear, struct scribe_args)
{
    scribe_log_init(&self->log, args->index, args->path);
    self->member = odeon_join(ctx, SCRIBE_CHOIR) == 0;
    return self->member ? 0 : -EAGAIN;
}

static void ear_turn(struct ear_state *self, struct odeon_context *ctx)
{
    scribe_note_turn(&self->log, ctx);
    if (!self->noted)
        scribe_note(&self->log, ctx, HISTORY_JOINED, 0, 0);
    self->noted = 1;
}

ODEON_RECEIVE(ear, scribe_sung)
{
    uint64_t *heard = &self->heard[msg->scribe - 1];

    ear_turn(self, ctx);
    scribe_note(&self->log, ctx, HISTORY_HEARD, msg->number, (uint32_t)msg->scribe);
    self->wrong += msg->number != *heard + 1;
    *heard = msg->number;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(ear, ear_ask)
{
    struct ear_says says = { .member = self->member, .wrong = self->wrong };

    ear_turn(self, ctx);
    memcpy(says.heard, self->heard, sizeof(says.heard));
    odeon_reply_(ctx, odeon_message_of(ear_says)->id, &says, sizeof(says));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(ear, ODEON_ON(ear, scribe_sung), ODEON_ON(ear, ear_ask));
ODEON_ACTOR_TYPE(ear, ODEON_POLICY(ODEON_RESTART_KEEP));
