/* SPDX-License-Identifier: Apache-2.0 */
/* Actors coming and going: arguments, names, a full table, slots and names that are used again;
 * types that are registered and retired. */
#include <pthread.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/segment/slot.h"
#include "engine_fixture.h"

/* A parent spawns what the test describes, with each message to it. */
static struct {
    uint32_t type;
    struct engine_spawn spawn;
    uint32_t times;
    int result;
    actor_ref ref, looked_up;
    int lookup_result;
} order;

static struct {
    uint64_t inits, messages;
    size_t args_size;
    uint8_t args[ODEON_SPAWN_ARGS_MAX];
    actor_ref spawned_by;
    uint32_t attempts_to_find;
} seen;

static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER; /* children on several workers */

static uint16_t do_type, end_type;
static uint32_t parent_type, child_type;

static int parent_on_do(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    for (uint32_t i = 0; i < order.times; i++) {
        order.result = engine_ctx_spawn(ctx, order.type, &order.spawn, &order.ref);
        if (order.result < 0)
            break;
    }
    if (order.spawn.name)
        order.lookup_result = engine_ctx_lookup(ctx, order.spawn.name, &order.looked_up);
    uint32_t found = 0;
    seen.attempts_to_find += engine_ctx_find_type(ctx, "child", &found) == 0 && found == child_type;
    seen.attempts_to_find += engine_ctx_find_type(ctx, "childish", &found) == -ENOENT;
    return ALLOCATION_NODELETE;
}

static int child_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    pthread_mutex_lock(&seen_mutex);
    seen.inits++;
    seen.args_size = size;
    seen.spawned_by = ctx->sender;
    if (size)
        memcpy(seen.args, args, size);
    pthread_mutex_unlock(&seen_mutex);
    return 0;
}

static int child_on_end(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    pthread_mutex_lock(&seen_mutex);
    seen.messages++;
    pthread_mutex_unlock(&seen_mutex);
    return ALLOCATION_DELETE;
}

static void fixture_begin_sized(struct engine_fixture *f, uint32_t workers, uint32_t actors_max)
{
    struct engine_config config = engine_fixture_config(workers, 4);
    config.actors_max = actors_max;
    engine_fixture_open(f, config);
    memset(&seen, 0, sizeof(seen));
    do_type = engine_fixture_message(f, "do", 0, false);
    end_type = engine_fixture_message(f, "end", 0, false);
    struct engine_behaviour on_do = { do_type, 0, false, parent_on_do },
                            on_end = { end_type, 0, false, child_on_end };
    parent_type = engine_fixture_type(f, "parent", 8, NULL, NULL, &on_do, 1);
    child_type = engine_fixture_type(f, "child", 8, child_init, NULL, &on_end, 1);
}

static void fixture_begin(struct engine_fixture *f, uint32_t workers)
{
    fixture_begin_sized(f, workers, 2 * ODEON_PORTS_MAX); /* as many actors as ports */
}

static void fixture_end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
}

static void settle(struct engine_fixture *f)
{
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
}

static int spawn_by_actor(struct engine_fixture *f, actor_ref parent, uint32_t type,
                          struct engine_spawn spawn, uint32_t times)
{
    order.type = type;
    order.spawn = spawn;
    order.times = times;
    order.result = order.lookup_result = 1;
    order.ref = order.looked_up = 0;
    assert_int_equal(engine_actor_send(f->engine, parent, do_type, NULL, 0), 0);
    settle(f);
    return order.result;
}

static void end_actor(struct engine_fixture *f, actor_ref ref)
{
    struct engine_actor_view view;
    assert_int_equal(engine_actor_send(f->engine, ref, end_type, NULL, 0), 0);
    settle(f);
    assert_int_equal(engine_actor_get(f->engine, ref, &view), -ESRCH);
}

