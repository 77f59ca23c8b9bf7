/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/keeper.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/engine_context.h"
#include "daemon/engine/timers/shelf.h"
#include "proto/envelope.h"
#include "tests/sim/lodger.h"
#include "tests/sim/mayfly.h"
#include "tests/sim/promises.h"
#include "tests/sim/workload.h"

enum {
    KEEPER_PASSES = 3,
    KEEPER_PERIOD_NS = 100000,
    KEEPER_REFRAIN = 1000,
    /* In one of so many seeds a turn that asks where it has taken an answer is the last one before
     * a crash, within so many changes (shelf.SH3). */
    KEEPER_SEEDS = 4,
    KEEPER_CHANGES = 32,
};

static struct keeper_types types;

const struct keeper_types *keeper_get_types(void)
{
    return &types;
}

/* One that has been made. */
static actor_ref keeper_any(const struct engine_context *ctx)
{
    uint32_t index = promises_draw_below(workload.promises.n);
    actor_ref ref = workload.promises.keepers[index].ref;
    return ref ? ref : ctx->self;
}

/* ---- what it makes */

static void keeper_arm(const struct keeper *self, struct engine_context *ctx,
                       struct keeper_book *book)
{
    struct engine_timer_times times = { .delay_ns = promises_draw_one_in(4) ? 0
                                                    : promises_draw_one_in(6)
                                                        ? promises_draw_below(4000000)
                                                        : promises_draw_below(300000) };
    if (promises_draw_one_in(5))
        times.period_ns = KEEPER_PERIOD_NS + promises_draw_below(500000);
    struct promise *promise = promises_make(book, times.period_ns ? PROMISE_PERIOD : PROMISE_TIMER);
    struct promise_message tick = { .keeper = self->index, .number = book->n - 1 };
    promise->due_ns = sim.now + times.delay_ns;
    promise->period_ns = times.period_ns;
    promises_must(engine_ctx_send_after(ctx, ctx->self, types.tick, 255, &tick, sizeof(tick),
                                        &times, &promise->id),
                  "arm a timer");
    promise->arming_ns = sim.now + times.delay_ns - promise->due_ns;
}

/* Some are over at once, some wait, and half of them are on a shelf at first (timers/shelf.h). */
static uint64_t keeper_draw_timeout(void)
{
    if (promises_draw_one_in(2))
        return SHELF_TIMEOUT_MIN_NS + promises_draw_below((uint32_t)SHELF_TIMEOUT_MIN_NS);
    return 1 + promises_draw_below(promises_draw_one_in(3) ? 100000 : 3000000);
}

/* Now and then it is a mayfly, which has ended, or takes no questions. */
static void keeper_ask(const struct keeper *self, struct engine_context *ctx,
                       struct keeper_book *book)
{
    uint64_t timeout_ns = keeper_draw_timeout();
    actor_ref to = keeper_any(ctx);
    uint32_t at = book->n ? promises_draw_below(book->n) : 0;
    if (book->n && book->promises[at].kind == PROMISE_END)
        to = book->promises[at].mayfly;
    actor_ref lodger = lodger_any();
    struct promise *promise = promises_make(book, PROMISE_QUESTION);
    if (lodger) {
        to = lodger;
        promise->lodges = true;
    }
    struct promise_message question = { .keeper = self->index, .number = book->n - 1 };
    promise->due_ns = sim.now + timeout_ns;
    int r =
        engine_ctx_ask(ctx, to, types.question, 255,
                       &(struct engine_pieces){ .head = &question, .head_size = sizeof(question) },
                       timeout_ns, &promise->id);
    if (promises_is_full(r) || (r == -ESRCH && at < book->n - 1 && to == book->promises[at].mayfly))
        book->n--; /* there is no room; or it is known to have ended */
    else
        promises_must(r, "ask");
}

static void keeper_have_mayfly(const struct keeper *self, struct engine_context *ctx,
                               struct keeper_book *book)
{
    struct promise_message args = { .keeper = self->index, .number = book->n };
    actor_ref mayfly;
    if (mayfly_spawn(ctx, &args, promises_draw_one_in(2), &mayfly) < 0)
        return;
    struct promise *promise = promises_make(book, PROMISE_END);
    promise->mayfly = mayfly;
    promises_must(engine_ctx_monitor(ctx, mayfly, &promise->id), "monitor");
    mayfly_tell(ctx, mayfly, &args);
}

