/* SPDX-License-Identifier: Apache-2.0 */
/* Phases (actors/phases.h): which set of behaviours an actor has, in one burst, over restarts and
 * turns that died, and under plugins that come back with other sets. Workers and control thread
 * are this thread. */
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/segment/slot.h"
#include "timer_fixture.h"

enum { WORD_BECOME, WORD_TWICE, WORD_END, WORD_SPAWN };
/* What a message asks for: the sets as numbers of `names`. */
struct go {
    uint32_t what, first, second;
};
enum { FIRST, SECOND, THIRD, NAMES };
static const char *const names[] = { "closed", "open", "broken", "ajar" };

struct shared {
    uint32_t ran[NAMES + 1], n; /* which sets have run a message, in order of the messages */
    uint32_t order[64];
    int result, init_becomes;
    bool dies;
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, also_type;
static uint32_t kept_type, plain_type;
/* what the plugin of this start brings */
static const char *first_name = "closed";
static uint32_t n_others = 2;
static const char *second_name = "open";

static void run_queues(void)
{
    timer_fixture_run(&f);
}

static int act(uint32_t set, const void *message, struct engine_context *ctx)
{
    const struct go *go = message;

    shared->ran[set]++;
    shared->order[shared->n++ % 64] = set;
    if (go->what == WORD_END)
        return ALLOCATION_DELETE;
    shared->result = engine_ctx_become(ctx, names[go->first]);
    if (go->what == WORD_TWICE)
        shared->result = engine_ctx_become(ctx, names[go->second]);
    if (go->what == WORD_SPAWN) {
        /* whose init record puts a word of the loop back */
        actor_ref ref;
        assert_int_equal(engine_ctx_spawn_plain(ctx, plain_type, PLACE_NEAR, &ref), 0);
    }
    if (shared->dies)
        raise(SIGKILL);
    return ALLOCATION_NODELETE;
}

static int in_first(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    return act(FIRST, message, ctx);
}
static int in_second(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    return act(SECOND, message, ctx);
}
static int in_third(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    return act(THIRD, message, ctx);
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size;
    return shared->init_becomes ? engine_ctx_become(ctx, names[shared->init_becomes]) : 0;
}

/* With NULL it only asks whether it could be registered, behind what has the room. */
static int try_register_behind(struct engine_types_room *room, const char *name,
                               enum engine_restart restart, uint32_t *ret_type)
{
    const struct engine_behaviour behaviours[] = { { go_type, sizeof(struct go), 0, in_first },
                                                   { also_type, sizeof(struct go), 0, in_first } };
    static const engine_behaviour_fn second[] = { in_second, in_second },
                                     third[] = { in_third, in_third };
    const struct engine_behaviour_set others[] = { { second_name, second }, { "broken", third } };
    const struct engine_actor_type_info info = { .name = name,
                                                 .plugin = "test",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .restart = restart,
                                                 .n_behaviours = 2,
                                                 .behaviours = behaviours,
                                                 .phase = first_name,
                                                 .n_others = n_others,
                                                 .others = others,
                                                 .init = on_init };