static void test_spawn_arguments(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    uint8_t args[ODEON_SPAWN_ARGS_MAX + 1];
    for (unsigned i = 0; i < sizeof(args); i++)
        args[i] = (uint8_t)(i + 3);
    actor_ref ref, parent = engine_fixture_spawn(&f, parent_type, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    static const size_t sizes[] = { 0, 1, 8, 100, ODEON_SPAWN_ARGS_MAX };
    for (unsigned i = 0; i < 5; i++) {
        ref = engine_fixture_spawn(&f, child_type, args, sizes[i]);
        settle(&f);
        assert_int_equal(seen.inits, 2 * i + 1);
        assert_int_equal(seen.args_size, sizes[i]);
        assert_memory_equal(seen.args, args, sizes[i]);
        assert_int_equal(seen.spawned_by, 0);
        struct engine_spawn spawn = { .args = args,
                                      .args_size = sizes[i],
                                      .placement = i % 2 ? PLACE_NEAR : PLACE_SPREAD };
        assert_int_equal(spawn_by_actor(&f, parent, child_type, spawn, 1), 0);
        assert_int_equal(seen.args_size, sizes[i]);
        assert_int_equal(seen.spawned_by, parent);
        struct engine_actor_view view, of_parent;
        assert_int_equal(engine_actor_get(f.engine, order.ref, &view), 0);
        assert_int_equal(engine_actor_get(f.engine, parent, &of_parent), 0);
        assert_int_equal(view.spawned_by, parent);
        if (spawn.placement == PLACE_NEAR)
            assert_int_equal(view.queue, of_parent.queue);
    }
    assert_int_equal(engine_actor_spawn(f.engine, child_type, NULL, args, sizeof(args), &ref),
                     -E2BIG);
    assert_int_equal(
        spawn_by_actor(&f, parent, child_type,
                       (struct engine_spawn){ .args = args, .args_size = sizeof(args) }, 1),
        -E2BIG);
    assert_int_equal(engine_actor_spawn(f.engine, 0, NULL, NULL, 0, &ref), -ENOENT);
    assert_int_equal(engine_actor_spawn(f.engine, child_type + 1, NULL, NULL, 0, &ref), -ENOENT);
    assert_int_equal(engine_actor_spawn(f.engine, ODEON_ACTOR_TYPES_MAX, NULL, NULL, 0, &ref),
                     -ENOENT);
    assert_int_equal(
        spawn_by_actor(&f, parent, UINT32_MAX, (struct engine_spawn){ .args = NULL }, 1), -ESRCH);
    assert_int_equal(seen.inits, 10);
    assert_int_equal(seen.attempts_to_find, 2 * 7);
    fixture_end(&f);
}

static void test_names(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2);
    actor_ref parent = engine_fixture_spawn(&f, parent_type, NULL, 0), ref, other, found;
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(engine_actor_lookup(f.engine, "a", &found), -ENOENT);
    assert_int_equal(engine_actor_spawn(f.engine, child_type, "a", NULL, 0, &ref), 0);
    assert_int_equal(engine_actor_lookup(f.engine, "a", &found), 0);
    assert_int_equal(found, ref);
    assert_int_equal(engine_actor_spawn(f.engine, child_type, "a", NULL, 0, &other), -EEXIST);
    assert_int_equal(
        spawn_by_actor(&f, parent, child_type, (struct engine_spawn){ .name = "a" }, 1), -EEXIST);
    assert_int_equal(order.looked_up, ref);
    assert_int_equal(
        spawn_by_actor(&f, parent, child_type, (struct engine_spawn){ .name = "b" }, 1), 0);
    assert_int_equal(order.lookup_result, 0);
    assert_int_equal(order.looked_up, order.ref);
    struct engine_actor_view view;
    assert_int_equal(engine_actor_get(f.engine, ref, &view), 0);
    assert_string_equal(view.name, "a");

    end_actor(&f, ref); /* the name goes with it, and may come again */
    assert_int_equal(engine_actor_lookup(f.engine, "a", &found), -ENOENT);
    assert_int_equal(engine_actor_spawn(f.engine, child_type, "a", NULL, 0, &other), 0);
    assert_int_not_equal(other, ref);
    assert_int_equal(engine_actor_lookup(f.engine, "a", &found), 0);
    assert_int_equal(found, other);

    char name[ODEON_NAME_MAX + 2];
    memset(name, 'x', sizeof(name));
    name[ODEON_NAME_MAX + 1] = '\0';
    assert_int_equal(engine_actor_spawn(f.engine, child_type, name, NULL, 0, &other), -EINVAL);
    assert_int_equal(engine_actor_lookup(f.engine, name, &found), -ENOENT);
    name[ODEON_NAME_MAX] = '\0';
    assert_int_equal(engine_actor_spawn(f.engine, child_type, name, NULL, 0, &other), 0);
    static const char *const bad[] = { " ", "a b", "\n", "\xc3\xa4", "a%s", "*", "a\\" };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(engine_actor_spawn(f.engine, child_type, bad[i], NULL, 0, &other),
                         -EINVAL);
    assert_int_equal(spawn_by_actor(&f, parent, child_type, (struct engine_spawn){ .name = "" }, 1),
                     -EINVAL);
    fixture_end(&f);
}

