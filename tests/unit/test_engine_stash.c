/* SPDX-License-Identifier: Apache-2.0 */
/* The stash (asks/stash.h): what an actor puts off comes back in its order, before what waits, with
 * what was known of it; over restarts, turns that died, and ends. Workers and control thread are
 * this thread. */
#include "daemon/engine/asks/stash.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/timers/timer_fire.h"
#include "timer_fixture.h"

#define LATER (clock_now_ns() + UINT64_C(3600000000000))

enum { SEEN = 128 };
enum what { WHAT_ITEM, WHAT_OPEN, WHAT_END, WHAT_TELL };
struct go {
    uint32_t what, number, most, bytes;
};
struct seen {
    uint32_t number;
    actor_ref from;
    uint64_t correlation, kind, hops;
    uint32_t size;
};
struct shared {
    struct seen seen[SEEN];
    uint32_t n_seen, n_inits, n_told;
    int result, twice;
    bool puts_off, closes, dies, opens_again;
    uint64_t token;
    actor_ref ask_of;
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, big_type, answer_type;
static uint32_t kept_type, plain_type, asker_type;
static actor_ref who;

static void run_queues(void)
{
    timer_fixture_run(&f);
}

static void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        run_queues();
    run_queues();
}

static void see(uint32_t number, const struct engine_context *ctx)
{
    shared->seen[shared->n_seen++ % SEEN] = (struct seen){ .number = number,
                                                           .from = ctx->sender,
                                                           .correlation = ctx->correlation,
                                                           .kind = ctx->kind,
                                                           .hops = ctx->hops,
                                                           .size = ctx->message_size };
}

static void open(struct engine_context *ctx, uint32_t most)
{
    shared->puts_off = shared->closes;
    shared->result = engine_ctx_unstash(ctx, most);
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    struct go go;

    (void)self;
    memcpy(&go, message, sizeof(go));
    if (go.what == WHAT_OPEN)
        open(ctx, go.most);
    if (go.what == WHAT_ITEM && shared->puts_off) {
        shared->result = engine_ctx_stash(ctx, message);
        shared->twice = engine_ctx_stash(ctx, message);
    } else {
        see(go.number, ctx);
    }
    if (go.what == WHAT_ITEM && go.number == 1 && shared->opens_again) {
        shared->opens_again = false;
        open(ctx, 0);
    }
    if (go.what == WHAT_TELL) {
        uint64_t number = go.number;
        assert_int_equal(engine_ctx_reply(ctx, answer_type, &number, 8, NULL, 0), 0);
    }
    if (shared->dies)
        raise(SIGKILL);
    return go.what == WHAT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size, (void)ctx;
    shared->n_inits++;
    return 0;
}

/* The asker asks with an item; what it is answered it puts off, too. */
static int on_ask(void *self, const void *message, struct engine_context *ctx)
{
    struct go go;
    const struct engine_pieces pieces = { .head = &go, .head_size = sizeof(go) };

    (void)self;
    memcpy(&go, message, sizeof(go));
    if (go.what == WHAT_OPEN) {
        open(ctx, 0);
        return ALLOCATION_NODELETE;
    }
    assert_int_equal(engine_ctx_ask(ctx, shared->ask_of, go_type, 0, &pieces, 0, &shared->token),
                     0);
    return ALLOCATION_NODELETE;
}

static int on_outcome(void *self, const void *message, struct engine_context *ctx)
{
    uint64_t number;

    (void)self;
    memcpy(&number, message, sizeof(number));
    if (shared->puts_off)
        shared->result = engine_ctx_stash(ctx, message);
    else
        see((uint32_t)number, ctx);
    return ALLOCATION_NODELETE;
}

static int on_no_answer(void *self, const void *message, struct engine_context *ctx)
{
    struct no_answer no_answer;

    (void)self;
    memcpy(&no_answer, message, sizeof(no_answer));
    if (shared->puts_off)
        shared->result = engine_ctx_stash(ctx, message);
    else
        see(no_answer.reason, ctx);
    return ALLOCATION_NODELETE;
}