    return ret_type ? engine_actor_type_register(f.engine, &info, ret_type)
                    : engine_actor_type_check(f.engine, &info, room);
}

static int try_register(const char *name, enum engine_restart restart, uint32_t *ret_type)
{
    return try_register_behind(NULL, name, restart, ret_type);
}

static void register_types(void)
{
    go_type = engine_fixture_message(&f, "go", sizeof(struct go), false);
    also_type = engine_fixture_message(&f, "also", sizeof(struct go), false);
    assert_int_equal(try_register("kept", RESTART_KEEP, &kept_type), 0);
    assert_int_equal(try_register("plain", RESTART_INIT, &plain_type), 0);
}

static void register_messages(void)
{
    go_type = engine_fixture_message(&f, "go", sizeof(struct go), false);
    also_type = engine_fixture_message(&f, "also", sizeof(struct go), false);
}

static int setup(void **state)
{
    (void)state;
    first_name = "closed";
    second_name = "open";
    n_others = 2;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    engine_fixture_open(&f, timer_fixture_config());
    register_types();
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

static actor_ref spawn(uint32_t type)
{
    actor_ref ref = engine_fixture_spawn(&f, type, NULL, 0);

    run_queues();
    return ref;
}

static void post(actor_ref who, uint16_t message, uint32_t what, uint32_t set)
{
    const struct go go = { .what = what, .first = set, .second = SECOND };

    assert_int_equal(engine_actor_send(f.engine, who, message, &go, sizeof(go)), 0);
}

static void become(actor_ref who, uint32_t set)
{
    post(who, go_type, WORD_BECOME, set);
    run_queues();
}

static const char *phase_of(actor_ref who)
{
    struct engine_actor_view view;

    assert_int_equal(engine_actor_get(f.engine, who, &view), 0);
    return view.phase;
}

static void test_next_message_of_a_burst(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        actor_ref who = spawn(kept ? kept_type : plain_type);
        /* long enough that the behaviours are known to be quick, and bursts of one kind */
        for (uint32_t i = 0; i < 40; i++)
            post(who, go_type, WORD_BECOME, FIRST);
        run_queues();
        shared->n = 0;
        for (uint32_t i = 0; i < 60; i++)
            post(who, i % 7 ? go_type : also_type, WORD_BECOME, (i / 3) % 3);
        run_queues();
        assert_int_equal(shared->n, 60);
        for (uint32_t i = 0; i < 60; i++)
            assert_int_equal(shared->order[i], i == 0 ? FIRST : ((i - 1) / 3) % 3);
        assert_string_equal(phase_of(who), names[(59 / 3) % 3]);
    }
    assert_true(engine_fixture_stat(&f, STAT_becomes) >= 38);
}

/* A spawn has the word of the loop put back that asks it to look. */
static void test_beside_a_spawn(void **state)
{
    (void)state;
    actor_ref who = spawn(plain_type);
    for (uint32_t i = 0; i < 40; i++)
        post(who, go_type, WORD_BECOME, FIRST);
    run_queues();
    shared->n = 0;
    post(who, go_type, WORD_SPAWN, SECOND);
    post(who, go_type, WORD_SPAWN, THIRD);
    post(who, go_type, WORD_SPAWN, FIRST);
    post(who, go_type, WORD_SPAWN, FIRST);
    run_queues();
    assert_int_equal(shared->order[0], FIRST);
    assert_int_equal(shared->order[1], SECOND);
    assert_int_equal(shared->order[2], THIRD);
    assert_int_equal(shared->order[3], FIRST);
}

static void test_in_init(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        shared->init_becomes = SECOND;
        actor_ref who = spawn(kept ? kept_type : plain_type);
        shared->init_becomes = 0;
        shared->n = 0;
        become(who, SECOND);
        assert_int_equal(shared->order[0], SECOND);
        assert_string_equal(phase_of(who), "open");
    }
}

static void test_what_is_refused(void **state)
{
    const char *const nobody = "ajar";

    (void)state;
    actor_ref who = spawn(plain_type);
    become(who, NAMES); /* "ajar" */
    assert_int_equal(shared->result, -ENOENT);
    assert_string_equal(phase_of(who), "closed");
    f.engine->control->ctx.self = 0;
    assert_int_equal(engine_ctx_become(&f.engine->control->ctx, nobody), -EPERM);
    assert_int_equal(engine_fixture_stat(&f, STAT_becomes), 0);
}

static void test_over_a_restart(void **state)
{
    (void)state;
    actor_ref kept = spawn(kept_type), plain = spawn(plain_type), still = spawn(kept_type);
    become(kept, THIRD);
    become(plain, THIRD);
    for (int i = 0; i < 3; i++) {
        timer_fixture_restart(&f, register_types);
        assert_string_equal(phase_of(kept), "broken");
        assert_string_equal(phase_of(plain), "closed");
        assert_string_equal(phase_of(still), "closed");
    }
    shared->n = 0;
    become(kept, FIRST);
    become(plain, SECOND);
    become(kept, FIRST);
    assert_int_equal(shared->order[0], THIRD);
    assert_int_equal(shared->order[1], FIRST);
    assert_int_equal(shared->order[2], FIRST);
    timer_fixture_restart(&f, register_types);
    assert_string_equal(phase_of(kept), "closed");
}

/* phases.PH1, also when the turn has changed it twice. */
static actor_ref victim;
static uint32_t what_kills;

static void die(void)
{
    shared->dies = true;
    post(victim, go_type, what_kills, THIRD);
    run_queues();
}

static void test_a_turn_that_died(void **state)
{
    (void)state;
    victim = spawn(kept_type);
    become(victim, SECOND);
    for (what_kills = WORD_BECOME; what_kills <= WORD_TWICE; what_kills++) {
        shared->dies = false;
        timer_fixture_die(&f, die, register_types);
        assert_string_equal(phase_of(victim), "open");
        shared->dies = false;
        shared->n = 0;
        run_queues(); /* the message again, and it lives */
        assert_int_equal(shared->order[0], SECOND);
        assert_string_equal(phase_of(victim), what_kills == WORD_TWICE ? "open" : "broken");
        become(victim, SECOND);
    }
}