static void keeper_sing(struct keeper *self, struct engine_context *ctx)
{
    static const uint8_t refrain[KEEPER_REFRAIN];
    struct promise_message song = { .keeper = self->index, .number = self->sung + 1 };
    int r = engine_ctx_publish(
        ctx, KEEPERS_GROUP, types.song,
        &(struct engine_pieces){ .head = &song,
                                 .head_size = sizeof(song),
                                 .tail = refrain,
                                 .tail_size = workload.promises.crowded ? sizeof(refrain) : 0 });
    if (r == -EAGAIN || r == -ENOENT) /* its first member's turn has not been committed */
        return;
    promises_must(r, "sing");
    self->sung++;
    promises_sing(self->index, self->sung);
    workload.promises.counted.songs++;
}

static void keeper_join(struct keeper *self, struct engine_context *ctx)
{
    if (self->joined)
        return;
    int r = engine_ctx_join(ctx, KEEPERS_GROUP);
    /* another turn makes the group, or other actors have all slots just now: the next time */
    if (r == -EAGAIN || r == -ENOSPC)
        return;
    promises_must(r, "join");
    self->joined = 1;
}

/* What has been sung before it has left may still come. */
static void keeper_leave(struct keeper *self, struct engine_context *ctx, struct keeper_book *book)
{
    if (!self->joined)
        return;
    promises_must(engine_ctx_leave(ctx, KEEPERS_GROUP), "leave");
    self->joined = 0;
    book->member = false;
    memset(book->from, 0, sizeof(book->from));
    workload.promises.counted.left++;
}

static void keeper_become(struct keeper *self, struct engine_context *ctx)
{
    self->phase = !self->phase;
    promises_must(engine_ctx_become(ctx, self->phase ? "other" : "initial"), "become another");
    workload.promises.counted.phases++;
}

/* ---- what it takes back, and pays */

/* One by lot, of those that are open. False: it had come already, and is under way (else it is lost
 * in the end), or there is none. */
static bool keeper_give_up_one(struct engine_context *ctx, struct keeper_book *book,
                               enum promise_kind kind,
                               int (*give_up)(struct engine_context *ctx, uint64_t id))
{
    struct promise *promise = promises_open(book, kind);
    if (!promise)
        return false;
    int r = give_up(ctx, promise->id);
    if (r == -ENOENT && kind != PROMISE_PERIOD)
        return false;
    promises_must(r, "give up what it was promised");
    promise->given_up = book->turn;
    return true;
}

static void keeper_pay(struct keeper *self, struct engine_context *ctx)
{
    if (!self->owed.there || promises_draw_one_in(2))
        return;
    struct engine_promise promise;
    memcpy(promise.words, self->owed.words, sizeof(promise.words));
    int r = engine_ctx_answer(ctx, &promise, types.answer,
                              &(struct engine_pieces){ .head = &self->owed.question,
                                                       .head_size = sizeof(self->owed.question) });
    if (promises_is_full(r))
        return;
    if (r != -ESTALE)
        promises_must(r, "answer later");
    workload.promises.counted.late_answers += r == 0;
    self->owed.there = 0;
}

/* What is put off comes back while a turn is still sure to come. */
static void keeper_take_back(struct keeper *self, struct engine_context *ctx,
                             const struct keeper_book *book)
{
    if (self->n_put_off == self->n_back || (promises_any_open(book) && !promises_draw_one_in(3)))
        return;
    int r = engine_ctx_unstash(ctx, 0);
    promises_must(r, "take back what is put off");
    if ((uint32_t)r != self->n_put_off - self->n_back)
        sim_fail("keeper %u has put %u off, and gets %d back", self->index,
                 self->n_put_off - self->n_back, r);
    self->n_back = self->n_put_off;
}

/* ---- its turns */

static void keeper_make_one(const struct keeper *self, struct engine_context *ctx,
                            struct keeper_book *book)
{
    switch (promises_draw_below(5)) {
    case 0:
    case 1:
        keeper_arm(self, ctx, book);
        return;
    case 2:
    case 3:
        keeper_ask(self, ctx, book);
        return;
    default:
        keeper_have_mayfly(self, ctx, book);
    }
}