static void register_type(const char *name, enum engine_restart restart, bool asks,
                          uint32_t *ret_type)
{
    const struct engine_behaviour behaviours[] = {
        { go_type, sizeof(struct go), 0, asks ? on_ask : on_go },
        { big_type, sizeof(struct go), 1, on_go },
        { answer_type, 8, 0, on_outcome },
        { MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), 0, on_no_answer },
    };
    const struct engine_actor_type_info info = { .name = name,
                                                 .plugin = "test",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .restart = restart,
                                                 .n_behaviours = 4,
                                                 .behaviours = behaviours,
                                                 .init = on_init };

    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static void register_types(void)
{
    go_type = engine_fixture_message(&f, "go", sizeof(struct go), false);
    big_type = engine_fixture_message(&f, "big", sizeof(struct go), true);
    answer_type = engine_fixture_message(&f, "answer", 8, false);
    register_type("kept", RESTART_KEEP, false, &kept_type);
    register_type("plain", RESTART_INIT, false, &plain_type);
    register_type("asker", RESTART_KEEP, true, &asker_type);
}

static void open_with(struct engine_config config)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    engine_fixture_open(&f, config);
    register_types();
    who = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
}

static int setup(void **state)
{
    (void)state;
    open_with(timer_fixture_config());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    munmap(shared, sizeof(*shared));
    return 0;
}

static void post(actor_ref to, uint32_t what, uint32_t number)
{
    const struct go go = { .what = what, .number = number };

    assert_int_equal(engine_actor_send(f.engine, to, go_type, &go, sizeof(go)), 0);
}

static void post_urgent(actor_ref to, uint32_t what, uint32_t number)
{
    const struct go go = { .what = what, .number = number };
    struct worker *control = f.engine->control;

    control->ctx.self = 0;
    assert_int_equal(engine_ctx_send_urgent(&control->ctx, to, go_type, 0, &go, sizeof(go)), 0);
    /* as engine_actors.c does */
    const struct go nothing = { .what = WHAT_TELL + 1, .number = number };
    assert_int_equal(engine_actor_send(f.engine, to, go_type, &nothing, sizeof(nothing)), 0);
}

static void post_open(actor_ref to, uint32_t number, uint32_t most)
{
    const struct go go = { .what = WHAT_OPEN, .number = number, .most = most };

    assert_int_equal(engine_actor_send(f.engine, to, go_type, &go, sizeof(go)), 0);
}

static uint32_t stashed(actor_ref of)
{
    uint64_t bytes;

    return engine_actor_stashed(f.engine, of, &bytes);
}

static void expect_seen(const uint32_t *numbers, uint32_t n)
{
    assert_int_equal(shared->n_seen, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(shared->seen[i].number, numbers[i]);
    shared->n_seen = 0;
}

static void put_off(uint32_t from, uint32_t to)
{
    shared->puts_off = true;
    for (uint32_t i = from; i <= to; i++)
        post(who, WHAT_ITEM, i);
    run_queues();
    assert_int_equal(shared->n_seen, 0);
    assert_int_equal(shared->result, 0);
}

/* stash.ST2 */
static void test_before_what_waits(void **state)
{
    (void)state;
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    put_off(1, 3);
    assert_int_equal(shared->twice, -EALREADY);
    assert_int_equal(stashed(who), 3);
    assert_int_equal(engine_stashed_count(f.engine), 3);
    post_open(who, 10, 0);
    post(other, WHAT_TELL + 1, 20);
    post(who, WHAT_ITEM, 4);
    post(who, WHAT_ITEM, 5);
    run_queues();
    expect_seen((const uint32_t[]){ 10, 1, 2, 3, 20, 4, 5 }, 7);
    assert_int_equal(shared->result, 3);
    assert_int_equal(stashed(who), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_stashed), 3);
    assert_int_equal(engine_fixture_stat(&f, STAT_unstashed), 3);
    fire(LATER);
    assert_int_equal(f.engine->timers.n, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_armed), 0);
}

