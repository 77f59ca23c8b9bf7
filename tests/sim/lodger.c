/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/lodger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/engine/engine_context.h"
#include "tests/sim/keeper.h"
#include "tests/sim/workload.h"

enum { LODGER_ONE_IN = 2, LODGER_PUTS_OFF = 3 };

/* A lodger's state, of one life. */
struct lodger {
    uint32_t index;
    bool joined, ticks; /* a timer of its own is armed */
    bool again;         /* its first turn, of which init is a part, has been committed */
    uint32_t heard[KEEPERS_MAX];
    uint32_t n_put_off, n_back; /* as a keeper's */
    struct promise_message put_off[LODGER_PUTS_OFF];
};

static uint32_t lodger_type;

void lodger_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0xa0761d6478bd642f) };
    struct promises *promises = &workload.promises;
    if (promises->n == 0 || promises->crowded || !random_one_in(&random, LODGER_ONE_IN))
        return;
    promises->n_lodgers = 1 + random_below(&random, LODGERS_MAX);
}

/* ---- the book */

static void lodger_forget_life(struct lodger_book *book)
{
    book->running = book->joined = book->member = book->holds = false;
    memset(book->from, 0, sizeof(book->from));
    memset(book->heard, 0, sizeof(book->heard));
}

/* What the last turn has done may have been committed, or not: of that nothing is known. */
void lodger_crashed(void)
{
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++) {
        struct lodger_book *book = &workload.promises.lodgers[i];
        for (struct lodger_guest *guest = &book->guests[0][0];
             guest < &book->guests[0][0] + KEEPERS_MAX * PROMISES_MAX; guest++) {
            if (guest->turn == book->turn)
                guest->is = GUEST_UNKNOWN;
            else if (guest->is == GUEST_PUT_OFF)
                guest->is = GUEST_OUT;
        }
        lodger_forget_life(book);
    }
}

static struct lodger_book *lodger_turn(struct lodger *self)
{
    if (self->index >= workload.promises.n_lodgers)
        sim_fail("a lodger without a state runs");
    struct lodger_book *book = &workload.promises.lodgers[self->index];
    book->turn++;
    book->running = true;
    book->member = self->joined && self->again;
    self->again = true;
    workload.moved = sim.now;
    return book;
}

static void lodger_guest_is(struct lodger_book *book, const struct promise_message *question,
                            enum lodger_guest_is is)
{
    book->guests[question->keeper][question->number] =
        (struct lodger_guest){ .is = is, .turn = book->turn };
}

/* ---- its turns */

/* group.G7: in each life it is no member until it has joined. */
static void lodger_join(struct lodger *self, struct engine_context *ctx)
{
    if (self->joined)
        return;
    int r = engine_ctx_join(ctx, KEEPERS_GROUP);
    if (r == -EAGAIN) /* another turn makes the group */
        return;
    promises_must(r, "join in a new life");
    self->joined = true;
    workload.promises.lodgers[self->index].joined = true;
}

/* stash.ST4: what is of another life does not count, and does not come. */
static void lodger_take_back(struct lodger *self, struct engine_context *ctx,
                             struct lodger_book *book)
{
    int r = engine_ctx_unstash(ctx, 0);
    promises_must(r, "take back what is put off");
    if ((uint32_t)r != self->n_put_off - self->n_back)
        sim_fail("lodger %u has put %u off in this life, and gets %d back", self->index,
                 self->n_put_off - self->n_back, r);
    for (uint32_t i = self->n_back; i < self->n_put_off; i++)
        lodger_guest_is(book, &self->put_off[i], GUEST_BACK);
    self->n_back = self->n_put_off;
}