/* The same names again and again: entries of those that have ended are taken over, the table does
 * not fill up. */
static void test_names_are_used_again(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    assert_int_equal(engine_start(f.engine), 0);
    actor_ref ref, found;
    for (unsigned i = 0; i < 40; i++) {
        char name[16];
        actor_ref refs[20];
        for (unsigned k = 0; k < 20; k++) {
            snprintf(name, sizeof(name), "name.%u", i % 2 ? k : i * 20 + k);
            assert_int_equal(engine_actor_spawn(f.engine, child_type, name, NULL, 0, &refs[k]), 0);
        }
        for (unsigned k = 0; k < 20; k++) {
            snprintf(name, sizeof(name), "name.%u", i % 2 ? k : i * 20 + k);
            assert_int_equal(engine_actor_lookup(f.engine, name, &found), 0);
            assert_int_equal(found, refs[k]);
            assert_int_equal(engine_actor_send(f.engine, refs[k], end_type, NULL, 0), 0);
        }
        settle(&f);
        assert_int_equal(engine_actor_lookup(f.engine, "name.3", &ref), -ENOENT);
    }
    fixture_end(&f);
}

/* As many different names as there are entries have come and gone: a look-up meets no more than
 * before, also in another process. */
static void test_old_names_are_not_met(void **state)
{
    enum { WAVE = 64, WAVES = ODEON_NAMES_MAX / WAVE, LOOKS = 1000 };
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    assert_int_equal(engine_start(f.engine), 0);
    struct engine_recovery report;
    actor_ref refs[WAVE], kept, found;
    char name[32];
    assert_int_equal(engine_actor_spawn(f.engine, child_type, "kept", NULL, 0, &kept), 0);
    for (unsigned wave = 0; wave < WAVES; wave++) {
        for (unsigned k = 0; k < WAVE; k++) {
            snprintf(name, sizeof(name), "old.%u", wave * WAVE + k);
            assert_int_equal(engine_actor_spawn(f.engine, child_type, name, NULL, 0, &refs[k]), 0);
        }
        for (unsigned k = 0; k < WAVE; k++)
            assert_int_equal(engine_actor_send(f.engine, refs[k], end_type, NULL, 0), 0);
        settle(&f);
    }
    for (unsigned again = 0; again < 2; again++) {
        uint64_t met = f.engine->actors.names.met;
        for (unsigned i = 0; i < LOOKS; i++) {
            snprintf(name, sizeof(name), "unknown.%u", i);
            assert_int_equal(engine_actor_lookup(f.engine, name, &found), -ENOENT);
        }
        assert_int_equal(engine_actor_lookup(f.engine, "kept", &found), 0);
        assert_int_equal(found, kept);
        print_message("# look-ups=%d met=%llu\n", LOOKS,
                      (unsigned long long)(f.engine->actors.names.met - met));
        assert_true(f.engine->actors.names.met - met < 4 * LOOKS);
        engine_stop(f.engine);
        f.engine = engine_close(f.engine);
        engine_fixture_reopen(&f, &report);
    }
    engine_fixture_close(&f);
}