static void test_in_one_batch_and_with_quick_ones(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        who = engine_fixture_spawn(&f, kept ? kept_type : plain_type, NULL, 0);
        for (uint32_t i = 0; i < 40; i++)
            post(who, WHAT_TELL + 1, 0);
        run_queues();
        shared->n_seen = 0;
        shared->puts_off = true;
        for (uint32_t i = 1; i <= 5; i++)
            post(who, WHAT_ITEM, i);
        post_open(who, 10, 0);
        for (uint32_t i = 6; i <= 9; i++)
            post(who, WHAT_ITEM, i);
        run_queues();
        expect_seen((const uint32_t[]){ 10, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 10);
    }
}

static void test_some_of_them(void **state)
{
    (void)state;
    put_off(1, 5);
    shared->closes = true; /* items go on being put off */
    post_open(who, 10, 2);
    run_queues();
    assert_int_equal(shared->result == 2 || shared->result == 0, true);
    shared->n_seen = 0;
    assert_int_equal(stashed(who), 5);
    shared->closes = false;
    post_open(who, 11, 3);
    post(who, WHAT_ITEM, 9);
    run_queues();
    /* those that were put off once more are behind the others */
    expect_seen((const uint32_t[]){ 11, 3, 4, 5, 9 }, 5);
    post_open(who, 12, 9);
    run_queues();
    expect_seen((const uint32_t[]){ 12, 1, 2 }, 3);
    post_open(who, 13, 0);
    run_queues();
    assert_int_equal(shared->result, 0);
}

/* Taken back by one that has been taken back, or that is urgent: no ordinary one in between. */
static void test_from_the_urgent_lane(void **state)
{
    (void)state;
    put_off(1, 2);
    post_urgent(who, WHAT_OPEN, 10);
    post(who, WHAT_ITEM, 5);
    run_queues();
    expect_seen((const uint32_t[]){ 10, 1, 2, 10, 5 }, 5);
    put_off(1, 3);
    shared->opens_again = true;
    post_open(who, 11, 1);
    post(who, WHAT_ITEM, 5);
    run_queues();
    expect_seen((const uint32_t[]){ 11, 1, 2, 3, 5 }, 5);
}

static void test_too_many(void **state)
{
    struct {
        struct go go;
        uint8_t more[30000];
    } big = { .go = { .what = WHAT_ITEM, .number = 1 } };

    (void)state;
    put_off(1, 8);
    post(who, WHAT_ITEM, 9);
    run_queues();
    assert_int_equal(shared->result, -ENOBUFS);
    assert_int_equal(stashed(who), 8);
    post_open(who, 10, 0);
    run_queues();
    shared->n_seen = 0;
    f.engine->config.stash_max = 64;
    shared->puts_off = true;
    for (int i = 0; i < 9; i++)
        assert_int_equal(engine_actor_send(f.engine, who, big_type, &big, sizeof(big)), 0);
    run_queues();
    assert_int_equal(shared->result, -ENOBUFS);
    assert_int_equal(stashed(who), 8); /* of 32 KiB each */
    assert_true(engine_fixture_stat(&f, STAT_stash_refused) >= 2);
    post_open(who, 10, 0);
    run_queues();
    assert_int_equal(shared->n_seen, 9);
    assert_int_equal(shared->seen[8].size, sizeof(big));
}

/* More than leaves with one turn: all of them stay, and some can be had. */
static void test_more_than_the_outbox_holds(void **state)
{
    struct {
        struct go go;
        uint8_t more[30000];
    } big = { .go = { .what = WHAT_ITEM, .number = 1 } };
    struct engine_config config = timer_fixture_config();

    teardown(state);
    config.outbox_bytes = 2 * OUTBOX_SYSTEM_BYTES;
    open_with(config);
    shared->puts_off = true;
    for (; big.go.number <= 8; big.go.number++)
        assert_int_equal(engine_actor_send(f.engine, who, big_type, &big, sizeof(big)), 0);
    run_queues();
    assert_int_equal(stashed(who), 8);
    post_open(who, 10, 0);
    run_queues();
    assert_int_equal(shared->result, -ENOBUFS);
    assert_int_equal(stashed(who), 8);
    expect_seen((const uint32_t[]){ 10 }, 1);
    post_open(who, 11, 1);
    run_queues();
    assert_int_equal(shared->result, 1);
    expect_seen((const uint32_t[]){ 11, 1 }, 2);
}

