/* SPDX-License-Identifier: Apache-2.0 */
/* One message after the other: sends and their memory, order, limits, the four ways to end, and
 * everything that ends as a dead letter.
 *
 * Most behaviours here are scripts: the message carries the function that its receiver is to
 * run. */
#include <sched.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/segment/queue.h"
#include "engine_script.h"

static uint16_t number_type, bytes_type, reply_type, alien_type;
static uint32_t probe_type, failing_type;

/* What behaviours saw, for the test to look at once nobody runs. */
static struct {
    uint64_t numbers, finis, inits, redelivered, replies;
    uint64_t last_number, wrong_order;
    uint64_t bytes_seen, bytes_wrong;
    uint64_t correlation;
    uint32_t reply_size;
    actor_ref reply_from, fini_of, fini_sender;
    actor_ref fini_tells; /* 0: nobody */
    int fini_told;
    void *state; /* of whom a script asked last */
    uint64_t args_size;
    uint8_t args[ODEON_SPAWN_ARGS_MAX];
} seen;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    uint64_t number = *(const uint64_t *)message;
    seen.numbers++;
    seen.redelivered += ctx->redelivered;
    if (number != seen.last_number + 1)
        seen.wrong_order++;
    seen.last_number = number;
    return ALLOCATION_NODELETE;
}

static uint8_t pattern(uint64_t size, uint64_t i)
{
    return (uint8_t)(size * 13 + i * 7 + 1);
}

/* The size is in the number of bytes; each is known, and those up to the next multiple of eight are
 * zero. */
static int on_bytes(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const uint8_t *bytes = message;
    uint64_t size = ctx->message_size;
    bool good = true;
    for (uint64_t i = 0; i < size; i++)
        good = good && bytes[i] == pattern(size, i);
    for (uint64_t i = size; i % 8; i++)
        good = good && bytes[i] == 0;
    seen.bytes_seen++;
    seen.bytes_wrong += !good;
    return ALLOCATION_NODELETE;
}

static int on_reply(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    seen.replies++;
    seen.correlation = ctx->correlation;
    seen.reply_size = ctx->message_size;
    seen.reply_from = ctx->sender;
    if (ctx->message_size == 8 && *(const uint64_t *)message != 4711)
        seen.correlation = UINT64_MAX;
    return ALLOCATION_NODELETE;
}

static int probe_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    seen.inits++;
    seen.args_size = size;
    if (size)
        memcpy(seen.args, args, size);
    for (unsigned i = 0; i < 64; i++)
        if (((uint8_t *)self)[i] != 0)
            return -EIO; /* state is zeroed */
    memset(self, 0xee, 64);
    return 0;
}

static void probe_fini(void *self, struct engine_context *ctx)
{
    (void)self;
    seen.finis++;
    seen.fini_of = ctx->self;
    seen.fini_sender = ctx->sender;
    if (seen.fini_tells)
        seen.fini_told = engine_ctx_send(ctx, seen.fini_tells, reply_type, 255, NULL, 0);
}

static int failing_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)size;
    (void)ctx;
    seen.inits++;
    return -EINVAL;
}

static void fixture_types(struct engine_fixture *f)
{
    script_type = engine_fixture_message(f, "script", sizeof(struct script), false);
    number_type = engine_fixture_message(f, "number", 8, false);
    bytes_type = engine_fixture_message(f, "bytes", 0, true);
    reply_type = engine_fixture_message(f, "reply", 0, true);
    alien_type = engine_fixture_message(f, "alien", 8, false);
    const struct engine_behaviour behaviours[] = {
        { script_type, sizeof(struct script), false, on_script },
        { number_type, 8, false, on_number },
        { bytes_type, 0, true, on_bytes },
        { reply_type, 0, true, on_reply },
    };
    probe_type = engine_fixture_type(f, "probe", 64, probe_init, probe_fini, behaviours, 4);
    failing_type = engine_fixture_type(f, "failing", 64, failing_init, probe_fini, behaviours, 4);
    memset(&seen, 0, sizeof(seen));
}