/* phases.PH3: who gets the slot next has the first set. */
static void test_the_next_actor_of_the_slot(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        actor_ref who = spawn(kept_type);
        assert_string_equal(phase_of(who), "closed");
        become(who, SECOND);
        post(who, go_type, WORD_END, FIRST);
        run_queues();
    }
    assert_true(load_relaxed(&f.engine->segment.header->slots_high) < ODEON_PORTS_MAX + 40 + 64);
}

/* phases.PH4 */
static void reopen(void)
{
    struct engine_recovery report;

    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    register_messages();
}

static void reopen_and_register(int kept_result)
{
    reopen();
    assert_int_equal(try_register("kept", RESTART_KEEP, &kept_type), kept_result);
    assert_int_equal(try_register("plain", RESTART_INIT, &plain_type), 0);
}

static void test_a_plugin_without_the_set(void **state)
{
    (void)state;
    actor_ref kept = spawn(kept_type), plain = spawn(plain_type);
    become(kept, THIRD);
    become(plain, THIRD);
    n_others = 1;
    reopen_and_register(-ENOENT);
    /* nothing of it is run; a message finds its type not loaded */
    post(kept, go_type, WORD_BECOME, FIRST);
    run_queues();
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    n_others = 2;
    reopen_and_register(0);
    assert_string_equal(phase_of(kept), "broken");
    become(kept, SECOND);
    n_others = 1;
    reopen_and_register(0); /* nobody is in "broken" any more */
    assert_string_equal(phase_of(kept), "open");
    n_others = 0;
    reopen_and_register(-ENOENT);
}

/* The sets of a plugin that brings them in another order are what they are called. */
static void test_another_first_set(void **state)
{
    (void)state;
    actor_ref closed = spawn(kept_type), open = spawn(kept_type);
    become(open, SECOND);
    first_name = "open";
    second_name = "closed";
    reopen_and_register(0);
    assert_string_equal(phase_of(closed), "closed");
    assert_string_equal(phase_of(open), "open");
    shared->n = 0;
    become(closed, SECOND);
    become(open, SECOND);
    assert_int_equal(shared->order[0], SECOND);
    assert_int_equal(shared->order[1], FIRST);
    assert_string_equal(phase_of(spawn(kept_type)), "open");
    assert_string_equal(phase_of(closed), "open");
    first_name = "shut";
    reopen_and_register(-ENOENT);
    first_name = "closed";
    second_name = "open";
    reopen_and_register(0);
    assert_string_equal(phase_of(closed), "open");
    assert_string_equal(phase_of(open), "open");
}

/* Who begins anew is in the first set, whatever it has been called before. */
static void test_another_first_set_of_those_who_begin_anew(void **state)
{
    (void)state;
    actor_ref who = spawn(plain_type);
    become(who, SECOND);
    first_name = "shut";
    n_others = 1;
    reopen();
    assert_int_equal(try_register("plain", RESTART_INIT, &plain_type), 0);
    assert_string_equal(phase_of(who), "shut");
    shared->n = 0;
    become(who, SECOND);
    become(who, SECOND);
    assert_int_equal(shared->n, 2);
    assert_int_equal(shared->order[0], FIRST);
    assert_int_equal(shared->order[1], SECOND);
    assert_string_equal(phase_of(who), "open");
}

/* A kill behind any store of that leaves a type that the plugin before can run, too. */
static void test_another_first_set_that_was_cut(void **state)
{
    uint32_t type;

    (void)state;
    first_name = NULL;
    n_others = 0;
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    actor_ref told = spawn(type), untold = spawn(type);
    first_name = "closed";
    second_name = "initial";
    n_others = 1;
    reopen();
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    /* as if it had been killed behind the first slot */
    f.engine->segment.actor_types[type].first_phase = 0;
    store_relaxed(&f.engine->segment.actors[actor_ref_slot(untold)].phase, 0);
    first_name = NULL;
    n_others = 0;
    reopen();
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    shared->n = 0;
    for (int i = 0; i < 2; i++) {
        assert_string_equal(phase_of(i ? untold : told), "");
        become(i ? untold : told, FIRST); /* which it has not */
    }
    assert_int_equal(shared->n, 2);
    assert_int_equal(shared->order[0], FIRST);
    assert_int_equal(shared->order[1], FIRST);
    /* and the other one again */
    first_name = "closed";
    n_others = 1;
    reopen();
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    for (int i = 0; i < 2; i++)
        assert_string_equal(phase_of(i ? untold : told), "initial");
}

