/* SPDX-License-Identifier: Apache-2.0 */
/* Brief lives (brief.h): actors that are spawned, run once and end, one after the other. Whatever
 * way they go, what others see of them is the same. */
#include "daemon/engine/actors/brief.h"
#include "daemon/engine/timers/timer_fire.h"
#include "engine_script.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)

static uint16_t number_type;
static uint32_t mayfly_type, other_type, relay_type;

/* What behaviours saw, for the test to look at once nobody runs. */
static struct {
    uint64_t run, wrong_order, last;
    actor_ref actor;
    bool arm; /* not seen, but ordered: each arms a timer */
    uint64_t armed;
} seen;

/* An odd number ends its actor. */
static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    uint64_t number = *(const uint64_t *)message;
    seen.run++;
    seen.wrong_order += number < seen.last;
    seen.last = number;
    seen.actor = ctx->self;
    if (seen.arm)
        seen.armed += engine_ctx_send_after(ctx, ctx->self, number_type, 1, &number, sizeof(number),
                                            &(struct engine_timer_times){ .delay_ns = HOUR_NS },
                                            &(uint64_t){ 0 }) == 0;
    return number % 2 ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static void register_types(struct engine_fixture *f)
{
    const struct engine_behaviour behaviours[] = {
        { script_type, sizeof(struct script), false, on_script },
        { number_type, 8, false, on_number },
    };
    mayfly_type = engine_fixture_type(f, "mayfly", 0, NULL, NULL, behaviours, 2);
    other_type = engine_fixture_type(f, "other", 0, NULL, NULL, behaviours, 2);
    relay_type = engine_fixture_type(f, "relay", 8, NULL, NULL, behaviours, 2);
    /* known to be quick from the start: the clock decides nothing */
    for (uint32_t id = mayfly_type; id <= relay_type; id++) {
        struct actor_type *type = load_relaxed(&f->engine->types.known[id]);
        store_relaxed(&type->behaviours[0].meta,
                      envelope_meta(script_type, sizeof(struct script), 0));
        store_relaxed(&type->behaviours[1].meta, envelope_meta(number_type, 8, 1));
    }
}