static void fixture_begin(struct engine_fixture *f, uint32_t queues, uint32_t throughput)
{
    struct engine_config config = engine_fixture_config(1, queues);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.outbox_bytes = 1 << 20;
    config.throughput = throughput;
    engine_fixture_open(f, config);
    fixture_types(f);
}

static actor_ref probe(struct engine_fixture *f)
{
    return engine_fixture_spawn(f, probe_type, NULL, 0);
}

static uint64_t dead_letters(struct engine_fixture *f, enum envelope_reason reason)
{
    struct segment *s = &f->engine->segment;
    struct segment_queue *queue = &s->queues[s->dead_letters];
    const uint8_t *base =
        segment_window(s, s->dead_letters, queue_active(load_relaxed(&queue->sel)));
    uint64_t end = queue_backlog_bytes(queue), n = 0;
    for (uint64_t at = 0; at < end;
         at += envelope_record_size((const struct envelope *)(base + at))) {
        at += sizeof(struct segment_dead_letter);
        n += ((const struct envelope *)(base + at))->behaviour == reason;
    }
    return n;
}

/* ---- sends and their memory ---- */

struct sizes_argument {
    actor_ref to;
    uint64_t sent;
    int too_large, too_large_tail;
};

static int script_sizes(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    static const uint32_t sizes[] = { 0,    1,    2,    7,     8,     9,     15,
                                      16,   17,   23,   24,    25,    100,   1000,
                                      4095, 4096, 8191, 32760, 32761, 32767, 32768 };
    struct sizes_argument *a = argument;
    static uint8_t bytes[ODEON_PAYLOAD_MAX + 8];
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        uint32_t size = sizes[k], cut = size / 3;
        for (uint32_t i = 0; i < size; i++)
            bytes[i] = pattern(size, i);
        a->sent += engine_ctx_send(ctx, a->to, bytes_type, 2, bytes, size) == 0;
        a->sent += engine_ctx_send_tail(ctx, a->to, bytes_type, 200, bytes, cut, bytes + cut,
                                        size - cut) == 0;
    }
    a->too_large = engine_ctx_send(ctx, a->to, bytes_type, 2, bytes, ODEON_PAYLOAD_MAX + 1);
    a->too_large_tail =
        engine_ctx_send_tail(ctx, a->to, bytes_type, 2, bytes, 10, bytes, ODEON_PAYLOAD_MAX);
    return ALLOCATION_NODELETE;
}

static void test_payload_sizes_and_padding(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 4096);
    /* in the other queue, in the same */
    actor_ref first = probe(&f), others[] = { probe(&f), probe(&f) };
    struct segment *s = &f.engine->segment;
    for (uint32_t q = 0; q < 2; q++) /* what lay there before */
        for (unsigned buffer = 0; buffer < 2; buffer++)
            memset(segment_window(s, q, buffer) + 4096, 0xff, 2 << 20);
    memset(segment_outbox(s, 0), 0xff, 900000);
    start(&f);
    for (unsigned i = 0; i < 6; i++) {
        struct sizes_argument a = { .to = others[i % 2] };
        memset(segment_outbox(s, 0), 0xff, 900000);
        run(&f, first, script_sizes, &a);
        assert_int_equal(a.sent, 42);
        assert_int_equal(a.too_large, -EMSGSIZE);
        assert_int_equal(a.too_large_tail, -EMSGSIZE);
    }
    assert_int_equal(seen.bytes_seen, 6 * 42);
    assert_int_equal(seen.bytes_wrong, 0);
    assert_int_equal(dead_letters(&f, REASON_BAD_SIZE), 0);
    fixture_end(&f);
}

/* ---- order ---- */

struct order_argument {
    actor_ref self, to;
    uint64_t number, last;
    bool large;
    int result;
};

/* Numbers to another actor, sometimes behind something large, and on with the next message to
 * itself. */
