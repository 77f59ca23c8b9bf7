/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, with workers that run: several publish at once, while some join and leave without end.
 * Who stays gets all of each publisher's, once and in order; who comes and goes, in order. */
#include "engine_fixture.h"

enum {
    WORKERS = 3,
    PUBLISHERS = 4,
    STAYING = 150,
    RESTLESS = 20,
    PUBLICATIONS = TEST_SCALE(2000),
    A_TURN = 5, /* publications of one */
};

static struct engine_fixture f;
static uint16_t go_type, song_type;
static uint32_t publisher_type, member_type, restless_type;
static _Atomic uint64_t joined, wrong, heard, ended;

struct song {
    uint64_t publisher, number;
};
struct member {
    uint64_t last[PUBLISHERS];
    uint64_t n, turns;
    bool is_member;
};

static void go_on(struct engine_context *ctx)
{
    if (engine_ctx_send(ctx, ctx->self, go_type, 0, NULL, 0) < 0)
        atomic_fetch_add(&wrong, 1);
}

static int on_publish(void *self, const void *message, struct engine_context *ctx)
{
    struct song *song = self;

    (void)message;
    for (int i = 0; i < A_TURN && song->number < PUBLICATIONS; i++) {
        struct song next = { .publisher = song->publisher, .number = song->number + 1 };
        const struct engine_pieces pieces = { .head = &next, .head_size = sizeof(next) };

        if (engine_ctx_publish(ctx, "songs", song_type, &pieces) < 0)
            break; /* the group's queue is full: later */
        song->number++;
    }
    if (song->number < PUBLICATIONS)
        go_on(ctx);
    else
        atomic_fetch_add(&ended, 1);
    return ALLOCATION_NODELETE;
}

static int publisher_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct song *song = self;

    (void)size, (void)ctx;
    memcpy(&song->publisher, args, sizeof(song->publisher));
    return 0;
}

static int on_song(void *self, const void *message, struct engine_context *ctx)
{
    struct member *member = self;
    struct song song;

    (void)ctx;
    memcpy(&song, message, sizeof(song));
    if (song.publisher >= PUBLISHERS || song.number <= member->last[song.publisher])
        atomic_fetch_add(&wrong, 1);
    else
        member->last[song.publisher] = song.number;
    return ALLOCATION_NODELETE;
}

static int on_song_staying(void *self, const void *message, struct engine_context *ctx)
{
    struct member *member = self;
    struct song song;

    memcpy(&song, message, sizeof(song));
    if (song.number != member->last[song.publisher] + 1)
        atomic_fetch_add(&wrong, 1);
    member->n++;
    if (member->n == (uint64_t)PUBLISHERS * PUBLICATIONS)
        atomic_fetch_add(&heard, 1);
    return on_song(self, message, ctx);
}

static int on_join(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    if (engine_ctx_join(ctx, "songs") != 0)
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&joined, 1);
    return ALLOCATION_NODELETE;
}

/* Joins and leaves until all has been published. */
static int on_turn(void *self, const void *message, struct engine_context *ctx)
{
    struct member *member = self;
    int r = member->is_member ? engine_ctx_leave(ctx, "songs") : engine_ctx_join(ctx, "songs");

    (void)message;
    if (r != 0)
        atomic_fetch_add(&wrong, 1);
    member->is_member = !member->is_member;
    if (atomic_load(&ended) < PUBLISHERS)
        go_on(ctx);
    return ALLOCATION_NODELETE;
}

static void register_type(const char *name, engine_behaviour_fn on_go,
                          engine_behaviour_fn on_a_song, engine_init_fn init, uint32_t size,
                          uint32_t *ret_type)
{
    const struct engine_behaviour behaviours[] = {
        { go_type, 0, 0, on_go },
        { song_type, sizeof(struct song), 0, on_a_song },
    };
    const struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = size,
        .n_behaviours = 2,
        .behaviours = behaviours,
        .init = init,
    };

    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static void go(actor_ref to)
{
    assert_int_equal(engine_actor_send(f.engine, to, go_type, NULL, 0), 0);
}

static void begin(void)
{
    struct engine_config config = engine_fixture_config(WORKERS, 4);

    config.timers_max = 4096;
    config.timer_bytes = 1 << 20;
    engine_fixture_open(&f, config);
    assert_int_equal(engine_groups_open(f.engine), 0);
    go_type = engine_fixture_message(&f, "go", 0, false);
    song_type = engine_fixture_message(&f, "song", sizeof(struct song), false);
    register_type("publisher", on_publish, on_song, publisher_init, sizeof(struct song),
                  &publisher_type);
    register_type("member", on_join, on_song_staying, NULL, sizeof(struct member), &member_type);
    register_type("restless", on_turn, on_song, NULL, sizeof(struct member), &restless_type);
    assert_int_equal(engine_start(f.engine), 0);
}

static void test_all_at_once(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < STAYING; i++) /* several may make the group at a time */
        go(engine_fixture_spawn(&f, member_type, NULL, 0));
    assert_true(engine_fixture_until(atomic_load(&joined) == STAYING));
    for (int i = 0; i < RESTLESS; i++)
        go(engine_fixture_spawn(&f, restless_type, NULL, 0));
    for (uint64_t i = 0; i < PUBLISHERS; i++)
        go(engine_fixture_spawn(&f, publisher_type, &i, sizeof(i)));
    assert_true(engine_fixture_until(atomic_load(&heard) == STAYING));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications), PUBLISHERS * PUBLICATIONS);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications_missed), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