/* Something is open until all is made that is to be. */
static void keeper_make(struct keeper *self, struct engine_context *ctx, struct keeper_book *book)
{
    if (promises_draw_one_in(8))
        keeper_leave(self, ctx, book);
    else
        keeper_join(self, ctx);
    for (uint32_t n = promises_draw_below(3); n > 0 && book->n < book->most; n--)
        keeper_make_one(self, ctx, book);
    if (book->n < book->most && !promises_draw_one_in(3))
        keeper_sing(self, ctx);
    if (promises_draw_one_in(6))
        keeper_become(self, ctx);
    if (book->n < book->most && !promises_any_open(book))
        keeper_arm(self, ctx, book);
}

static void keeper_give_up(struct engine_context *ctx, struct keeper_book *book)
{
    struct promises_counted *counted = &workload.promises.counted;
    if (promises_draw_one_in(4))
        counted->cancelled += keeper_give_up_one(ctx, book, PROMISE_TIMER, engine_ctx_timer_cancel);
    if (promises_draw_one_in(4) || book->n == book->most)
        counted->cancelled +=
            keeper_give_up_one(ctx, book, PROMISE_PERIOD, engine_ctx_timer_cancel);
    if (promises_draw_one_in(4))
        counted->withdrawn +=
            keeper_give_up_one(ctx, book, PROMISE_QUESTION, engine_ctx_ask_cancel);
    if (promises_draw_one_in(4))
        counted->demonitored += keeper_give_up_one(ctx, book, PROMISE_END, engine_ctx_demonitor);
}

/* Last in each behaviour. Behind what is open and to be made it only hears the rest. */
static int keeper_act(struct keeper *self, struct engine_context *ctx, struct keeper_book *book)
{
    if (book->n < book->most || promises_any_open(book)) {
        keeper_give_up(ctx, book);
        keeper_make(self, ctx, book);
    }
    keeper_pay(self, ctx);
    keeper_take_back(self, ctx, book);
    book->puts_off = self->n_put_off > 0;
    book->running = false;
    return ALLOCATION_NODELETE;
}

/* promises.P1. One message of a timer that comes again: of what is under way when it is cancelled
 * nothing is run behind that (timers.TM7). */
static void keeper_period(const struct engine_context *ctx, const struct keeper_book *book,
                          struct promise *promise)
{
    uint64_t missed = ctx->kind & UINT32_MAX, due_ns = promise->due_ns;
    if (promise->given_up)
        sim_fail("keeper %u got a period in turn %u, and had cancelled it in turn %u",
                 (uint32_t)(book - workload.promises.keepers), book->turn, promise->given_up);
    due_ns += missed * promise->period_ns;
    if (due_ns > sim.now)
        sim_fail("a period comes %lld ns early, behind %llu that it missed",
                 (long long)(due_ns - sim.now), (unsigned long long)missed);
    promise->due_before_ns = promise->due_ns;
    promise->due_ns = due_ns + promise->period_ns;
    promise->last = book->turn;
    workload.promises.counted.periods++;
}

static int keeper_tick(struct keeper *self, const void *message, struct engine_context *ctx)
{
    struct keeper_book *book = promises_turn(self);
    struct promise_message tick;
    memcpy(&tick, message, sizeof(tick));
    if (tick.number == PROMISES_MAX)
        return keeper_act(self, ctx, book);
    if (tick.keeper != self->index)
        sim_fail("keeper %u got a timer of keeper %u", self->index, tick.keeper);
    if (promises_is(book, tick.number, PROMISE_PERIOD)) {
        keeper_period(ctx, book, &book->promises[tick.number]);
        return keeper_act(self, ctx, book);
    }
    const struct promise *promise = promises_settle(book, tick.number, PROMISE_TIMER);
    if (promise->due_ns > sim.now)
        sim_fail("keeper %u got a timer %lld ns early", self->index,
                 (long long)(promise->due_ns - sim.now));
    workload.promises.counted.fired++;
    return keeper_act(self, ctx, book);
}

static int keeper_tick_initial(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    if (self->phase != 0)
        sim_fail("keeper %u is in another phase than its state says", self->index);
    return keeper_tick(self, message, ctx);
}

static int keeper_tick_other(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    if (self->phase != 1)
        sim_fail("keeper %u is not in the phase that its state says", self->index);
    return keeper_tick(self, message, ctx);
}

static bool keeper_is_put_off(const struct keeper *self, const struct promise_message *question,
                              uint32_t i)
{
    return memcmp(&self->put_off[i], question, sizeof(*question)) == 0;
}