static int script_order(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    static const uint8_t bytes[ODEON_PAYLOAD_MAX];
    struct order_argument *a = argument;
    for (unsigned i = 0; i < 5 && a->number < a->last && a->result == 0; i++) {
        uint64_t number = ++a->number;
        if (a->large && number % 7 == 0)
            a->result = engine_ctx_send(ctx, ctx->self, alien_type, 0, bytes,
                                        number * 977 % ODEON_PAYLOAD_MAX);
        if (a->result == 0)
            a->result = engine_ctx_send(ctx, a->to, number_type, 1, &number, sizeof(number));
    }
    struct script next = { .run = script_order, .argument = a };
    if (a->result == 0 && a->number < a->last)
        a->result = engine_ctx_send(ctx, a->self, script_type, 0, &next, sizeof(next));
    return ALLOCATION_NODELETE;
}

static void order(uint32_t throughput, bool large, bool flood)
{
    struct engine_fixture f;
    fixture_begin(&f, 1, throughput);
    actor_ref bystander = probe(&f);
    struct order_argument a = {
        .self = probe(&f), .to = probe(&f), .last = TEST_SCALE(100000), .large = large
    };
    start(&f);
    struct script first = { .run = script_order, .argument = &a };
    assert_int_equal(engine_actor_send(f.engine, a.self, script_type, &first, sizeof(first)), 0);
    if (flood) /* what others append opens and closes the way behind the tail */
        for (unsigned i = 0; i < TEST_SCALE(20000); i++)
            assert_int_equal(engine_actor_send(f.engine, bystander, bytes_type, NULL, 0), 0);
    settle(&f);
    assert_int_equal(a.result, 0);
    assert_int_equal(seen.last_number, a.last);
    assert_int_equal(seen.wrong_order, 0);
    if (!flood)
        assert_true(engine_fixture_stat(&f, STAT_tail_appends) > 0);
    fixture_end(&f);
}

static void test_order_behind_the_tail(void **state)
{
    (void)state;
    order(4096, false, false);
}

static void test_order_while_others_append(void **state)
{
    (void)state;
    order(50, false, true);
}

static void test_order_with_large_ones_between(void **state)
{
    (void)state;
    order(300, true, true);
}

/* A number to another actor of the queue, the first one behind something that does not fit behind
 * the batch. */
static int script_next_number(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    static const uint8_t bytes[ODEON_PAYLOAD_MAX];
    struct order_argument *a = argument;
    if (a->last == 0)
        a->result |= engine_ctx_send(ctx, a->to, bytes_type, 2, bytes, sizeof(bytes));
    uint64_t number = ++a->last;
    a->result |= engine_ctx_send(ctx, a->to, number_type, 1, &number, sizeof(number));
    return ALLOCATION_NODELETE;
}

/* place.U3: the batch is parked behind each message, and what the first one has sent to the queue
 * waits for the next gulp. */
static void test_order_over_a_park(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 1);
    struct order_argument a = { .self = probe(&f), .to = probe(&f) };
    struct script next = { .run = script_next_number, .argument = &a };
    for (int i = 0; i < 8; i++) /* one batch: nobody runs yet */
        assert_int_equal(engine_actor_send(f.engine, a.self, script_type, &next, sizeof(next)), 0);
    start(&f);
    settle(&f);
    assert_int_equal(a.result, 0);
    assert_int_equal(seen.last_number, 8);
    assert_int_equal(seen.wrong_order, 0);
    assert_true(engine_fixture_stat(&f, STAT_batches_parked) >= 8);
    fixture_end(&f);
}

/* 21 records, three at a time: how often the batch is parked. */
static uint64_t count_parks(void)
{
    struct engine_fixture f;
    fixture_begin(&f, 1, 3);
    actor_ref actor = probe(&f);
    for (uint64_t number = 1; number <= 20; number++)
        assert_int_equal(engine_actor_send(f.engine, actor, number_type, &number, sizeof(number)),
                         0);
    start(&f);
    assert_int_equal(seen.numbers, 20);
    assert_int_equal(seen.wrong_order, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_gulps), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_messages_processed), 21);
    uint64_t parks = engine_fixture_stat(&f, STAT_batches_parked);
    fixture_end(&f);
    return parks;
}

/* A worker that loses its processor for a slice parks where that ends (pace.T4), and comes to the
 * limit once less, perhaps: it does not so each time. */
