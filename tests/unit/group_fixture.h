/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that join groups, publish, and note what they get. Workers and control thread are the
 * test's thread, so that what happens between two of them is the test's to say. A block has so few
 * places that a publication goes round several times. */
#pragma once

#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/asks/group.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/timers/member_look.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

enum { BLOCK = 4, TIMERS = 4096, ACTORS = 1200, WORDS = 8, FULL = 200 };
#define LATER (clock_now_ns() + UINT64_C(3600000000000))

/* What an actor does with the next "go", or with a word that it is the one to react to. */
enum act {
    ACT_NOTHING,
    ACT_JOIN,
    ACT_JOIN_LOOK, /* ... and somebody looks who is a member within the turn */
    ACT_JOIN_DIE,
    ACT_JOIN_MANY, /* groups of n names */
    ACT_LEAVE,
    ACT_LEAVE_LOOK,
    ACT_LEAVE_DIE,
    ACT_LEAVE_JOIN,
    ACT_LEAVE_JOIN_LOOK,
    ACT_LEAVE_JOIN_DIE,
    ACT_LEAVE_BOTH_JOIN, /* this group and "news", and this one again */
    ACT_PUBLISH,         /* the numbers from `word` on, n of them */
    ACT_PUBLISH_DIE,
    ACT_ASK,
    ACT_END,
    ACT_DIE,
    ACT_ARM_MANY, /* timers, until there are no more */
    ACT_FILL,     /* its own queue, behind what is run now, until it is at its limit */
    ACT_FIRE,     /* what is due is sent within the turn */
    ACT_KEEP,     /* another group has a word for the victim, who is at its limit */
};
struct orders {
    enum act act;
    const char *name;
    uint64_t n, word;
    size_t size;
};
/* Of one actor, by when it was spawned. */
struct log {
    uint64_t n, words[WORDS], inits;
    actor_ref from;
};
struct shared {
    struct orders orders;
    /* who, when it gets a word, does something else before */
    actor_ref reacts, victim;
    struct orders reaction;
    int result;
    uint32_t looked;
    uint64_t no_answer;
    struct log log[ACTORS];
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, word_type, large_type, idle_type;
static uint32_t kept_type, plain_type, waiting_type, anew_type; /* the latter two: stall */
static actor_ref actors[ACTORS], publisher;
static uint32_t n_actors;

static inline void run_queues(void)
{
    timer_fixture_run(&f);
}

static inline void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        run_queues();
    run_queues();
}

static inline actor_ref group_of(const char *name)
{
    actor_ref ref = 0;

    (void)actor_names_lookup(f.engine->control, name, &ref);
    return ref;
}

static inline struct log *log_of(actor_ref who)
{
    for (uint32_t i = 0; i < n_actors; i++)
        if (actors[i] == who)
            return &shared->log[i];
    fprintf(stderr, "nobody's log\n");
    abort();
}

static inline void look(const char *name)
{
    struct member_block block = { .place = 0 };

    member_look_at_block(f.engine, group_of(name), &block);
    shared->looked = block.n;
}

static inline void publish(struct engine_context *ctx, const struct orders *o)
{
    static uint8_t bytes[ODEON_PAYLOAD_MAX];

    for (uint64_t i = 0; i < o->n; i++) {
        uint64_t word = o->word + i;
        struct engine_pieces pieces = { .head = &word, .head_size = sizeof(word) };
        if (o->size)
            pieces = (struct engine_pieces){ .head = &word,
                                             .head_size = sizeof(word),
                                             .tail = bytes,
                                             .tail_size = o->size - sizeof(word) };
        shared->result =
            engine_ctx_publish(ctx, o->name, o->size ? large_type : word_type, &pieces);
        if (shared->result < 0)
            return;
    }
}

static inline void join_many(struct engine_context *ctx, const struct orders *o)
{
    char name[16];

    for (uint64_t i = 0; i < o->n; i++) {
        snprintf(name, sizeof(name), "%s%u", o->name, (unsigned)i);
        shared->result = engine_ctx_join(ctx, name);
        if (shared->result < 0)
            return;
    }
}

static inline void ask(struct engine_context *ctx, const struct orders *o)
{
    const struct engine_pieces pieces = { .head = &o->word, .head_size = sizeof(o->word) };
    uint64_t token;

    shared->result = engine_ctx_ask(ctx, group_of(o->name), word_type, BEHAVIOUR_NONE, &pieces,
                                    UINT64_C(3600000000000), &token);
}

static inline void arm_many(struct engine_context *ctx)
{
    static const struct engine_timer_times times = { .delay_ns = UINT64_C(3600000000000) };
    uint64_t id;

    while (engine_ctx_send_after(ctx, ctx->self, go_type, BEHAVIOUR_NONE, NULL, 0, &times, &id) ==
           0)
        ;
}