/* What is put off is taken back one day. */
static void lodger_arm(struct lodger *self, struct engine_context *ctx)
{
    struct engine_timer_times times = { .delay_ns = promises_draw_below(
                                            promises_draw_one_in(2) ? 8000000 : 600000) };
    struct promise_message tick = { 0 };
    uint64_t id;
    if (self->ticks || self->n_put_off == self->n_back)
        return;
    promises_must(engine_ctx_send_after(ctx, ctx->self, keeper_get_types()->tick, 255, &tick,
                                        sizeof(tick), &times, &id),
                  "arm a timer");
    self->ticks = true;
}

/* Last in each behaviour. */
static int lodger_act(struct lodger *self, struct engine_context *ctx, struct lodger_book *book)
{
    lodger_join(self, ctx);
    if (promises_draw_one_in(6))
        lodger_take_back(self, ctx, book);
    lodger_arm(self, ctx);
    book->holds = self->n_put_off > 0;
    book->running = false;
    return ALLOCATION_NODELETE;
}

static int lodger_tick(void *state, const void *message, struct engine_context *ctx)
{
    struct lodger *self = state;
    struct lodger_book *book = lodger_turn(self);
    (void)message;
    self->ticks = false;
    lodger_take_back(self, ctx, book);
    return lodger_act(self, ctx, book);
}

/* What has come back is the oldest of this life, or was taken back by another one: that is run as
 * what waits in its queue. */
static void lodger_is_back(struct lodger *self, const struct promise_message *question)
{
    if (self->n_back == 0)
        return;
    if (memcmp(&self->put_off[0], question, sizeof(*question)) != 0) {
        for (uint32_t i = 1; i < self->n_put_off; i++)
            if (memcmp(&self->put_off[i], question, sizeof(*question)) == 0)
                sim_fail("lodger %u gets back first what it has put off as number %u", self->index,
                         i);
        return;
    }
    self->n_back--;
    self->n_put_off--;
    memmove(&self->put_off[0], &self->put_off[1], self->n_put_off * sizeof(self->put_off[0]));
    workload.promises.counted.lodged++;
}

static void lodger_expect_guest(const struct lodger *self, const struct lodger_book *book,
                                const struct promise_message *question)
{
    static const char *const wrong[] = {
        [GUEST_PUT_OFF] = "which it has put off, and not taken back",
        [GUEST_OUT] = "which a life that is over has put off",
        [GUEST_DONE] = "which it has answered",
    };
    if (question->keeper >= workload.promises.n || question->number >= PROMISES_MAX)
        sim_fail("lodger %u is asked by nobody", self->index);
    enum lodger_guest_is is = book->guests[question->keeper][question->number].is;
    if (wrong[is])
        sim_fail("lodger %u is asked number %u of keeper %u, %s", self->index, question->number,
                 question->keeper, wrong[is]);
}

/* Nobody waits for the answer: it is not put off, for all may be over soon. */
static bool lodger_is_wanted(const struct promise_message *question)
{
    const struct promise *promise =
        &workload.promises.keepers[question->keeper].promises[question->number];
    return !promise->settled && !promise->given_up;
}

static int lodger_question(void *state, const void *message, struct engine_context *ctx)
{
    struct lodger *self = state;
    struct lodger_book *book = lodger_turn(self);
    struct promise_message question;
    memcpy(&question, message, sizeof(question));
    lodger_expect_guest(self, book, &question);
    bool back = book->guests[question.keeper][question.number].is == GUEST_BACK;
    if (back)
        lodger_is_back(self, &question);
    if (!back && self->n_back == 0 && self->n_put_off < LODGER_PUTS_OFF &&
        lodger_is_wanted(&question) && !promises_draw_one_in(4)) {
        promises_must(engine_ctx_stash(ctx, message), "put a question off");
        self->put_off[self->n_put_off++] = question;
        lodger_guest_is(book, &question, GUEST_PUT_OFF);
    } else {
        promises_must(
            engine_ctx_reply(ctx, keeper_get_types()->answer, &question, sizeof(question), NULL, 0),
            "answer");
        lodger_guest_is(book, &question, GUEST_DONE);
    }
    return lodger_act(self, ctx, book);
}