static void test_throughput_limit_parks(void **state)
{
    (void)state;
    uint64_t parks, until = clock_now_ns() + TEST_DEADLINE_NS;
    do {
        parks = count_parks();
        assert_true(parks <= 6);
    } while (parks < 6 && clock_now_ns() < until);
    assert_int_equal(parks, 6);
}

enum { SLOW_NS = 3 * 1000 * 1000, SLOW_MESSAGES = 20 };

static int script_slow(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    (void)ctx;
    (void)argument;
    for (uint64_t end = clock_now_ns() + SLOW_NS; clock_now_ns() < end;)
        ;
    return ALLOCATION_NODELETE;
}

/* Messages that fill a slice by themselves are set aside for that, and more throughput is no
 * advice. */
static void test_slices_are_no_limit(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    actor_ref actor = probe(&f);
    struct script slow = { .run = script_slow };
    for (int i = 0; i < SLOW_MESSAGES; i++)
        assert_int_equal(engine_actor_send(f.engine, actor, script_type, &slow, sizeof(slow)), 0);
    start(&f);
    settle(&f);
    assert_true(engine_fixture_stat(&f, STAT_messages_processed) > SLOW_MESSAGES);
    assert_int_equal(engine_fixture_stat(&f, STAT_batches_parked), 0);
    fixture_end(&f);
}

/* ---- replies ---- */

static int script_reply(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    uint64_t value = 4711;
    ctx->correlation = *(uint64_t *)argument;
    int r = engine_ctx_reply(ctx, reply_type, &value, sizeof(value), NULL, 0);
    *(uint64_t *)argument = (uint64_t)(int64_t)r;
    ctx->correlation = 0;
    return ALLOCATION_NODELETE;
}

struct call_argument {
    actor_ref to;
    struct script script;
};

static int script_call(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    struct call_argument *a = argument;
    return engine_ctx_send(ctx, a->to, script_type, 0, &a->script, sizeof(a->script)) == 0
               ? ALLOCATION_NODELETE
               : ALLOCATION_DELETE;
}

static void test_replies(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 4096);
    actor_ref client = probe(&f), server = probe(&f);
    start(&f);
    uint64_t correlation = 77;
    struct call_argument a = { .to = server,
                               .script = { .run = script_reply, .argument = &correlation } };
    run(&f, client, script_call, &a);
    assert_int_equal(correlation, 0); /* the reply was sent */
    /* ... with an id, to an actor that has no such question (test_engine_asks.c) */
    assert_int_equal(seen.replies, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 1);
    correlation = 0;
    run(&f, client, script_call, &a);
    assert_int_equal(seen.replies, 1);
    assert_int_equal(seen.correlation, 0);
    assert_int_equal(seen.reply_size, 8);
    run(&f, server, script_reply, &correlation); /* nobody asked */
    assert_int_equal((int64_t)correlation, -ENOTCONN);
    fixture_end(&f);
}

/* ---- ends ---- */

static int script_end(void *self, struct engine_context *ctx, void *argument)
{
    (void)ctx;
    seen.state = self;
    return (int)(intptr_t)argument;
}