static inline void keep_fill(struct envelope *at, const struct worker *w,
                             const struct timer_request *request, uint64_t id)
{
    const struct orders *o = request->data;

    (void)w, (void)id;
    *at = (struct envelope){
        .to = request->to, .type = word_type, .length = sizeof(o->word), .behaviour = BEHAVIOUR_NONE
    };
    memcpy(envelope_payload(at), &o->word, sizeof(o->word));
}

static inline void keep(const struct orders *o)
{
    struct timer_request request = {
        .to = shared->victim, .kept = true, .fill = keep_fill, .data = o, .size = sizeof(o->word)
    };
    uint64_t id;

    f.engine->control->ctx.self = group_of(o->name);
    assert_int_equal(timers_arm(f.engine->control, &request, &id), 0);
    f.engine->control->ctx.self = 0;
    commit_flip(f.engine->control, 0, 0, 0, 0, 0, 0);
}

static inline int act(struct engine_context *ctx, const struct orders *o)
{
    if (o->act >= ACT_JOIN && o->act <= ACT_JOIN_DIE)
        shared->result = engine_ctx_join(ctx, o->name);
    if (o->act == ACT_JOIN_MANY)
        join_many(ctx, o);
    if (o->act >= ACT_LEAVE && o->act <= ACT_LEAVE_JOIN_DIE)
        shared->result = engine_ctx_leave(ctx, o->name);
    if (o->act >= ACT_LEAVE_JOIN && o->act <= ACT_LEAVE_JOIN_DIE && shared->result == 0)
        shared->result = engine_ctx_join(ctx, o->name);
    if (o->act == ACT_JOIN_LOOK || o->act == ACT_LEAVE_LOOK || o->act == ACT_LEAVE_JOIN_LOOK)
        look(o->name);
    if (o->act == ACT_LEAVE_BOTH_JOIN) {
        assert_int_equal(engine_ctx_leave(ctx, o->name), 0);
        assert_int_equal(engine_ctx_leave(ctx, "news"), 0);
        shared->result = engine_ctx_join(ctx, o->name);
    }
    if (o->act == ACT_PUBLISH || o->act == ACT_PUBLISH_DIE)
        publish(ctx, o);
    if (o->act == ACT_ASK)
        ask(ctx, o);
    if (o->act == ACT_ARM_MANY)
        arm_many(ctx);
    while (o->act == ACT_FILL && engine_actor_send(f.engine, ctx->self, idle_type, NULL, 0) == 0)
        ;
    if (o->act == ACT_KEEP) {
        keep(o);
        shared->orders = shared->reaction; /* for the next one */
    }
    if (o->act == ACT_FIRE)
        (void)timer_fire_due(f.engine, LATER);
    if (o->act == ACT_JOIN_DIE || o->act == ACT_LEAVE_DIE || o->act == ACT_LEAVE_JOIN_DIE ||
        o->act == ACT_PUBLISH_DIE || o->act == ACT_DIE)
        raise(SIGKILL);
    return o->act == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static inline int on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct orders o = shared->orders;

    (void)self, (void)message;
    return act(ctx, &o);
}

static inline int on_word(void *self, const void *message, struct engine_context *ctx)
{
    struct log *log = log_of(ctx->self);
    int r = ALLOCATION_NODELETE;

    (void)self;
    if (shared->reacts == ctx->self) {
        const struct orders o = shared->reaction;
        shared->reacts = 0;
        if (shared->victim) {
            shared->orders = o;
            assert_int_equal(engine_ctx_send(ctx, shared->victim, go_type, BEHAVIOUR_NONE, NULL, 0),
                             0);
        } else {
            r = act(ctx, &o);
        }
    }
    memcpy(&log->words[log->n++ % WORDS], message, sizeof(uint64_t));
    log->from = ctx->sender;
    assert_int_equal(ctx->kind, 0);
    return r;
}

static inline int on_idle(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    return ALLOCATION_NODELETE;
}

static inline int on_no_answer(void *self, const void *message, struct engine_context *ctx)
{
    const struct no_answer *no_answer = message;

    (void)self, (void)ctx;
    shared->no_answer = no_answer->reason;
    return ALLOCATION_NODELETE;
}

static inline int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size;
    for (uint32_t i = 0; i < n_actors; i++)
        if (actors[i] == ctx->self)
            shared->log[i].inits++;
    return 0;
}