/* A type that has had one set without a name may get more, if the first one is still so called. */
static void test_more_sets_than_before(void **state)
{
    (void)state;
    first_name = NULL;
    n_others = 0;
    uint32_t type;
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    actor_ref who = spawn(type);
    assert_string_equal(phase_of(who), "");
    first_name = "initial";
    n_others = 2;
    reopen();
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0);
    assert_string_equal(phase_of(who), "initial");
    become(who, SECOND);
    assert_string_equal(phase_of(who), "open");
    first_name = "closed";
    reopen();
    assert_int_equal(try_register("late", RESTART_KEEP, &type), 0); /* it is in "open" */
    assert_string_equal(phase_of(who), "open");
}

static void test_a_type_that_goes_and_comes(void **state)
{
    uint64_t live;

    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_ref who = spawn(kept_type);
        become(who, SECOND);
        assert_int_equal(engine_actor_type_retire_ask(f.engine, kept_type, &live), -EBUSY);
        post(who, go_type, WORD_END, FIRST);
        run_queues();
        assert_int_equal(engine_actor_type_retire_ask(f.engine, kept_type, &live), 0);
        if (i == 0) {
            engine_actor_type_retire_cancel(f.engine, kept_type);
            continue;
        }
        assert_int_equal(engine_start(f.engine), 0);
        while (engine_actor_type_retire_look(f.engine, kept_type, &live) == -EAGAIN)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        engine_stop(f.engine);
        assert_null(load_relaxed(&f.engine->types.known[ODEON_ACTOR_TYPES_MAX + 2]));
        reopen_and_register(0);
    }
}

/* What is said beforehand is what becomes of it, to the last name in the table. */
static void check_and_register(const char *name, uint32_t room_for)
{
    struct segment_header *header = f.engine->segment.header;
    struct engine_types_room room = { 0 };
    uint32_t n = load_relaxed(&header->n_phases), types = load_relaxed(&header->n_actor_types), id;

    room.phases = ODEON_PHASES_MAX - n - room_for + 1;
    assert_int_equal(try_register_behind(&room, name, RESTART_INIT, NULL), -ENOSPC);
    room = (struct engine_types_room){ .phases = ODEON_PHASES_MAX - n - room_for };
    assert_int_equal(try_register_behind(&room, name, RESTART_INIT, NULL), 0);
    assert_int_equal(load_relaxed(&header->n_phases), n);
    assert_int_equal(load_relaxed(&header->n_actor_types), types);
    assert_int_equal(try_register(name, RESTART_INIT, &id), 0);
    assert_int_equal(load_relaxed(&header->n_phases), n + room_for);
    assert_int_equal(try_register_behind(&room, name, RESTART_INIT, NULL), -EEXIST);
}

static void test_room_that_is_asked_for(void **state)
{
    const struct segment_header *header;
    struct engine_types_room room;

    (void)state;
    check_and_register("new", 4); /* "initial" as well: what the first one was called */
    first_name = "ajar";
    second_name = "initial"; /* is counted once */
    check_and_register("moves", 3);
    first_name = "initial";
    second_name = "open";
    check_and_register("stays", 2);
    first_name = "closed";
    reopen_and_register(0);
    first_name = "open";
    second_name = "ajar";
    check_and_register("new", 1);
    /* the table of types: a known one needs no place */
    header = f.engine->segment.header;
    room.types = ODEON_ACTOR_TYPES_MAX - load_relaxed(&header->n_actor_types);
    room.phases = 0;
    assert_int_equal(try_register_behind(&room, "one_more", RESTART_INIT, NULL), -ENOSPC);
    room.types -= 2;
    assert_int_equal(try_register_behind(&room, "one_more", RESTART_INIT, NULL), 0);
    assert_int_equal(try_register_behind(&room, "stays", RESTART_INIT, NULL), 0);
}

#define PHASE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PHASE_TEST(test_next_message_of_a_burst),
        PHASE_TEST(test_beside_a_spawn),
        PHASE_TEST(test_in_init),
        PHASE_TEST(test_what_is_refused),
        PHASE_TEST(test_over_a_restart),
        PHASE_TEST(test_a_turn_that_died),
        PHASE_TEST(test_the_next_actor_of_the_slot),
        PHASE_TEST(test_a_plugin_without_the_set),
        PHASE_TEST(test_another_first_set),
        PHASE_TEST(test_another_first_set_of_those_who_begin_anew),
        PHASE_TEST(test_another_first_set_that_was_cut),
        PHASE_TEST(test_more_sets_than_before),
        PHASE_TEST(test_a_type_that_goes_and_comes),
        PHASE_TEST(test_room_that_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
