/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that ask and answer as a test orders them. Workers and control thread are the test's
 * thread, so that what happens between two of them is the test's to say. */
#pragma once

#include "daemon/engine/asks/ask.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

enum { TIMERS = TIMER_FIXTURE_TIMERS, NOTES = 64, SECOND = 1000000000, NO_ANSWER = 1000 };
#define LATER(s_) (clock_now_ns() + (s_)*UINT64_C(1000000000))

/* What an actor does with the next "go". */
enum act { ACT_NOTHING, ACT_ASK, ACT_ASK_DIE, ACT_ASK_NEW, ACT_CANCEL, ACT_ANSWER, ACT_END };
/* ... and with questions. */
enum manner { SILENT, MUMBLES, REPLIES, LATER_ON, PASSES_ON, PASSES_BOTH, REPLIES_TWICE };
struct orders {
    enum act act;
    actor_ref to;
    uint64_t timeout_ns;
    uint32_t n;
};
struct note {
    uint64_t number, token; /* NO_ANSWER + reason */
    actor_ref from;
};
/* What an init has tried, and has been handed. */
struct init {
    bool tries;
    int replied, forwarded, stashed;
    struct engine_context ctx;
};
struct shared {
    struct orders orders;
    enum manner manner;
    actor_ref next; /* who messages are passed on to */
    uint64_t hops;
    uint64_t token;
    int result;
    struct engine_promise promise;
    bool dies; /* in the handler of an outcome, once */
    uint64_t n_notes, n_inits, n_greetings;
    struct init init;
    struct note notes[NOTES];
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, question_type, answer_type, other_type, greeting_type;
static uint32_t kept_type, plain_type, deaf_type;
static actor_ref asker, other;
static uint64_t sparse_ns; /* 0: nothing is put on a shelf (timers/shelf.h); UINT64_MAX: all is */

static inline void run_queues(void)
{
    timer_fixture_run(&f);
}

static inline void fire_only(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        continue;
}

static inline void fire(uint64_t now_ns)
{
    fire_only(now_ns);
    run_queues();
}

static inline void ask(struct engine_context *ctx, const struct orders *o)
{
    for (uint64_t i = 0; i < (o->n ? o->n : 1); i++) {
        const struct engine_pieces pieces = { .head = &i, .head_size = sizeof(i) };
        shared->result = engine_ctx_ask(ctx, o->to, question_type, BEHAVIOUR_NONE, &pieces,
                                        o->timeout_ns, &shared->token);
        if (shared->result < 0)
            return;
    }
}

static inline int on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct orders o = shared->orders;
    uint64_t number = 77;
    const struct engine_pieces pieces = { .head = &number, .head_size = sizeof(number) };

    (void)self, (void)message;
    assert_int_equal(ctx->kind, 0);
    if (o.act == ACT_ASK_NEW)
        assert_int_equal(engine_ctx_spawn_plain(ctx, plain_type, PLACE_NEAR, &shared->next), 0);
    if (o.act == ACT_ASK || o.act == ACT_ASK_DIE)
        ask(ctx, &o);
    if (o.act == ACT_ASK_NEW)
        ask(ctx, &(struct orders){ .to = shared->next });
    if (o.act == ACT_CANCEL)
        shared->result = engine_ctx_ask_cancel(ctx, shared->token);
    if (o.act == ACT_ANSWER)
        shared->result = engine_ctx_answer(ctx, &shared->promise, answer_type, &pieces);
    if (o.act == ACT_ASK_DIE)
        raise(SIGKILL);
    return o.act == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static inline int on_question(void *self, const void *message, struct engine_context *ctx)
{
    uint64_t number = 0;

    (void)self;
    memcpy(&number, message, sizeof(number));
    number += 100;
    assert_int_equal(ctx->kind, 0);
    shared->hops = ctx->hops;
    switch (shared->manner) {
    case REPLIES_TWICE:
        assert_int_equal(engine_ctx_reply(ctx, answer_type, &number, sizeof(number), NULL, 0), 0);
        __attribute__((fallthrough));
    case REPLIES:
        assert_int_equal(engine_ctx_reply(ctx, answer_type, &number, sizeof(number), NULL, 0), 0);
        break;
    case LATER_ON:
        assert_int_equal(engine_ctx_reply_later(ctx, &shared->promise), 0);
        break;
    case PASSES_ON:
        shared->manner = REPLIES;
        __attribute__((fallthrough));
    case PASSES_BOTH:
        shared->result = engine_ctx_forward(ctx, shared->next, message);
        break;
    case MUMBLES: /* what nobody here takes */
        assert_int_equal(engine_ctx_reply(ctx, other_type, &number, sizeof(number), NULL, 0), 0);
        break;
    case SILENT:
        break;
    }
    return ALLOCATION_NODELETE;
}

static inline void note(uint64_t number, const struct engine_context *ctx)
{
    assert_int_equal(ctx->kind >> 56, KIND_ANSWER);
    if (shared->dies) {
        shared->dies = false;
        raise(SIGKILL);
    }
    shared->notes[shared->n_notes++ % NOTES] =
        (struct note){ .number = number, .token = ctx->correlation, .from = ctx->sender };
}

static inline int on_answer(void *self, const void *message, struct engine_context *ctx)
{
    uint64_t number = 0;

    (void)self;
    memcpy(&number, message, sizeof(number));
    /* an answer answers nothing itself: what is replied to it is a plain message */
    if (shared->manner == REPLIES && shared->next == ctx->self) {
        shared->orders.act = ACT_NOTHING;
        assert_int_equal(engine_ctx_reply(ctx, go_type, NULL, 0, NULL, 0), 0);
    }
    note(number, ctx);
    return ALLOCATION_NODELETE;
}

static inline int on_no_answer(void *self, const void *message, struct engine_context *ctx)
{
    struct no_answer no_answer;

    (void)self;
    memcpy(&no_answer, message, sizeof(no_answer));
    assert_int_equal(no_answer.token, ctx->correlation);
    note(NO_ANSWER + no_answer.reason, ctx);
    return ALLOCATION_NODELETE;
}

static inline int on_greeting(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    assert_int_equal(ctx->kind, 0);
    assert_int_equal(ctx->correlation, 0);
    shared->n_greetings++;
    return ALLOCATION_NODELETE;
}

static inline int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    static const uint64_t nothing[4];
    struct init *init = &shared->init;