static inline void register_type(const char *name, enum engine_restart restart,
                                 enum engine_overflow overflow, uint32_t *ret_type)
{
    const struct engine_behaviour behaviours[] = {
        { go_type, 0, 0, on_go },
        { word_type, sizeof(uint64_t), 0, on_word },
        { large_type, sizeof(uint64_t), 1, on_word },
        { idle_type, 0, 0, on_idle },
        { MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), 0, on_no_answer },
    };
    const struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = 8,
        .restart = restart,
        .overflow = overflow,
        .n_behaviours = 5,
        .behaviours = behaviours,
        .init = on_init,
    };

    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static inline void register_types(void)
{
    assert_int_equal(engine_groups_open(f.engine), 0);
    go_type = engine_fixture_message(&f, "go", 0, false);
    word_type = engine_fixture_message(&f, "word", sizeof(uint64_t), false);
    large_type = engine_fixture_message(&f, "large", sizeof(uint64_t), true);
    idle_type = engine_fixture_message(&f, "idle", 0, false);
    register_type("kept", RESTART_KEEP, OVERFLOW_POLICY_REJECT, &kept_type);
    register_type("plain", RESTART_INIT, OVERFLOW_POLICY_REJECT, &plain_type);
    register_type("waiting", RESTART_KEEP, OVERFLOW_POLICY_STALL, &waiting_type);
    register_type("anew", RESTART_INIT, OVERFLOW_POLICY_STALL, &anew_type);
}

static inline actor_ref spawn(uint32_t type)
{
    actors[n_actors] = engine_fixture_spawn(&f, type, NULL, 0);
    return actors[n_actors++];
}

static inline int setup_with(uint64_t outbox_bytes)
{
    struct engine_config config = timer_fixture_config();

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    n_actors = 0;
    config.queues_per_worker = 2;
    config.timers_max = TIMERS;
    config.outbox_bytes = outbox_bytes;
    engine_fixture_open(&f, config);
    register_types();
    publisher = spawn(kept_type);
    run_queues();
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    return setup_with(OUTBOX_SYSTEM_BYTES + OUTBOX_FLUSH_BYTES +
                      BLOCK * (sizeof(struct outbox_run) + ENVELOPE_SIZE_MAX));
}

static inline int setup_large(void **state)
{
    (void)state;
    return setup_with(16 << 20);
}

static inline int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    munmap(shared, sizeof(*shared));
    return 0;
}

static inline void order_of(actor_ref who, struct orders orders)
{
    shared->orders = orders;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    run_queues();
}

static inline void joins(actor_ref who)
{
    order_of(who, (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, 0);
}

/* n of them, of one type. */
static inline void members(uint32_t n, uint32_t type)
{
    for (uint32_t i = 0; i < n; i++)
        joins(spawn(type));
}

static inline void publishes(uint64_t word, uint64_t n)
{
    order_of(publisher,
             (struct orders){ .act = ACT_PUBLISH, .name = "prices", .word = word, .n = n });
    assert_int_equal(shared->result, 0);
}

static actor_ref last_of;
static struct orders last_orders;

static inline void carry_out(void)
{
    order_of(last_of, last_orders);
}

static inline void order_that_kills(actor_ref who, struct orders orders)
{
    last_of = who;
    last_orders = orders;
    timer_fixture_die(&f, carry_out, register_types);
    shared->orders.act = ACT_NOTHING;
    run_queues(); /* it was running, and is run again */
}

static inline void restart(void)
{
    timer_fixture_restart(&f, register_types);
}

/* Who was spawned as the i-th one has had these words, and no others. */
static inline void assert_words(uint32_t i, uint64_t from, uint64_t n)
{
    const struct log *log = &shared->log[i];

    if (log->n != n)
        fail_msg("actor %u has %u words, not %u", i, (unsigned)log->n, (unsigned)n);
    for (uint64_t word = 0; word < n && word < WORDS; word++)
        assert_int_equal(log->words[word], from + word);
}

static inline void assert_words_of_all(uint64_t from, uint64_t n)
{
    for (uint32_t i = 1; i < n_actors; i++)
        assert_words(i, from, n);
}

static inline uint32_t queue_of(actor_ref who)
{
    return f.engine->segment.actors[actor_ref_slot(who)].queue;
}

/* Of those from the i-th one on: one whose messages come in one row with the group's. */
static inline actor_ref near_the_group(uint32_t i)
{
    while (queue_of(actors[i]) != queue_of(group_of("prices")))
        i++;
    assert_true(i < n_actors);
    return actors[i];
}

/* The queue of this one, until it is empty, which on a busy machine takes more than one run. */
static inline void run_alone(actor_ref ref)
{
    while (queue_has_work(&f.engine->segment.queues[queue_of(ref)])) {
        assert_true(owner_take(&f.engine->sources[queue_of(ref)], 0, 0));
        mailbox_run(f.engine->workers[0], queue_of(ref), false);
    }
}

/* One that joins, and is not in the group's queue; or is. */
static inline actor_ref member_of(uint32_t type, bool near)
{
    actor_ref who;

    do
        who = spawn(type);
    while ((queue_of(who) == queue_of(group_of("prices"))) != near);
    run_queues();
    joins(who);
    return who;
}

/* Its queue, until that is at its limit. */
static inline void fill(actor_ref who)
{
    for (int i = 0; i < FULL; i++)
        assert_int_equal(engine_actor_send(f.engine, who, idle_type, NULL, 0), 0);
    f.engine->segment.header->limit_bytes = 4096;
}