static actor_ref fixture_begin(struct engine_fixture *f)
{
    struct engine_config config = engine_fixture_config(1, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.timers_max = 4096;
    config.timer_bytes = 1 << 20;
    engine_fixture_open(f, config);
    script_type = engine_fixture_message(f, "script", sizeof(struct script), false);
    number_type = engine_fixture_message(f, "number", 8, false);
    register_types(f);
    memset(&seen, 0, sizeof(seen));
    actor_ref relay = engine_fixture_spawn(f, relay_type, NULL, 0);
    start(f);
    return relay;
}

static uint64_t live(struct engine_fixture *f, uint32_t type)
{
    struct engine_actor_type_view view;
    assert_int_equal(engine_actor_type_get(f->engine, type, &view), 0);
    return view.live;
}

struct swarm {
    const uint32_t *types; /* in turn, up to a 0 */
    uint64_t first, step;  /* what they are sent */
    uint32_t n;
    enum engine_placement placement;
    int result;
};

static int script_swarm(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    struct swarm *s = argument;
    const uint32_t *type = s->types;
    for (uint32_t i = 0; i < s->n && s->result == 0; i++) {
        const struct engine_spawn spawn = { .placement = s->placement };
        uint64_t number = s->first + i * s->step;
        actor_ref mayfly = 0;
        s->result = engine_ctx_spawn(ctx, *type, &spawn, &mayfly);
        if (s->result == 0)
            s->result = engine_ctx_send(ctx, mayfly, number_type, 1, &number, sizeof(number));
        if (*++type == 0)
            type = s->types;
    }
    return ALLOCATION_NODELETE;
}

/* All that are made are run once, in order, and are counted as ended, or as living. */
static void check_swarm(struct engine_fixture *f, actor_ref relay, const uint32_t *types,
                        enum engine_placement placement, uint64_t first, uint64_t step)
{
    struct swarm swarm = {
        .types = types, .first = first, .step = step, .n = 96, .placement = placement
    };
    uint64_t created = engine_fixture_stat(f, STAT_actors_created),
             ended = engine_fixture_stat(f, STAT_actors_ended), were = 0, are = 0, stay = 0;
    for (const uint32_t *type = types; *type; type++)
        were += live(f, *type);
    for (uint32_t i = 0; i < swarm.n; i++)
        stay += (first + i * step) % 2 == 0;
    memset(&seen, 0, sizeof(seen));
    run(f, relay, script_swarm, &swarm);
    for (const uint32_t *type = types; *type; type++)
        are += live(f, *type);
    assert_int_equal(swarm.result, 0);
    assert_int_equal(seen.run, swarm.n);
    if (placement == PLACE_NEAR)
        assert_int_equal(seen.wrong_order, 0);
    assert_int_equal(are - were, stay);
    assert_int_equal(engine_fixture_stat(f, STAT_actors_created) - created, swarm.n);
    assert_int_equal(engine_fixture_stat(f, STAT_actors_ended) - ended, swarm.n - stay);
}

static void test_lives_are_counted(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref relay = fixture_begin(&f);
    const uint32_t one[] = { mayfly_type, 0 }, two[] = { mayfly_type, other_type, 0 },
                   mixed[] = { mayfly_type, mayfly_type, relay_type, 0 };
    for (int i = 0; i < 2; i++) { /* the first ones fill the ring of slots */
        check_swarm(&f, relay, one, PLACE_NEAR, 1, 2);
        check_swarm(&f, relay, one, PLACE_SPREAD, 1, 2);
        check_swarm(&f, relay, two, PLACE_NEAR, 1, 2);
        check_swarm(&f, relay, mixed, PLACE_NEAR, 1, 2);
    }
    /* it was this way that they went */
    assert_true(f.engine->workers[0]->actors.brief.begun != 0);
    assert_int_equal(live(&f, mayfly_type), 0);
    check_swarm(&f, relay, one, PLACE_NEAR, 0, 1); /* every second one stays */
    check_swarm(&f, relay, two, PLACE_SPREAD, 0, 1);
    fixture_end(&f);
}

/* A type that has gone is not spawned any more, however many of it have just been. */
static void test_type_that_goes_is_forgotten(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref relay = fixture_begin(&f);
    const uint32_t one[] = { mayfly_type, 0 };
    uint64_t left;
    check_swarm(&f, relay, one, PLACE_NEAR, 1, 2);
    assert_int_equal(engine_actor_type_retire(f.engine, mayfly_type, &left), 0);
    struct swarm swarm = { .types = one, .first = 1, .n = 1, .placement = PLACE_NEAR };
    run(&f, relay, script_swarm, &swarm);
    assert_int_equal(swarm.result, -ESRCH);
    fixture_end(&f);
}

/* actors.A4, actors.A5: the last generation of a slot is not followed by another, and no slot is
 * used again before as many others have become free. */
static void test_slots_are_spent(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref relay = fixture_begin(&f);
    const uint32_t one[] = { mayfly_type, 0 };
    check_swarm(&f, relay, one, PLACE_NEAR, 1, 2);
    struct worker *w = f.engine->workers[0];
    uint32_t slot = w->actors.ring[w->actors.ring_first % SLOT_RING];
    store_relaxed(&f.engine->segment.actors[slot].word,
                  slot_word(ACTOR_GENERATION_SPENT, 0, ACTOR_SLOT_FREE));
    uint32_t last = 0;
    for (int i = 0; i < 3 * SLOT_RING; i++) {
        struct swarm swarm = { .types = one, .first = 1, .n = 1, .placement = PLACE_NEAR };
        run(&f, relay, script_swarm, &swarm);
        assert_int_equal(swarm.result, 0);
        assert_int_not_equal(actor_ref_slot(seen.actor), last);
        last = actor_ref_slot(seen.actor);
    }
    uint64_t word = load_relaxed(&f.engine->segment.actors[slot].word);
    assert_int_equal(slot_word_state(word), ACTOR_SLOT_SPENT);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 1);
    fixture_end(&f);
}

/* timer_owners.TO1 */
static void test_timers_end_with_them(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref relay = fixture_begin(&f);
    seen.arm = true;
    for (int i = 0; i < 4; i++) { /* the first ones fill the ring of slots */
        struct swarm swarm = {
            .types = (const uint32_t[]){ mayfly_type, 0 }, .first = 1, .step = 2, .n = 96
        };
        seen.last = seen.armed = 0;
        run(&f, relay, script_swarm, &swarm);
        assert_int_equal(swarm.result, 0);
        assert_int_equal(seen.armed, swarm.n);
    }
    assert_true(f.engine->workers[0]->actors.brief.begun != 0);
    while (timer_fire_due(f.engine, 1))
        ;
    assert_int_equal(engine_timers_count(f.engine), 0);
    seen.arm = false;
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_are_counted),
        cmocka_unit_test(test_type_that_goes_is_forgotten),
        cmocka_unit_test(test_slots_are_spent),
        cmocka_unit_test(test_timers_end_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