static void test_full_table(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    actor_ref parent = engine_fixture_spawn(&f, parent_type, NULL, 0), ref = 0;
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(spawn_by_actor(&f, parent, child_type,
                                    (struct engine_spawn){ .placement = PLACE_NEAR }, 1000),
                     -ENOSPC);
    uint64_t by_parent = seen.inits;
    int r = 0;
    while ((r = engine_actor_spawn(f.engine, child_type, NULL, NULL, 0, &ref)) == 0)
        ;
    assert_int_equal(r, -ENOSPC);
    settle(&f);
    assert_int_equal(seen.inits,
                     /* every slot, whoever had it in his cache */
                     f.config.actors_max - ODEON_PORTS_MAX - 1);
    assert_true(by_parent > 0);
    struct engine_actor_view view;
    uint64_t n = 0;
    for (uint32_t slot = 0; engine_actor_next(f.engine, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1, n++)
        assert_true(actor_ref_slot(view.ref) >= ODEON_PORTS_MAX);
    assert_int_equal(n, f.config.actors_max - ODEON_PORTS_MAX);
    /* All but the parent go; their slots can be had again. */
    for (uint32_t slot = 0; engine_actor_next(f.engine, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1)
        if (view.type == child_type)
            assert_int_equal(engine_actor_send(f.engine, view.ref, end_type, NULL, 0), 0);
    settle(&f);
    struct engine_actor_type_view type;
    assert_int_equal(engine_actor_type_get(f.engine, child_type, &type), 0);
    assert_int_equal(type.live, 0);
    assert_int_equal(spawn_by_actor(&f, parent, child_type,
                                    (struct engine_spawn){ .placement = PLACE_SPREAD }, 100),
                     0);
    assert_int_equal(actor_ref_generation(order.ref), 2);
    fixture_end(&f);
}

/* actors.A7: the parent's worker keeps less of a table that is small than it could. */
static void test_a_small_table_is_nobodys_cache(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_actor_view view;
    uint32_t n = 0;
    actor_ref ref;
    fixture_begin(&f, 1);
    actor_ref parent = engine_fixture_spawn(&f, parent_type, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(spawn_by_actor(&f, parent, child_type,
                                    (struct engine_spawn){ .placement = PLACE_NEAR }, 1000),
                     -ENOSPC);
    for (uint32_t slot = 0; engine_actor_next(f.engine, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1)
        if (view.type == child_type)
            assert_int_equal(engine_actor_send(f.engine, view.ref, end_type, NULL, 0), 0);
    settle(&f);
    while (engine_actor_spawn(f.engine, child_type, NULL, NULL, 0, &ref) == 0)
        n++;
    uint32_t kept = f.config.actors_max - ODEON_PORTS_MAX - 1 - n;
    assert_in_range(kept, 0, (f.config.actors_max - ODEON_PORTS_MAX) / 8 + SLOT_RING);
    fixture_end(&f);
}

/* actors.A5: whoever ends is not replaced, in its slot, by any of the next SLOT_RING spawns. */
static void test_slots_wait_for_their_turn(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    uint32_t last[SLOT_RING + 1];
    actor_ref parent = engine_fixture_spawn(&f, parent_type, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    for (unsigned i = 0; i < 6 * SLOT_RING; i++) {
        assert_int_equal(spawn_by_actor(&f, parent, child_type,
                                        (struct engine_spawn){ .placement = PLACE_NEAR }, 1),
                         0);
        uint32_t slot = actor_ref_slot(order.ref);
        for (unsigned k = 0; k < SLOT_RING && k < i; k++)
            assert_int_not_equal(slot, last[(i - 1 - k) % SLOT_RING]);
        last[i % SLOT_RING] = slot;
        end_actor(&f, order.ref);
    }
    fixture_end(&f);
}

/* actors.A4: the last generation is one like any other, and there is none behind it. */
static void test_slot_is_spent(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_recovery report;
    fixture_begin(&f, 1);
    actor_ref ref = engine_fixture_spawn(&f, child_type, NULL, 0), spent = 0;
    uint32_t slot = actor_ref_slot(ref) - 1; /* the next one that the control thread takes */
    store_relaxed(&f.engine->segment.actors[slot].word,
                  slot_word(ACTOR_GENERATION_SPENT, 0, ACTOR_SLOT_FREE));
    spent = engine_fixture_spawn(&f, child_type, NULL, 0);
    assert_int_equal(spent, actor_ref_make(slot, ACTOR_GENERATION_SPENT));
    assert_int_equal(engine_start(f.engine), 0);
    settle(&f);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 0);
    end_actor(&f, spent);
    for (unsigned restart = 0; restart < 2; restart++) {
        assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 1);
        assert_int_equal(slot_word_state(load_relaxed(&f.engine->segment.actors[slot].word)),
                         ACTOR_SLOT_SPENT);
        assert_int_equal(engine_actor_send(f.engine, spent, end_type, NULL, 0), -ESRCH);
        assert_false(engine_actor_lives(f.engine, spent));
        actor_ref other;
        int r;
        while ((r = engine_actor_spawn(f.engine, child_type, NULL, NULL, 0, &other)) == 0)
            assert_int_not_equal(actor_ref_slot(other), slot);
        assert_int_equal(r, -ENOSPC);
        engine_stop(f.engine);
        f.engine = engine_close(f.engine);
        engine_fixture_reopen(&f, &report);
    }
    engine_fixture_close(&f);
}

/* The tables are moved under actors that run, and end. */
static void test_widen(void **state)
{
    enum { ACTORS = 2000, HALF = ACTORS / 2 };
    static actor_ref refs[ACTORS];
    (void)state;
    struct engine_fixture f;
    fixture_begin_sized(&f, 2, 1 << 19); /* tables of two large pages */
    assert_int_equal(engine_start(f.engine), 0);
    for (int i = 0; i < ACTORS; i++)
        refs[i] = engine_fixture_spawn(&f, child_type, NULL, 0);
    settle(&f);
    assert_int_equal(seen.inits, ACTORS);
    for (int i = 0; i < HALF; i++)
        assert_int_equal(engine_actor_send(f.engine, refs[i], end_type, NULL, 0), 0);
    engine_widen(f.engine);
    for (int i = HALF; i < ACTORS; i++)
        assert_int_equal(engine_actor_send(f.engine, refs[i], end_type, NULL, 0), 0);
    settle(&f);
    assert_int_equal(seen.messages, ACTORS);
    for (int i = 0; i < ACTORS; i++)
        assert_false(engine_actor_lives(f.engine, refs[i]));
    fixture_end(&f);
}

static void test_types_come_and_go(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2);
    actor_ref ref = engine_fixture_spawn(&f, child_type, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    settle(&f);
    struct engine_behaviour on_end = { end_type, 0, false, child_on_end };
    struct engine_actor_type_info info = {
        .name = "child", .plugin = "test", .version = 2, .n_behaviours = 1, .behaviours = &on_end
    };
    uint32_t id;
    uint64_t live;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -EEXIST);
    assert_int_equal(engine_actor_type_retire(f.engine, child_type, &live), -EBUSY);
    assert_int_equal(live, 1);
    end_actor(&f, ref);
    assert_int_equal(engine_actor_type_retire(f.engine, child_type, &live), 0);
    assert_int_equal(engine_actor_type_retire(f.engine, child_type, &live), -ENOENT);
    assert_int_equal(engine_actor_spawn(f.engine, child_type, NULL, NULL, 0, &ref), -ENOENT);
    assert_int_equal(engine_actor_type_find(f.engine, "child", &id), -ENOENT);
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), 0);
    assert_int_equal(id, child_type); /* a name keeps its id */
    struct engine_actor_type_view view;
    assert_int_equal(engine_actor_type_get(f.engine, id, &view), 0);
    assert_int_equal(view.version, 2);
    assert_true(view.loaded);
    info.name = "bad name";
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -EINVAL);
    info = (struct engine_actor_type_info){ .name = "many",
                                            .plugin = "test",
                                            .n_behaviours = ODEON_BEHAVIOURS_MAX + 1,
                                            .behaviours = &on_end };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -EINVAL);
    fixture_end(&f);
}