static void test_four_allocation_results(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    start(&f);
    actor_ref stays = probe(&f);
    run(&f, stays, script_end, (void *)ALLOCATION_NODELETE);
    assert_int_equal(seen.finis, 0);
    void *stays_at = seen.state;
    run(&f, stays, script_end, (void *)ALLOCATION_NODELETE);
    assert_ptr_equal(seen.state, stays_at);

    actor_ref kept = probe(&f);
    run(&f, kept, script_end, (void *)ALLOCATION_DESTROY);
    void *kept_at = seen.state;
    assert_int_equal(seen.finis, 1);
    struct engine_actor_view view;
    assert_int_equal(engine_actor_get(f.engine, kept, &view), -ESRCH);
    assert_int_equal(engine_actor_send(f.engine, kept, bytes_type, NULL, 0), -ESRCH);
    actor_ref again = probe(&f);
    assert_int_not_equal(again, kept);
    run(&f, again, script_end, (void *)ALLOCATION_NODELETE);
    assert_ptr_equal(seen.state, kept_at); /* its storage, zeroed (the init looks) */
    assert_string_equal((assert_int_equal(engine_actor_get(f.engine, again, &view), 0), view.state),
                        "live");

    run(&f, again, script_end, (void *)ALLOCATION_FINISHED);
    assert_int_equal(seen.finis, 1); /* it has cleaned up itself */
    assert_int_equal(((uint8_t *)kept_at)[63], 0xee);
#ifdef TEST_SANITIZED
    free(kept_at); /* without: in a pool */
#endif

    run(&f, probe(&f), script_end, (void *)ALLOCATION_DELETE);
    assert_int_equal(seen.finis, 2);
    run(&f, probe(&f), script_end, (void *)99); /* not a result: an end, too */
    assert_int_equal(seen.finis, 3);
    struct engine_actor_type_view type;
    assert_int_equal(engine_actor_type_get(f.engine, probe_type, &type), 0);
    assert_int_equal(type.live, 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_actors_created) -
                         engine_fixture_stat(&f, STAT_actors_ended),
                     1);
    fixture_end(&f);
}