/* What others leave of the table. */
static void test_no_room(void **state)
{
    (void)state;
    teardown(state);
    struct engine_config config = timer_fixture_config();
    config.timers_max = 4;
    open_with(config);
    put_off(1, 2);
    post(who, WHAT_ITEM, 3);
    run_queues();
    assert_int_equal(shared->result, -EAGAIN);
    teardown(state);
    config.stash_max = 0;
    open_with(config);
    shared->puts_off = true;
    post(who, WHAT_ITEM, 3);
    run_queues();
    assert_int_equal(shared->result, -ENOBUFS);
}

static void test_what_is_not_there(void **state)
{
    const struct go go = { 0 };

    (void)state;
    f.engine->control->ctx.self = 0;
    assert_int_equal(engine_ctx_stash(&f.engine->control->ctx, &go), -EPERM);
    assert_int_equal(engine_ctx_unstash(&f.engine->control->ctx, 0), -EPERM);
    post_open(who, 10, 0);
    run_queues();
    assert_int_equal(shared->result, 0);
}

static void test_over_a_restart(void **state)
{
    (void)state;
    put_off(1, 3);
    for (int i = 0; i < 3; i++) {
        timer_fixture_restart(&f, register_types);
        fire(LATER);
        assert_int_equal(stashed(who), 3);
    }
    put_off(4, 4);
    post_open(who, 10, 0);
    post(who, WHAT_ITEM, 5);
    timer_fixture_restart(&f, register_types);
    run_queues();
    expect_seen((const uint32_t[]){ 10, 1, 2, 3, 4, 5 }, 6);
}

/* Those of earlier lives come first, in their order, whatever numbers they have got. */
static void test_some_of_them_over_a_restart(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 4; i++) {
        put_off(2 * i - 1, 2 * i);
        post_open(who, 10, 1); /* its number is that of the next one */
        run_queues();
        expect_seen((const uint32_t[]){ 10, i }, 2);
    }
    timer_fixture_restart(&f, register_types);
    put_off(9, 10);
    assert_int_equal(stashed(who), 6);
    post_open(who, 11, 2);
    run_queues();
    expect_seen((const uint32_t[]){ 11, 5, 6 }, 3);
    post_open(who, 12, 3);
    run_queues();
    expect_seen((const uint32_t[]){ 12, 7, 8, 9 }, 4);
    post_open(who, 13, 4);
    run_queues();
    expect_seen((const uint32_t[]){ 13, 10 }, 2);
}

/* One that has been taken back makes room at once, though it is there until that is committed. */
static void test_room_of_what_was_taken_back(void **state)
{
    (void)state;
    put_off(1, 8);
    shared->closes = true;
    for (uint32_t i = 0; i < 4; i++) {
        post_open(who, 10 + i, 3);
        run_queues();
        assert_int_equal(stashed(who), 8);
    }
    assert_int_equal(engine_fixture_stat(&f, STAT_stash_refused), 0);
    shared->closes = false;
    shared->n_seen = 0;
    post_open(who, 20, 0);
    run_queues();
    expect_seen((const uint32_t[]){ 20, 5, 6, 7, 8, 1, 2, 3, 4 }, 9);
}

static struct engine_dead_letter letters[16];
static size_t list_letters(void)
{
    bool more;

    return engine_dead_letters_list(f.engine, 0, letters, 16, &more);
}