/* promises.P4. True: the question has been put off. */
static bool keeper_put_off(struct keeper *self, struct engine_context *ctx,
                           const struct keeper_book *book, const void *message,
                           const struct promise_message *question)
{
    if (self->n_back > 0) {
        if (!keeper_is_put_off(self, question, 0)) {
            for (uint32_t i = 1; i < self->n_put_off; i++)
                if (keeper_is_put_off(self, question, i))
                    sim_fail("keeper %u gets back first what it has put off as number %u",
                             self->index, i);
            return false; /* the mailbox's throughput has let it through before them */
        }
        self->n_back--;
        self->n_put_off--;
        memmove(&self->put_off[0], &self->put_off[1], self->n_put_off * sizeof(self->put_off[0]));
        workload.promises.counted.put_off++;
        return false;
    }
    if (self->n_put_off == KEEPER_PUTS_OFF || !promises_any_open(book) || !promises_draw_one_in(3))
        return false;
    promises_must(engine_ctx_stash(ctx, message), "put a question off");
    self->put_off[self->n_put_off++] = *question;
    return true;
}

static void keeper_answer(struct keeper *self, struct engine_context *ctx, const void *message,
                          const struct promise_message *question)
{
    struct engine_promise promise;
    int r;
    switch (promises_draw_below(5)) {
    case 0: /* not at all */
        return;
    case 1:
        if (self->owed.there)
            break;
        promises_must(engine_ctx_reply_later(ctx, &promise), "reply later");
        memcpy(self->owed.words, promise.words, sizeof(promise.words));
        self->owed.question = *question;
        self->owed.there = 1;
        return;
    case 2:
        if (ctx->hops >= KEEPER_PASSES)
            break;
        r = engine_ctx_forward(ctx, keeper_any(ctx), message);
        if (promises_is_full(r))
            break;
        promises_must(r, "pass a question on");
        workload.promises.counted.passed_on++;
        return;
    default:
        break;
    }
    r = engine_ctx_reply(ctx, types.answer, question, sizeof(*question), NULL, 0);
    if (!promises_is_full(r))
        promises_must(r, "answer");
}

static int keeper_question(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct promise_message question;
    memcpy(&question, message, sizeof(question));
    if (!keeper_put_off(self, ctx, book, message, &question))
        keeper_answer(self, ctx, message, &question);
    return keeper_act(self, ctx, book);
}

static int keeper_answered(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct promise_message answer;
    memcpy(&answer, message, sizeof(answer));
    const struct promise *promise = promises_settle(book, answer.number, PROMISE_QUESTION);
    if (answer.keeper != self->index || promise->id != ctx->correlation)
        sim_fail("keeper %u got the answer to another question", self->index);
    workload.promises.counted.answers++;
    /* its number is not to be the next one's, for this turn may come to nothing (shelf.SH3) */
    if (book->n < book->most && promises_draw_one_in(2)) {
        keeper_ask(self, ctx, book);
        if (sim.seed % KEEPER_SEEDS == 1)
            sim_crash_soon(KEEPER_CHANGES);
    }
    return keeper_act(self, ctx, book);
}

static int keeper_no_answer(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct no_answer outcome;
    memcpy(&outcome, message, sizeof(outcome));
    uint32_t number = promises_find(book, outcome.token, PROMISE_QUESTION);
    const struct promise *promise = promises_settle(book, number, PROMISE_QUESTION);
    bool early = outcome.reason == REASON_DEADLINE && promise->due_ns > sim.now;
    bool full = outcome.reason == REASON_QUEUE_FULL && workload.promises.crowded;
    bool evicted =
        outcome.reason == REASON_STASHED && promise->lodges && sim.n_crashes > promise->crashes;
    if (early || (!full && !evicted && outcome.reason != REASON_DEADLINE &&
                  outcome.reason != REASON_NO_SUCH_ACTOR && outcome.reason != REASON_NOT_ACCEPTED))
        sim_fail("keeper %u, number %u: no answer for reason %u, %lld ns behind the deadline",
                 self->index, number, outcome.reason, (long long)(sim.now - promise->due_ns));
    workload.promises.counted.no_answers++;
    workload.promises.counted.evicted += evicted;
    return keeper_act(self, ctx, book);
}