static void test_poison_comes_in_order(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    actor_ref actor = probe(&f);
    uint64_t number = 1;
    assert_int_equal(engine_actor_send(f.engine, actor, number_type, &number, 8), 0);
    assert_int_equal(engine_actor_send(f.engine, actor, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    assert_int_equal(engine_actor_send(f.engine, actor, number_type, &number, 8), 0);
    start(&f);
    assert_int_equal(seen.numbers, 1);
    assert_int_equal(seen.finis, 1);
    assert_int_equal(dead_letters(&f, REASON_NO_SUCH_ACTOR), 1);
    assert_int_equal(engine_actor_send(f.engine, probe(&f), MESSAGE_TYPE_POISON_DESTROY, NULL, 0),
                     0);
    settle(&f);
    assert_int_equal(seen.finis, 2);
    actor_ref finished = probe(&f);
    run(&f, finished, script_end, (void *)ALLOCATION_NODELETE);
    assert_int_equal(engine_actor_send(f.engine, finished, MESSAGE_TYPE_POISON_FINISHED, NULL, 0),
                     0);
    settle(&f);
    assert_int_equal(seen.finis, 2);
    assert_int_equal(engine_actor_send(f.engine, finished, number_type, &number, 8), -ESRCH);
#ifdef TEST_SANITIZED
    free(seen.state);
#endif
    fixture_end(&f);
}

struct end_argument {
    actor_ref whom;
    bool stop; /* or it ends by itself */
};

static int script_end_another(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    const struct end_argument *a = argument;
    const struct script script = { .run = script_end, .argument = (void *)ALLOCATION_DELETE };
    int r = a->stop ? engine_ctx_send(ctx, a->whom, MESSAGE_TYPE_POISON_DELETE, 255, NULL, 0)
                    : engine_ctx_send(ctx, a->whom, script_type, 0, &script, sizeof(script));
    assert_int_equal(r, 0);
    return ALLOCATION_NODELETE;
}

static void expect_fini(unsigned n, actor_ref of, actor_ref sender)
{
    assert_int_equal(seen.finis, n);
    assert_int_equal(seen.fini_of, of);
    assert_int_equal(seen.fini_sender, sender);
    assert_int_equal(seen.fini_told, 0);
    assert_int_equal(seen.replies, n);
    assert_int_equal(seen.reply_from, of);
}

/* Whoever ran before it, and whoever ends it: a fini is its own actor's, and what it sends, too. */
static void test_a_fini_is_its_actors(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    uint64_t number = 1;
    actor_ref other = probe(&f), actor = probe(&f);
    seen.fini_tells = other;
    assert_int_equal(engine_actor_send(f.engine, other, number_type, &number, 8), 0);
    assert_int_equal(engine_actor_send(f.engine, actor, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    assert_int_equal(engine_actor_send(f.engine, other, number_type, &number, 8), 0);
    start(&f);
    expect_fini(1, actor, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct end_argument a = { .whom = probe(&f), .stop = i == 0 };
        run(&f, other, script_end_another, &a);
        expect_fini(2 + i, a.whom, other);
    }
    actor = probe(&f);
    run(&f, actor, script_end, (void *)ALLOCATION_DESTROY);
    expect_fini(4, actor, 0);
    fixture_end(&f);
}

static void test_init_that_fails(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    actor_ref actor = engine_fixture_spawn(&f, failing_type, NULL, 0);
    uint64_t number = 1;
    assert_int_equal(engine_actor_send(f.engine, actor, number_type, &number, 8), 0);
    start(&f);
    assert_int_equal(seen.inits, 1);
    assert_int_equal(seen.finis, 0);
    assert_int_equal(seen.numbers, 0);
    assert_int_equal(dead_letters(&f, REASON_NO_SUCH_ACTOR), 1);
    assert_int_equal(engine_actor_send(f.engine, actor, number_type, &number, 8), -ESRCH);
    struct engine_actor_type_view type;
    assert_int_equal(engine_actor_type_get(f.engine, failing_type, &type), 0);
    assert_int_equal(type.live, 0);
    fixture_end(&f);
}

/* ---- dead letters ---- */

struct send_argument {
    actor_ref to;
    uint16_t type;
    uint32_t size, behaviour;
    int result;
};

static int script_send(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    static const uint8_t zero[256];
    struct send_argument *a = argument;
    a->result = engine_ctx_send(ctx, a->to, a->type, a->behaviour, zero, a->size);
    return ALLOCATION_NODELETE;
}

static int send_by_actor(struct engine_fixture *f, actor_ref by, actor_ref to, uint16_t type,
                         uint32_t size, uint32_t behaviour)
{
    struct send_argument a = {
        .to = to, .type = type, .size = size, .behaviour = behaviour, .result = -1
    };
    run(f, by, script_send, &a);
    return a.result;
}

static void test_receivers_that_are_not_there(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 4096);
    actor_ref sender = probe(&f), ended = probe(&f), living = probe(&f);
    start(&f);
    run(&f, ended, script_end, (void *)ALLOCATION_DELETE);
    uint32_t slot = actor_ref_slot(living);
    const actor_ref nobody[] = {
        ended,
        actor_ref_make(slot, 2),
        actor_ref_make(slot, UINT32_MAX),
        actor_ref_make(f.config.actors_max - 1, 1), /* never used */
        actor_ref_make(3, 1),                       /* a port's slot, and no port */
    };
    size_t n = sizeof(nobody) / sizeof(nobody[0]);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(send_by_actor(&f, sender, nobody[i], number_type, 8, 1),
                         /* found out at once, or by whoever runs the queue of who has its place
                          * now */
                         0);
        assert_int_equal(dead_letters(&f, REASON_NO_SUCH_ACTOR), i + 1);
        assert_int_equal(engine_actor_send(f.engine, nobody[i], number_type, &(uint64_t){ 1 }, 8),
                         -ESRCH);
    }
    assert_int_equal(
        send_by_actor(&f, sender, actor_ref_make(f.config.actors_max, 1), number_type, 8, 1),
        -ESRCH);
    assert_int_equal(send_by_actor(&f, sender, actor_ref_make(UINT32_MAX, 1), bytes_type, 3, 2),
                     -ESRCH);
    assert_int_equal(send_by_actor(&f, sender, 0, bytes_type, 3, 2), -ESRCH);
    /* a living one's slot and generation, at executors that are not this one (queue.Q1) */
    static const uint8_t others[] = { 0, 2, 255 };
    for (unsigned i = 0; i < sizeof(others); i++) {
        actor_ref ref = actor_ref_of(others[i], slot, 1);
        assert_int_equal(send_by_actor(&f, sender, ref, number_type, 8, 1), -ESRCH);
        assert_int_equal(send_by_actor(&f, sender, ref, bytes_type, 3, 1), -ESRCH);
        assert_int_equal(engine_actor_send(f.engine, ref, number_type, &(uint64_t){ 1 }, 8),
                         -ESRCH);
        assert_false(engine_actor_lives(f.engine, ref));
    }
    assert_int_equal(seen.numbers, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), n);
    fixture_end(&f);
}

static void test_types_and_sizes_are_checked(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 4096);
    actor_ref sender = probe(&f), receivers[] = { probe(&f), probe(&f) };
    start(&f);
    uint64_t not_accepted = 0, bad_size = 0;
    for (unsigned i = 0; i < 2; i++) {
        actor_ref to = receivers[i];
        for (uint32_t behaviour = 0; behaviour < 300;
             behaviour += 51) { /* what the sender thinks of the index does not matter */
            assert_int_equal(send_by_actor(&f, sender, to, alien_type, 8, behaviour), 0);
            assert_int_equal(dead_letters(&f, REASON_NOT_ACCEPTED), ++not_accepted);
            assert_int_equal(send_by_actor(&f, sender, to, number_type, 7, behaviour), 0);
            assert_int_equal(send_by_actor(&f, sender, to, number_type, 16, behaviour), 0);
            assert_int_equal(send_by_actor(&f, sender, to, number_type, 0, behaviour), 0);
            bad_size += 3;
            assert_int_equal(dead_letters(&f, REASON_BAD_SIZE), bad_size);
            uint64_t before = seen.numbers;
            assert_int_equal(send_by_actor(&f, sender, to, number_type, 8, behaviour), 0);
            assert_int_equal(seen.numbers, before + 1);
        }
        assert_int_equal(send_by_actor(&f, sender, to, ODEON_MESSAGE_TYPES_MAX - 1, 8, 0), 0);
        assert_int_equal(send_by_actor(&f, sender, to, UINT16_MAX, 8, 0), 0);
        assert_int_equal(send_by_actor(&f, sender, to, MESSAGE_TYPE_REFUSAL, 8, 0), 0);
        not_accepted += 3;
        assert_int_equal(dead_letters(&f, REASON_NOT_ACCEPTED), not_accepted);
    }
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), not_accepted + bad_size);
    fixture_end(&f);
}