/* promises.P5, of one life. What was under way to another one may come before. */
static int lodger_song(void *state, const void *message, struct engine_context *ctx)
{
    struct lodger *self = state;
    struct lodger_book *book = lodger_turn(self);
    struct promise_message song;
    memcpy(&song, message, sizeof(song));
    if (song.keeper >= workload.promises.n)
        sim_fail("lodger %u hears nobody sing", self->index);
    uint32_t *heard = &self->heard[song.keeper], from = book->from[song.keeper];
    if (song.number <= *heard || (from != 0 && song.number > from && song.number != *heard + 1))
        sim_fail("lodger %u hears number %u of keeper %u behind number %u", self->index,
                 song.number, song.keeper, *heard);
    *heard = book->heard[song.keeper] = song.number;
    return lodger_act(self, ctx, book);
}

static int lodger_init(void *state, const void *args, size_t size, struct engine_context *ctx)
{
    struct lodger *self = state;
    if (size != sizeof(uint32_t))
        sim_fail("a lodger's arguments have %zu bytes", size);
    memcpy(&self->index, args, size);
    workload.promises.counted.lodgers_anew +=
        workload.promises.lodgers[self->index].turn > 0 && sim.n_crashes > 0;
    if (promises_draw_one_in(2))
        lodger_join(self, ctx);
    return 0;
}

/* ---- for everybody else */

void lodger_register(struct engine *e)
{
    enum { SIZE = sizeof(struct promise_message) };
    const struct keeper_types *types = keeper_get_types();
    const struct engine_behaviour behaviours[] = {
        { .message_type = types->tick, .size = SIZE, .run = lodger_tick },
        { .message_type = types->question, .size = SIZE, .run = lodger_question },
        { .message_type = types->song, .size = SIZE, .has_tail = 1, .run = lodger_song },
    };
    if (workload.promises.n_lodgers > 0)
        lodger_type =
            promises_type(e, &(struct engine_actor_type_info){
                                 .name = "lodger",
                                 .restart = RESTART_INIT,
                                 .state_size = sizeof(struct lodger),
                                 .n_behaviours = sizeof(behaviours) / sizeof(behaviours[0]),
                                 .behaviours = behaviours,
                                 .init = lodger_init });
}

void lodger_begin(struct engine *e)
{
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++) {
        struct lodger_book *book = &workload.promises.lodgers[i];
        char name[24];
        snprintf(name, sizeof(name), "lodger%u", i);
        struct engine_spawn spawn = { .placement = PLACE_SPREAD,
                                      .place = ENGINE_ANYWHERE,
                                      .name = name,
                                      .args = &i,
                                      .args_size = sizeof(i) };
        book->ref = promises_find_or_make(e, lodger_type, &spawn, book->ref);
    }
}

actor_ref lodger_any(void)
{
    if (workload.promises.n_lodgers == 0 || promises_draw_one_in(2))
        return 0;
    return workload.promises.lodgers[promises_draw_below(workload.promises.n_lodgers)].ref;
}

uint32_t lodger_members(void)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++)
        members += workload.promises.lodgers[i].joined;
    return members;
}

bool lodger_done(void)
{
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++)
        if (workload.promises.lodgers[i].running || workload.promises.lodgers[i].holds)
            return false;
    return true;
}

void lodger_check_end(const uint32_t *sung)
{
    for (uint32_t i = 0; i < workload.promises.n_lodgers; i++) {
        const struct lodger_book *book = &workload.promises.lodgers[i];
        for (uint32_t k = 0; k < workload.promises.n; k++)
            if (book->from[k] != 0 && book->from[k] <= sung[k] && book->heard[k] != sung[k])
                sim_fail("lost: lodger %u has heard keeper %u up to number %u, and not number %u",
                         i, k, book->heard[k], sung[k]);
    }
}