    (void)self, (void)args, (void)size;
    shared->n_inits++;
    if (!init->tries)
        return 0;
    init->ctx = *ctx;
    init->replied = engine_ctx_reply(ctx, greeting_type, NULL, 0, NULL, 0);
    init->forwarded = engine_ctx_forward(ctx, ctx->self, nothing);
    init->stashed = engine_ctx_stash(ctx, nothing);
    return 0;
}

static inline void register_types(void)
{
    static struct engine_behaviour behaviours[5];
    struct engine_actor_type_info info = { .name = "kept",
                                           .plugin = "test",
                                           .version = 1,
                                           .state_size = 8,
                                           .restart = RESTART_KEEP,
                                           .n_behaviours = 5,
                                           .behaviours = behaviours,
                                           .init = on_init };
    f.engine->timers.shelves.sparse_ns = sparse_ns;
    go_type = engine_fixture_message(&f, "go", 0, false);
    question_type = engine_fixture_message(&f, "question", 8, false);
    answer_type = engine_fixture_message(&f, "answer", 8, false);
    other_type = engine_fixture_message(&f, "other", 8, false);
    greeting_type = engine_fixture_message(&f, "greeting", 0, false);
    behaviours[0] = (struct engine_behaviour){ go_type, 0, 0, on_go };
    behaviours[1] = (struct engine_behaviour){ question_type, 8, 0, on_question };
    behaviours[2] = (struct engine_behaviour){ answer_type, 8, 0, on_answer };
    behaviours[3] = (struct engine_behaviour){ MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), 0,
                                               on_no_answer };
    behaviours[4] = (struct engine_behaviour){ greeting_type, 0, 0, on_greeting };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &kept_type), 0);
    info.name = "plain";
    info.restart = RESTART_INIT;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &plain_type), 0);
    info.name = "deaf"; /* neither questions nor their ends */
    info.n_behaviours = 1;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &deaf_type), 0);
}

static inline int setup_world(uint64_t how_sparse)
{
    struct engine_config config = timer_fixture_config();

    sparse_ns = how_sparse;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    config.answer_key[0] = 7;
    engine_fixture_open(&f, config);
    register_types();
    asker = engine_fixture_spawn(&f, kept_type, NULL, 0);
    other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    return setup_world(UINT64_MAX);
}

static inline int setup_without_shelf(void **state)
{
    (void)state;
    return setup_world(0);
}

static inline int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    munmap(shared, sizeof(*shared));
    return 0;
}

static inline void order_only(actor_ref who, struct orders orders)
{
    shared->orders = orders;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
}

static inline void order(actor_ref who, struct orders orders)
{
    order_only(who, orders);
    run_queues();
}

static inline void ask_other(enum manner manner)
{
    shared->manner = manner;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other });
    assert_int_equal(shared->result, 0);
}

static inline void restart(void)
{
    timer_fixture_restart(&f, register_types);
}

static inline void run_and_die(void)
{
    timer_fixture_die(&f, run_queues, register_types);
}

/* So many outcomes have been handled; the last one. */
static inline void assert_outcome(uint64_t n, uint64_t number, actor_ref from)
{
    assert_int_equal(shared->n_notes, n);
    assert_int_equal(shared->notes[n - 1].number, number);
    assert_int_equal(shared->notes[n - 1].token, shared->token);
    assert_int_equal(shared->notes[n - 1].from, from);
}

/* Nothing comes any more, and nothing is left. */
static inline void assert_over(uint64_t n)
{
    for (unsigned i = 1; i <= 3; i++)
        fire(LATER(i * 3600));
    assert_int_equal(shared->n_notes, n);
    assert_int_equal(engine_timers_count(f.engine), 0);
}
