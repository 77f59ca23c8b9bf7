/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that watch and end as a test orders them. Workers and control thread are the thread of the
 * test, so that what happens between two of them is its to say. */
#pragma once

#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/run/turn.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

enum { TIMERS = TIMER_FIXTURE_TIMERS, NOTES = 256 };
#define LATER (clock_now_ns() + UINT64_C(3600000000000))

/* What an actor does with the next "go". */
enum act {
    ACT_NOTHING,
    ACT_MONITOR,
    ACT_MONITOR_DIE,  /* ... and dies in the turn */
    ACT_MONITOR_LOOK, /* ... and the control thread looks within the turn */
    ACT_MONITOR_LONG, /* ... which takes a second, and the control thread looks when it is to */
    ACT_DEMONITOR,
    ACT_DEMONITOR_DIE,
    ACT_SPAWN,        /* a child, which it monitors in the same turn */
    ACT_SPAWN_ALONE,  /* ... or not */
    ACT_SPAWN_LET_GO, /* ... or not any more */
    ACT_FORGE,        /* a timer's message that says what the service alone says */
    ACT_END,          /* with a word to `to` before */
    ACT_END_DIE
};
struct orders {
    enum act act;
    actor_ref to;
    uint64_t n, id;
    uint32_t type;
};
struct note {
    actor_ref from; /* of a word */
    struct down down;
};
struct shared {
    struct orders orders;
    int result;
    uint64_t id;
    actor_ref child;
    bool init_fails;
    actor_ref greets; /* by each init, if it is anybody */
    uint64_t n_notes, n_inits, n_looks;
    struct note notes[NOTES];
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, word_type;
static uint32_t kept_type, plain_type, stop_type, brief_type, deaf_type;
static actor_ref watcher, other;
static bool not_loaded; /* the type "deaf" is not */

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

static inline void monitor(struct engine_context *ctx, const struct orders *o)
{
    for (uint64_t i = 0; i < (o->n ? o->n : 1); i++) {
        shared->result = engine_ctx_monitor(ctx, o->to, &shared->id);
        if (shared->result < 0)
            return;
    }
}

static inline void spawn_and_monitor(struct engine_context *ctx, const struct orders *o)
{
    assert_int_equal(engine_ctx_spawn_plain(ctx, o->type, PLACE_NEAR, &shared->child), 0);
    shared->result = engine_ctx_monitor(ctx, shared->child, &shared->id);
}

static inline void forge(struct engine_context *ctx)
{
    static const struct engine_timer_times times = { .delay_ns = 1 };
    const struct down down = { .ref = other, .reason = REASON_FINISHED };
    uint64_t id;

    assert_int_equal(engine_ctx_send_after(ctx, watcher, MESSAGE_TYPE_DOWN, BEHAVIOUR_NONE, &down,
                                           sizeof(down), &times, &id),
                     0);
}

static inline void look_for_a_second(void)
{
    const struct timer_node *first;
    uint64_t end_ns = clock_now_ns() + 1000000000;

    while ((first = timer_heap_first(&f.engine->timers.heap)) && first->due_ns < end_ns) {
        timer_fire_due(f.engine, first->due_ns);
        shared->n_looks++;
    }
}

static inline int on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct orders o = shared->orders;