static void test_message_types(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1);
    uint16_t id, again;
    assert_int_equal(engine_message_type_intern(f.engine, "m", 1, 8, false, "a:u64", &id), 0);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 1, 8, false, "a:u64", &again), 0);
    assert_int_equal(id, again);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 1, 16, false, "a:u64", &again),
                     -EBADMSG);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 1, 8, true, "a:u64", &again),
                     -EBADMSG);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 1, 8, false, "a:u32", &again),
                     -EBADMSG);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 2, 16, true, "", &again), 0);
    assert_int_not_equal(id, again);
    struct engine_message_type type;
    assert_int_equal(engine_message_type_find(f.engine, "m", 0, &type), 0);
    assert_int_equal(type.version, 2);
    assert_int_equal(engine_message_type_find(f.engine, "m", 1, &type), 0);
    assert_int_equal(type.id, id);
    assert_int_equal(engine_message_type_find(f.engine, "m", 3, &type), -ENOENT);
    assert_int_equal(engine_message_type_get(f.engine, MESSAGE_TYPE_INIT, &type), -ENOENT);
    assert_int_equal(engine_message_type_intern(f.engine, "m", 0, 8, false, "", &id), -EINVAL);
    assert_int_equal(
        engine_message_type_intern(f.engine, "n", 1, ODEON_PAYLOAD_MAX + 1, false, "", &id),
        -EINVAL);
    assert_int_equal(engine_message_type_intern(f.engine, "", 1, 8, false, "", &id), -EINVAL);
    char name[16];
    int r = 0;
    for (unsigned i = 0; i <= ODEON_MESSAGE_TYPES_MAX && r == 0; i++) {
        snprintf(name, sizeof(name), "fill.%u", i);
        r = engine_message_type_intern(f.engine, name, 1, 8, false, "", &id);
    }
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(id, ODEON_MESSAGE_TYPES_MAX - 1);
    /* All of it is still there after a restart. */
    f.engine = engine_close(f.engine);
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report);
    assert_int_equal(engine_message_type_find(f.engine, "m", 2, &type), 0);
    assert_int_equal(type.id, again);
    assert_int_equal(type.size, 16);
    engine_fixture_close(&f);
}