/* stash.ST4: a life that is over, whose actor is initialised at once. */
static void test_begins_anew(void **state)
{
    (void)state;
    who = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    put_off(1, 3);
    shared->n_inits = 0;
    timer_fixture_restart(&f, register_types);
    assert_int_equal(list_letters(), 0);
    fire(clock_now_ns());
    assert_int_equal(list_letters(), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(letters[i].reason, REASON_STASHED);
    assert_int_equal(shared->n_inits, 1);
    assert_int_equal(stashed(who), 0);
    assert_int_equal(f.engine->timers.n, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_stash_dead), 3);
    timer_fixture_restart(&f, register_types);
    fire(clock_now_ns());
    assert_int_equal(list_letters(), 3);
}

/* stash.ST4: the new life has turns before the control thread looks. */
static void test_begins_anew_and_takes_nothing_back(void **state)
{
    (void)state;
    who = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    put_off(1, 8); /* as many as there may be */
    timer_fixture_restart(&f, register_types);
    assert_int_equal(stashed(who), 0);
    post_open(who, 20, 0);
    run_queues();
    assert_int_equal(shared->result, 0);
    expect_seen((const uint32_t[]){ 20 }, 1);
    put_off(9, 12);
    assert_int_equal(engine_fixture_stat(&f, STAT_stash_refused), 0);
    fire(clock_now_ns());
    assert_int_equal(list_letters(), 8);
    post_open(who, 21, 0);
    run_queues();
    expect_seen((const uint32_t[]){ 21, 9, 10, 11, 12 }, 5);
}

static void test_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        put_off(1, 3);
        post(who, WHAT_END, 10);
        run_queues();
        shared->n_seen = 0;
        if (i == 1)
            timer_fixture_restart(&f, register_types);
        fire(clock_now_ns());
        assert_int_equal(list_letters(), 3 * (size_t)(i + 1));
        assert_int_equal(letters[2].reason, REASON_STASHED);
        assert_int_equal(f.engine->timers.n, 0);
        assert_int_equal(engine_stashed_count(f.engine), 0);
        who = engine_fixture_spawn(&f, kept_type, NULL, 0);
        run_queues();
        assert_int_equal(stashed(who), 0);
    }
}

/* Many of them: none is left for want of room in one look. */
static void test_many_end_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        who = engine_fixture_spawn(&f, kept_type, NULL, 0);
        put_off(1, 4);
        post(who, WHAT_END, 10);
        run_queues();
        shared->n_seen = 0;
    }
    fire(clock_now_ns());
    assert_int_equal(engine_fixture_stat(&f, STAT_stash_dead), 24);
    assert_int_equal(f.engine->timers.n, 0);
}

/* stash.ST1 */
static void die_putting_off(void)
{
    shared->puts_off = shared->dies = true;
    post(who, WHAT_ITEM, 4);
    run_queues();
}

static void die_taking_back(void)
{
    shared->dies = true;
    post_open(who, 10, 0);
    run_queues();
}

static void test_turns_that_died(void **state)
{
    (void)state;
    put_off(1, 3);
    timer_fixture_die(&f, die_putting_off, register_types);
    shared->dies = false;
    assert_int_equal(stashed(who), 3);
    run_queues(); /* it puts itself off again */
    assert_int_equal(stashed(who), 4);
    timer_fixture_die(&f, die_taking_back, register_types);
    shared->dies = false;
    shared->n_seen = 0; /* what the dead one has seen */
    assert_int_equal(stashed(who), 4);
    run_queues();
    expect_seen((const uint32_t[]){ 10, 1, 2, 3, 4 }, 5);
    fire(LATER);
    assert_int_equal(f.engine->timers.n, 0);
}