    (void)self, (void)message;
    if (o.act >= ACT_MONITOR && o.act <= ACT_MONITOR_LONG)
        monitor(ctx, &o);
    if (o.act == ACT_DEMONITOR || o.act == ACT_DEMONITOR_DIE)
        shared->result = engine_ctx_demonitor(ctx, o.id ? o.id : shared->id);
    if (o.act == ACT_SPAWN || o.act == ACT_SPAWN_LET_GO)
        spawn_and_monitor(ctx, &o);
    if (o.act == ACT_SPAWN_LET_GO)
        shared->result = engine_ctx_demonitor(ctx, shared->id);
    if (o.act == ACT_SPAWN_ALONE)
        assert_int_equal(engine_ctx_spawn_plain(ctx, o.type, PLACE_NEAR, &shared->child), 0);
    if (o.act == ACT_FORGE)
        forge(ctx);
    if (o.act == ACT_MONITOR_LONG)
        look_for_a_second();
    if (o.act == ACT_MONITOR_LOOK)
        timer_fire_due(f.engine, LATER);
    if ((o.act == ACT_END || o.act == ACT_END_DIE) && o.to)
        assert_int_equal(engine_ctx_send(ctx, o.to, word_type, BEHAVIOUR_NONE, NULL, 0), 0);
    if (o.act == ACT_MONITOR_DIE || o.act == ACT_DEMONITOR_DIE || o.act == ACT_END_DIE)
        raise(SIGKILL);
    return o.act == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static inline int on_word(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    shared->notes[shared->n_notes++ % NOTES] = (struct note){ .from = ctx->sender };
    return ALLOCATION_NODELETE;
}

static inline int on_down(void *self, const void *message, struct engine_context *ctx)
{
    struct note *note = &shared->notes[shared->n_notes++ % NOTES];

    (void)self;
    *note = (struct note){ 0 };
    memcpy(&note->down, message, sizeof(note->down));
    assert_int_equal(ctx->kind >> 56, KIND_DOWN);
    assert_int_equal(ctx->sender, note->down.ref);
    return ALLOCATION_NODELETE;
}

static inline int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size;
    shared->n_inits++;
    if (shared->greets)
        assert_int_equal(engine_ctx_send(ctx, shared->greets, word_type, BEHAVIOUR_NONE, NULL, 0),
                         0);
    return shared->init_fails ? -1 : 0;
}

static inline void register_type(const char *name, enum engine_restart restart,
                                 uint32_t n_behaviours, engine_init_fn init, uint32_t *ret_type)
{
    static struct engine_behaviour behaviours[3];
    const struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = init ? 8 : 0,
        .restart = restart,
        .n_behaviours = n_behaviours,
        .behaviours = behaviours,
        .init = init,
    };

    behaviours[0] = (struct engine_behaviour){ go_type, 0, 0, on_go };
    behaviours[1] = (struct engine_behaviour){ word_type, 0, 0, on_word };
    behaviours[2] = (struct engine_behaviour){ MESSAGE_TYPE_DOWN, sizeof(struct down), 0, on_down };
    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static inline void register_types(void)
{
    go_type = engine_fixture_message(&f, "go", 0, false);
    word_type = engine_fixture_message(&f, "word", 0, false);
    register_type("kept", RESTART_KEEP, 3, on_init, &kept_type);
    register_type("plain", RESTART_INIT, 3, on_init, &plain_type);
    register_type("stop", RESTART_STOP, 3, on_init, &stop_type);
    register_type("brief", RESTART_INIT, 1, NULL, &brief_type);
    if (!not_loaded)
        register_type("deaf", RESTART_KEEP, 2, on_init, &deaf_type);
}

static inline int setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    engine_fixture_open(&f, timer_fixture_config());
    not_loaded = false;
    register_types();
    watcher = engine_fixture_spawn(&f, kept_type, NULL, 0);
    other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    return 0;
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

static inline void order(struct orders orders)
{
    order_of(watcher, orders);
}

static inline void monitors(actor_ref who)
{
    order((struct orders){ .act = ACT_MONITOR, .to = who });
    assert_int_equal(shared->result, 0);
}

static inline void ends(actor_ref who)
{
    order_of(who, (struct orders){ .act = ACT_END });
}

static inline void restart(void)
{
    timer_fixture_restart(&f, register_types);
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

static inline void assert_told(uint64_t note, actor_ref who, enum envelope_reason reason)
{
    assert_true(note < shared->n_notes);
    assert_int_equal(shared->notes[note].down.ref, who);
    assert_int_equal(shared->notes[note].down.reason, reason);
}

/* ... and nothing more, then or later. */
static inline void assert_only_told(actor_ref who, enum envelope_reason reason)
{
    assert_int_equal(shared->n_notes, 1);
    assert_told(0, who, reason);
    fire(LATER);
    restart();
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_int_equal(f.engine->timers.n, 0);
}