static uint32_t count_pooled(const struct worker *w)
{
    return w->actors.states.free[1].n; /* of 16 bytes */
}

/* What a worker has kept of a type that goes is not given to its pool: it runs meanwhile. */
static void test_kept_states_go_to_nobody_who_runs(void **state)
{
    enum { N = 5 };
    struct engine_behaviour on_end = { end_type, 0, false, child_on_end };
    struct engine_fixture f;
    actor_ref refs[N];
    uint64_t live;

    (void)state;
    fixture_begin(&f, 1);
    on_end.message_type = end_type;
    uint32_t type = engine_fixture_type(&f, "sixteen", 16, NULL, NULL, &on_end, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (unsigned i = 0; i < N; i++)
        refs[i] = engine_fixture_spawn(&f, type, NULL, 0);
    settle(&f);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(engine_actor_send(f.engine, refs[i], MESSAGE_TYPE_POISON_DESTROY, NULL, 0),
                         0);
    settle(&f);
    uint32_t worker = count_pooled(f.engine->workers[0]), control = count_pooled(f.engine->control);
    assert_int_equal(engine_actor_type_retire(f.engine, type, &live), 0);
    assert_int_equal(count_pooled(f.engine->workers[0]), worker);
    if (worker > 0) /* sanitizers have no pools */
        assert_int_equal(count_pooled(f.engine->control), control + N);
    fixture_end(&f);
}

/* Who ends with an executor has ended, whether the plugin is there or not. */
static void test_stopped_without_their_plugin(void **state)
{
    struct engine_behaviour on_end = { end_type, 0, false, child_on_end };
    struct engine_actor_type_info stops = { .name = "stops",
                                            .plugin = "another",
                                            .version = 1,
                                            .restart = RESTART_STOP,
                                            .n_behaviours = 1,
                                            .behaviours = &on_end };
    struct engine_recovery report;
    struct engine_actor_view view;
    struct engine_fixture f;
    uint32_t stops_type;

    (void)state;
    fixture_begin(&f, 1);
    on_end.message_type = end_type;
    assert_int_equal(engine_actor_type_register(f.engine, &stops, &stops_type), 0);
    actor_ref stopped = engine_fixture_spawn(&f, stops_type, NULL, 0),
              goes_on = engine_fixture_spawn(&f, child_type, NULL, 0);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    struct engine_behaviour on[] = { on_end };
    assert_int_equal(engine_fixture_type(&f, "child", 8, child_init, NULL, on, 1), child_type);
    assert_int_equal(engine_start(f.engine), 0);
    settle(&f);
    assert_int_equal(engine_actor_get(f.engine, stopped, &view), -ESRCH);
    assert_int_equal(engine_actor_get(f.engine, goes_on, &view), 0);
    assert_int_equal(engine_actor_type_register(f.engine, &stops, &stops_type), 0);
    assert_int_equal(engine_actor_get(f.engine, stopped, &view), -ESRCH);
    fixture_end(&f);
}

/* A type's size is a multiple of its alignment. */
static struct {
    unsigned n, crooked, dirty;
} states;

static int aligned_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)size;
    (void)ctx;
    uint32_t bytes = *(const uint32_t *)args;
    states.n++;
    states.crooked += (uintptr_t)self % (bytes % 16 ? 8 : 16) != 0;
    for (uint32_t i = 0; i < bytes; i++)
        states.dirty += ((uint8_t *)self)[i] != 0;
    memset(self, 0xa5, bytes);
    return 0;
}