/* promises.P3 */
static int keeper_down(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct down down;
    memcpy(&down, message, sizeof(down));
    uint32_t number = promises_find(book, down.monitor, PROMISE_END);
    const struct promise *promise = promises_settle(book, number, PROMISE_END);
    bool finished = down.reason == REASON_FINISHED && promise->word;
    bool anew = down.reason == REASON_BEGUN_ANEW && sim.n_crashes > promise->crashes &&
                !workload.promises.mayflies_last;
    if (down.ref != promise->mayfly || !(finished || anew))
        sim_fail("keeper %u, number %u: an end for reason %u, its last word came in turn %u",
                 self->index, number, down.reason, promise->word);
    workload.promises.counted.ends++;
    workload.promises.counted.ends_anew += anew;
    return keeper_act(self, ctx, book);
}

static int keeper_word(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct promise_message word;
    memcpy(&word, message, sizeof(word));
    if (word.keeper != self->index || !promises_is(book, word.number, PROMISE_END) ||
        book->promises[word.number].word)
        sim_fail("keeper %u got the last word of number %u, which nobody has promised", self->index,
                 word.number);
    book->promises[word.number].word = book->turn;
    return keeper_act(self, ctx, book);
}

/* promises.P5 */
static int keeper_song(void *state, const void *message, struct engine_context *ctx)
{
    struct keeper *self = state;
    struct keeper_book *book = promises_turn(self);
    struct promise_message song;
    memcpy(&song, message, sizeof(song));
    if (song.keeper >= workload.promises.n)
        sim_fail("keeper %u hears nobody sing", self->index);
    uint32_t *heard = &self->heard[song.keeper], from = book->from[song.keeper];
    bool gap = from != 0 && song.number > from && song.number != *heard + 1;
    if (song.number <= *heard || (gap && !workload.promises.rejects))
        sim_fail("keeper %u hears number %u of keeper %u behind number %u", self->index,
                 song.number, song.keeper, *heard);
    if (gap)
        workload.promises.n_unheard += song.number - 1 - (*heard < from ? from - 1 : *heard);
    *heard = song.number;
    return keeper_act(self, ctx, book);
}

static int keeper_init(void *state, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    if (size != sizeof(uint32_t))
        sim_fail("a keeper's arguments have %zu bytes", size);
    memcpy(&((struct keeper *)state)->index, args, size);
    return 0;
}

/* ---- types */

static uint16_t keeper_intern(struct engine *e, const char *name, bool has_tail)
{
    uint16_t id;
    promises_must(
        engine_message_type_intern(e, name, 1, sizeof(struct promise_message), has_tail, "", &id),
        "have a message type");
    return id;
}

void keeper_register(struct engine *e)
{
    enum { SIZE = sizeof(struct promise_message) };
    if (workload.promises.n == 0)
        return;
    promises_must(engine_groups_open(e), "have groups");
    types.tick = keeper_intern(e, "tick", false);
    types.question = keeper_intern(e, "question", false);
    types.answer = keeper_intern(e, "answer", false);
    types.word = keeper_intern(e, "word", false);
    types.song = keeper_intern(e, "song", true);
    const struct engine_behaviour keeper[] = {
        { .message_type = types.tick, .size = SIZE, .run = keeper_tick_initial },
        { .message_type = types.question, .size = SIZE, .run = keeper_question },
        { .message_type = types.answer, .size = SIZE, .run = keeper_answered },
        { .message_type = types.word, .size = SIZE, .run = keeper_word },
        { .message_type = types.song, .size = SIZE, .has_tail = 1, .run = keeper_song },
        { .message_type = MESSAGE_TYPE_NO_ANSWER,
          .size = sizeof(struct no_answer),
          .run = keeper_no_answer },
        { .message_type = MESSAGE_TYPE_DOWN, .size = sizeof(struct down), .run = keeper_down },
    };
    engine_behaviour_fn runs[sizeof(keeper) / sizeof(keeper[0])] = { keeper_tick_other };
    for (size_t i = 1; i < sizeof(runs) / sizeof(runs[0]); i++)
        runs[i] = keeper[i].run;
    const struct engine_behaviour_set other = { .name = "other", .run = runs };
    types.keeper = promises_type(
        e, &(struct engine_actor_type_info){ .name = "keeper",
                                             .restart = RESTART_KEEP,
                                             .state_size = sizeof(struct keeper),
                                             .n_behaviours = sizeof(keeper) / sizeof(keeper[0]),
                                             .behaviours = keeper,
                                             .n_others = 1,
                                             .others = &other,
                                             .init = keeper_init });
    mayfly_register(e);
    lodger_register(e);
}