/* More dead letters in one gulp than an outbox holds: what lies behind it must stay what it is. */
static void test_dead_letters_stay_in_the_outbox(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 4096);
    actor_ref actor = engine_fixture_spawn(&f, failing_type, NULL, 0);
    static const uint8_t bytes[ODEON_PAYLOAD_MAX];
    for (unsigned i = 0; i < 100; i++) /* thrice the outbox */
        assert_int_equal(engine_actor_send(f.engine, actor, bytes_type, bytes, sizeof(bytes)), 0);
    struct segment *s = &f.engine->segment;
    uint8_t *behind = segment_outbox(s, 1); /* the control thread's, which sends nothing now */
    memset(behind, 0x5a, s->header->outbox_bytes);
    assert_int_equal(engine_start(f.engine), 0);
    settle(&f);
    for (uint64_t i = 0; i < s->header->outbox_bytes; i++)
        if (behind[i] != 0x5a)
            fail_msg("byte %lu behind the outbox has been written", (unsigned long)i);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 100);
    uint64_t kept = dead_letters(&f, REASON_NO_SUCH_ACTOR);
    assert_true(kept > 0);
    assert_int_equal(kept + engine_fixture_stat(&f, STAT_dead_letters_dropped), 100);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payload_sizes_and_padding),
        cmocka_unit_test(test_order_behind_the_tail),
        cmocka_unit_test(test_order_while_others_append),
        cmocka_unit_test(test_order_with_large_ones_between),
        cmocka_unit_test(test_order_over_a_park),
        cmocka_unit_test(test_throughput_limit_parks),
        cmocka_unit_test(test_slices_are_no_limit),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_four_allocation_results),
        cmocka_unit_test(test_poison_comes_in_order),
        cmocka_unit_test(test_a_fini_is_its_actors),
        cmocka_unit_test(test_init_that_fails),
        cmocka_unit_test(test_receivers_that_are_not_there),
        cmocka_unit_test(test_types_and_sizes_are_checked),
        cmocka_unit_test(test_dead_letters_stay_in_the_outbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