static void test_states_are_aligned_and_zero(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 1,  7,  8,  9,   15,  16,  17,  24,  25,  32,
                                      40, 56, 64, 200, 248, 255, 256, 257, 264, 1000 };
    enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]), N_EACH = 5 };
    struct engine_fixture f;
    fixture_begin(&f, 1);
    memset(&states, 0, sizeof(states));
    actor_ref refs[N_SIZES][N_EACH];
    struct engine_behaviour on_end = { end_type, 0, false, child_on_end };
    uint32_t types[N_SIZES];
    for (unsigned i = 0; i < N_SIZES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "bytes.%u", sizes[i]);
        types[i] = engine_fixture_type(&f, name, sizes[i], aligned_init, NULL, &on_end, 1);
    }
    assert_int_equal(engine_start(f.engine), 0);
    /* the second one gets what the first one has used */
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N_SIZES * N_EACH; i++)
            refs[i / N_EACH][i % N_EACH] =
                engine_fixture_spawn(&f, types[i / N_EACH], &sizes[i / N_EACH], sizeof(uint32_t));
        settle(&f);
        for (unsigned i = 0; i < N_SIZES * N_EACH; i++)
            end_actor(&f, refs[i / N_EACH][i % N_EACH]);
    }
    assert_int_equal(states.n, 2 * N_SIZES * N_EACH);
    assert_int_equal(states.crooked, 0);
    assert_int_equal(states.dirty, 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawn_arguments),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_are_used_again),
        cmocka_unit_test(test_old_names_are_not_met),
        cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_a_small_table_is_nobodys_cache),
        cmocka_unit_test(test_slots_wait_for_their_turn),
        cmocka_unit_test(test_slot_is_spent),
        cmocka_unit_test(test_types_come_and_go),
        cmocka_unit_test(test_message_types),
        cmocka_unit_test(test_kept_states_go_to_nobody_who_runs),
        cmocka_unit_test(test_stopped_without_their_plugin),
        cmocka_unit_test(test_states_are_aligned_and_zero),
        cmocka_unit_test(test_widen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