/* A question that is put off is answered all the same; so is an answer handled once. */
static void test_questions_and_answers(void **state)
{
    (void)state;
    actor_ref asker = engine_fixture_spawn(&f, asker_type, NULL, 0);
    run_queues();
    shared->ask_of = who;
    shared->puts_off = true;
    post(asker, WHAT_ITEM, 7); /* which is put off */
    run_queues();
    assert_int_equal(stashed(who), 1);
    uint64_t token = shared->token;
    timer_fixture_restart(&f, register_types);
    post_open(who, 10, 0);
    run_queues();
    assert_int_equal(shared->seen[1].number, 7);
    assert_int_equal(shared->seen[1].from, asker);
    assert_int_equal(shared->seen[1].correlation, token);
    shared->n_seen = 0;
    /* it is told at once, and puts that off */
    shared->puts_off = false;
    post(asker, WHAT_TELL, 8);
    shared->puts_off = true;
    run_queues();
    assert_int_equal(stashed(asker), 1);
    shared->n_seen = 0;
    timer_fixture_restart(&f, register_types);
    token = shared->token;
    post_open(asker, 11, 0);
    run_queues();
    assert_int_equal(shared->n_seen, 1);
    assert_int_equal(shared->seen[0].number, 8);
    assert_int_equal(shared->seen[0].correlation, token);
    assert_int_equal(shared->seen[0].kind >> 56, KIND_ANSWER);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_forged), 0);
}

/* Who asked is told, at the end of the one who has put its question off. */
static void test_a_question_that_is_never_taken_back(void **state)
{
    (void)state;
    actor_ref asker = engine_fixture_spawn(&f, asker_type, NULL, 0);
    run_queues();
    shared->ask_of = who;
    shared->puts_off = true;
    post(asker, WHAT_ITEM, 7);
    run_queues();
    shared->puts_off = false;
    shared->n_seen = 0;
    post(who, WHAT_END, 10);
    run_queues();
    shared->n_seen = 0;
    fire(clock_now_ns());
    expect_seen((const uint32_t[]){ REASON_STASHED }, 1);
    assert_int_equal(list_letters(), 0);
    /* ... and what it is told it may put off, too */
    shared->puts_off = true;
    shared->ask_of = who; /* who has ended */
    post(asker, WHAT_ITEM, 7);
    run_queues();
    assert_int_equal(stashed(asker), 1);
    post_open(asker, 11, 0);
    run_queues();
    assert_int_equal(shared->n_seen, 1);
    assert_int_equal(shared->seen[0].kind >> 56, KIND_ANSWER);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_forged), 0);
}

/* It is no timer to anybody. */
static void test_is_no_timer(void **state)
{
    struct engine_timer_view view;

    (void)state;
    put_off(1, 2);
    assert_int_equal(engine_timers_count(f.engine), 0);
    assert_int_equal(engine_timer_next(f.engine, 0, &view), -ENOENT);
    f.engine->control->ctx.self = who;
    assert_int_equal(engine_ctx_timer_cancel(&f.engine->control->ctx, UINT64_C(1) << 32), -ENOENT);
    assert_int_equal(engine_ctx_demonitor(&f.engine->control->ctx, UINT64_C(1) << 32), -ENOENT);
    f.engine->control->ctx.self = 0;
    fire(LATER);
    assert_int_equal(stashed(who), 2);
}

#define STASH_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STASH_TEST(test_before_what_waits),
        STASH_TEST(test_in_one_batch_and_with_quick_ones),
        STASH_TEST(test_some_of_them),
        STASH_TEST(test_from_the_urgent_lane),
        STASH_TEST(test_too_many),
        STASH_TEST(test_more_than_the_outbox_holds),
        STASH_TEST(test_no_room),
        STASH_TEST(test_what_is_not_there),
        STASH_TEST(test_over_a_restart),
        STASH_TEST(test_some_of_them_over_a_restart),
        STASH_TEST(test_room_of_what_was_taken_back),
        STASH_TEST(test_begins_anew),
        STASH_TEST(test_begins_anew_and_takes_nothing_back),
        STASH_TEST(test_ends),
        STASH_TEST(test_many_end_at_once),
        STASH_TEST(test_turns_that_died),
        STASH_TEST(test_questions_and_answers),
        STASH_TEST(test_a_question_that_is_never_taken_back),
        STASH_TEST(test_is_no_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
