/* SPDX-License-Identifier: Apache-2.0 */
/* What a client that monitors somebody is told (asks/monitor.h): each end once, with its id and its
 * reason, whatever dies, and nothing once its port is closed. Workers, control thread and clients
 * are this thread. */
#include "daemon/engine/commit/commit.h"
#include "two_clients.h"

#define LATER (clock_now_ns() + UINT64_C(3600000000000))

static uint16_t word_type, say_type;
static uint32_t kept_type, plain_type, stop_type;
static actor_ref actor;

/* It ends, with a word to whom it is told. */
static int on_word(void *self, const void *message, struct engine_context *ctx)
{
    actor_ref to;

    (void)self;
    memcpy(&to, message, sizeof(to));
    if (to)
        assert_int_equal(engine_ctx_send(ctx, to, word_type, BEHAVIOUR_NONE, &to, sizeof(to)), 0);
    return ALLOCATION_DELETE;
}

/* It sends so much of a type to somebody, and goes on. */
struct say {
    actor_ref to;
    uint64_t n, type, size;
};
static int on_say(void *self, const void *message, struct engine_context *ctx)
{
    static const uint8_t payload[4096];
    struct say say;

    (void)self;
    memcpy(&say, message, sizeof(say));
    for (uint64_t i = 0; i < say.n; i++)
        assert_int_equal(
            engine_ctx_send(ctx, say.to, (uint32_t)say.type, BEHAVIOUR_NONE, payload, say.size), 0);
    return ALLOCATION_NODELETE;
}

static void register_type(const char *name, enum engine_restart restart, uint32_t *ret_type)
{
    static struct engine_behaviour behaviours[2];
    const struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = 8,
        .restart = restart,
        .n_behaviours = 2,
        .behaviours = behaviours,
    };

    behaviours[0] = (struct engine_behaviour){ word_type, sizeof(actor_ref), 0, on_word };
    behaviours[1] = (struct engine_behaviour){ say_type, sizeof(struct say), 0, on_say };
    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static void register_types(void)
{
    word_type = engine_fixture_message(&f, "word", sizeof(actor_ref), false);
    say_type = engine_fixture_message(&f, "say", sizeof(struct say), false);
    register_type("kept", RESTART_KEEP, &kept_type);
    register_type("plain", RESTART_INIT, &plain_type);
    register_type("stop", RESTART_STOP, &stop_type);
}

static int setup(void **state)
{
    (void)state;
    two_clients_begin(register_types);
    actor = spawn(kept_type);
    return 0;
}

static void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        timer_fixture_run(&f);
    timer_fixture_run(&f);
}

static void post_words(struct client *c, uint16_t type, actor_ref who, uint64_t id)
{
    client_post_as(
        c, (struct envelope){ .to = who, .type = type, .prefix = PREFIX_CORRELATION, .length = 8 },
        &id);
}

static void post_monitor(struct client *c, actor_ref who, uint64_t id)
{
    post_words(c, MESSAGE_TYPE_PORT_DOWN, who, id);
}

static void gives_up(struct client *c, actor_ref who, uint64_t id)
{
    post_words(c, MESSAGE_TYPE_PORT_DEMONITOR, who, id);
    visit(c);
}

static void monitors(struct client *c, actor_ref who, uint64_t id)
{
    post_monitor(c, who, id);
    visit(c);
}

static void ends_with_word(actor_ref who, actor_ref to)
{
    assert_int_equal(engine_actor_send(f.engine, who, word_type, &to, sizeof(to)), 0);
    timer_fixture_run(&f);
}

static void says(actor_ref who, struct say say)
{
    assert_int_equal(engine_actor_send(f.engine, who, say_type, &say, sizeof(say)), 0);
    timer_fixture_run(&f);
}

static void ends(actor_ref who)
{
    ends_with_word(who, 0);
}

static void add_port(const struct client *c)
{
    actor_ref ref;

    assert_int_equal(engine_port_add(f.engine, &c->info, &ref), 0);
    assert_int_equal(ref, c->ref);
}

/* Another executor, which knows the ports whose clients are still there. */
static void restart_without(const struct client *gone)
{
    struct engine_recovery report;
    const char *text;

    f.engine = engine_close(f.engine);
    assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
    if (gone != &client)
        add_port(&client);
    if (gone != &other)
        add_port(&other);
    if (engine_recover(f.engine, &report) < 0)
        fail_msg("%s", report.damage);
    register_types();
}

static void restart(void)
{
    restart_without(NULL);
}

/* A process of its own does what is given, and does not survive it. */
static void die(void (*act)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        act();
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static const struct envelope *next(struct client *c, uint16_t type)
{
    const struct envelope *at = client_next(c);

    if (!at) {
        fail_msg("nothing is delivered");
        abort(); /* which the compiler does not know of the line before */
    }
    assert_int_equal(at->type, type);
    assert_int_equal(at->to, c->ref);
    return at;
}

static void expect_told(struct client *c, actor_ref who, uint64_t id, enum envelope_reason reason)
{
    const struct envelope *at = next(c, MESSAGE_TYPE_PORT_DOWN);
    struct down down;

    assert_int_equal(envelope_payload_size(at), sizeof(down));
    memcpy(&down, envelope_payload(at), sizeof(down));
    assert_int_equal(at->from, who);
    assert_int_equal(envelope_correlation(at), 0);
    assert_int_equal(down.ref, who);
    assert_int_equal(down.monitor, id);
    assert_int_equal(down.reason, reason);
}

static void expect_refused(struct client *c, uint16_t type, uint64_t id,
                           enum envelope_reason reason)
{
    struct refusal refusal;

    memcpy(&refusal, envelope_payload(next(c, MESSAGE_TYPE_REFUSAL)), sizeof(refusal));
    assert_int_equal(refusal.type, type);
    assert_int_equal(refusal.correlation, id);
    assert_int_equal(refusal.reason, reason);
}

static void expect_refusal(struct client *c, uint64_t id, enum envelope_reason reason)
{
    expect_refused(c, MESSAGE_TYPE_PORT_DOWN, id, reason);
}

static void expect_no_monitor(struct client *c, uint64_t id)
{
    expect_refused(c, MESSAGE_TYPE_PORT_DEMONITOR, id, REASON_NO_SUCH_MONITOR);
}

static void expect_nothing(struct client *c)
{
    assert_null(client_next(c));
}

/* ... then or later. */
static void expect_only_told(actor_ref who, uint64_t id, enum envelope_reason reason)
{
    expect_told(&client, who, id, reason);
    fire(LATER);
    restart_without(who == other.ref ? &other : NULL);
    fire(LATER);
    expect_nothing(&client);
    assert_int_equal(f.engine->timers.n, 0);
    assert_int_equal(f.engine->timers.users.n, 0);
}

/* ---- the tests */

static void test_told_once(void **state)
{
    struct engine_timer_view view;

    (void)state;
    monitors(&client, actor, 7);
    fire(LATER);
    expect_nothing(&client);
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_int_equal(view.owner, client.ref);
    assert_int_equal(view.watched, actor);
    assert_int_equal(view.message_type, MESSAGE_TYPE_DOWN);
    assert_int_equal(engine_timers_count(f.engine), 0); /* no timer, for who lists them */
    assert_int_equal(engine_fixture_stat(&f, STAT_monitors), 1);
    ends(actor);
    fire(clock_now_ns());
    assert_int_equal(engine_fixture_stat(&f, STAT_downs), 1);
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* watches.W2 */
static void test_behind_its_last_words(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    ends_with_word(actor, client.ref);
    fire(clock_now_ns());
    assert_int_equal(next(&client, word_type)->from, actor);
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* Among others in one visit, each record has its own commit. */
static void test_between_messages(void **state)
{
    actor_ref nobody = 0, second = spawn(kept_type);

    (void)state;
    post_monitor(&client, actor, 1);
    client_post(&client, actor, word_type, &nobody, sizeof(nobody));
    post_monitor(&client, second, 2);
    post_monitor(&client, second, 3);
    client_post(&client, second, word_type, &nobody, sizeof(nobody));
    visit(&client);
    timer_fixture_run(&f);
    fire(LATER);
    expect_told(&client, actor, 1, REASON_FINISHED);
    expect_told(&client, second, 2, REASON_FINISHED);
    expect_told(&client, second, 3, REASON_FINISHED);
    expect_nothing(&client);
    assert_int_equal(engine_fixture_stat(&f, STAT_monitors), 3);
}

static void test_who_is_stopped(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    assert_int_equal(engine_actor_send(f.engine, actor, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    timer_fixture_run(&f);
    fire(clock_now_ns());
    expect_only_told(actor, 7, REASON_STOPPED);
}

/* Who has ended before is told of, with the reason as long as the slot says it; but not before what
 * it has sent can have left (watches.W4). */
static void test_too_late(void **state)
{
    struct worker *w = f.engine->workers[0];
    actor_ref never = actor_ref_make(actor_ref_slot(actor), actor_ref_generation(actor) + 7);

    (void)state;
    ends(actor);
    monitors(&client, actor, 1);
    monitors(&client, never, 2);
    commit_flip(w, 0, 0, 0, 64, 0, 0); /* somebody's sends wait for a flush */
    fire(LATER);
    expect_nothing(&client);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    fire(LATER + 2 * WATCH_ROUND_NS);
    expect_told(&client, actor, 1, REASON_FINISHED);
    expect_only_told(never, 2, REASON_NO_SUCH_ACTOR);
}

static void test_another_client(void **state)
{
    (void)state;
    monitors(&client, other.ref, 7);
    fire(LATER);
    expect_nothing(&client);
    close_port(&other);
    fire(clock_now_ns());
    expect_only_told(other.ref, 7, REASON_CLIENT_GONE);
}

/* The executor dies before the end, between the end and its word, and behind the word. */
/* timer_owners.TO3: who asks too late, beside one whom nobody has told yet, does not hide the
 * monitors of the next client at that port from its end. */
static void test_too_late_for_a_client(void **state)
{
    actor_ref gone = other.ref;
    struct engine_event event;

    (void)state;
    monitors(&client, gone, 1);
    close_port(&other);
    monitors(&client, gone, 2);
    fire(LATER);
    fire(LATER + 2 * WATCH_ROUND_NS);
    expect_told(&client, gone, 1, REASON_CLIENT_GONE);
    expect_told(&client, gone, 2, REASON_CLIENT_GONE);
    while (engine_event_next(f.engine, &event))
        assert_int_equal(event.kind, ENGINE_EVENT_PORT_REMOVED);
    open_port(&other, other.info.id, other.info.generation + 1, other.info.user);
    monitors(&other, actor, 3);
    assert_int_equal(f.engine->timers.n, 1);
    close_port(&other);
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
}

static void test_over_restarts(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    restart();
    fire(LATER);
    expect_nothing(&client);
    assert_int_equal(timer_users_get(&f.engine->timers.users, USER).n, 1);
    ends(actor);
    restart();
    fire(clock_now_ns());
    expect_only_told(actor, 7, REASON_FINISHED);
}

static void test_who_did_not_outlive_it(void **state)
{
    actor_ref plain = spawn(plain_type), stopped = spawn(stop_type);

    (void)state;
    monitors(&client, plain, 1);
    monitors(&client, stopped, 2);
    restart();
    fire(clock_now_ns());
    expect_told(&client, plain, 1, REASON_BEGUN_ANEW);
    expect_only_told(stopped, 2, REASON_NOT_RESUMED);
}

static void visit_it(void)
{
    visit(&client);
}

/* What was taken from the ring is there, and is not taken again. */
static void test_taken_by_one_who_died(void **state)
{
    (void)state;
    post_monitor(&client, actor, 7);
    die(visit_it);
    restart();
    visit(&client);
    ends(actor);
    fire(LATER);
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* It ends with its port: nothing comes to the next one of that number. */
static void test_the_port_is_closed(void **state)
{
    actor_ref second = spawn(kept_type);

    (void)state;
    monitors(&client, actor, 7);
    monitors(&client, second, 8);
    ends(second);
    close_port(&client);
    assert_int_equal(f.engine->timers.n, 2);
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
    assert_int_equal(f.engine->timers.users.n, 0);
    port_forget(f.engine, PORT);
    client_free(&client);
    open_port(&client, PORT, 2, USER);
    monitors(&client, actor, 9);
    ends(actor);
    fire(LATER);
    expect_only_told(actor, 9, REASON_FINISHED);
}

static void close_it(void)
{
    close_port(&client);
}

/* ... also where the executor dies between the two, and the next one does not know the port. */
static void test_the_port_is_closed_by_one_who_died(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    die(close_it);
    restart_without(&client);
    assert_int_equal(f.engine->timers.n, 1);
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
    ends(actor);
    fire(LATER);
    expect_nothing(&client);
}

static void test_oneself(void **state)
{
    (void)state;
    monitors(&client, client.ref, 7);
    close_port(&client);
    fire(LATER);
    assert_int_equal(f.engine->timers.n, 0);
}

/* monitor.MO3 */
static void test_what_an_actor_says(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    says(actor, (struct say){ client.ref, 1, MESSAGE_TYPE_DOWN, sizeof(struct down) });
    (void)next(&client, MESSAGE_TYPE_DOWN);
    ends(actor);
    fire(clock_now_ns());
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* As many as the user may have, which are told of over a restart; then as many again. */
static void test_bounds_of_a_user(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= TIMERS; i++)
        post_monitor(&client, actor, i);
    visit(&client);
    for (uint64_t i = TIMERS / 2 + 1; i <= TIMERS; i++)
        expect_refusal(&client, i, REASON_TIMERS_FULL);
    for (uint64_t i = 1; i <= TIMERS; i++)
        post_monitor(&other, actor, i);
    visit(&other);
    for (uint64_t i = TIMERS / 4 + 1; i <= TIMERS; i++)
        expect_refusal(&other, i, REASON_TIMERS_FULL);
    restart();
    monitors(&client, actor, 77);
    expect_refusal(&client, 77, REASON_TIMERS_FULL);
    ends(actor);
    fire(LATER);
    for (uint64_t i = 1; i <= TIMERS / 2; i++)
        expect_told(&client, actor, i, REASON_FINISHED);
    for (uint64_t i = 1; i <= TIMERS / 4; i++)
        expect_told(&other, actor, i, REASON_FINISHED);
    assert_int_equal(f.engine->timers.users.n, 0);
    monitors(&client, actor, 78);
    fire(LATER);
    expect_only_told(actor, 78, REASON_FINISHED);
}

static void forge_as(uint16_t type, struct envelope header, const void *words,
                     enum envelope_reason reason)
{
    uint64_t id = 0;

    if (header.prefix & PREFIX_CORRELATION && header.length >= 8)
        memcpy(&id, words, sizeof(id));
    header.type = type;
    client_post_as(&client, header, words);
    visit(&client);
    expect_refused(&client, type, id, reason);
    assert_int_equal(load_relaxed(&client.executor->broken), PORT_OK);
}

/* Whether it is to begin one or to give it up. */
static void forge(struct envelope header, const void *words, enum envelope_reason reason)
{
    forge_as(MESSAGE_TYPE_PORT_DOWN, header, words, reason);
    forge_as(MESSAGE_TYPE_PORT_DEMONITOR, header, words, reason);
}

/* What no library posts, and disturbs nobody. */
static void test_forged(void **state)
{
    const uint64_t words[] = { 7, 8, 9 }, none[] = { 0 };
    actor_ref foreign = actor_ref_of(2, actor_ref_slot(actor), actor_ref_generation(actor));
    actor_ref no_life = actor_ref_make(actor_ref_slot(actor), 0);

    (void)state;
    monitors(&other, actor, 7);
    forge((struct envelope){ .to = 0, .prefix = PREFIX_CORRELATION, .length = 8 }, words,
          REASON_NO_SUCH_ACTOR);
    forge((struct envelope){ .to = foreign, .prefix = PREFIX_CORRELATION, .length = 8 }, words,
          REASON_NO_SUCH_ACTOR);
    forge((struct envelope){ .to = no_life, .prefix = PREFIX_CORRELATION, .length = 8 }, words,
          REASON_NO_SUCH_ACTOR);
    forge((struct envelope){ .to = actor, .prefix = PREFIX_CORRELATION, .length = 16 }, words,
          REASON_BAD_SIZE);
    forge((struct envelope){ .to = actor, .prefix = PREFIX_CORRELATION, .length = 4 }, words,
          REASON_BAD_SIZE);
    forge((struct envelope){ .to = actor, .prefix = PREFIX_CORRELATION, .length = 8 }, none,
          REASON_BAD_SIZE);
    forge((struct envelope){ .to = actor, .length = 8 }, words, REASON_BAD_SIZE);
    forge((struct envelope){ .to = actor }, words, REASON_BAD_SIZE);
    forge(
        (struct envelope){
            .to = actor, .prefix = PREFIX_CORRELATION, .length = 8, .flags = ENVELOPE_URGENT },
        words, REASON_NOT_ACCEPTED);
    forge(
        (struct envelope){
            .to = actor, .prefix = PREFIX_CORRELATION, .length = 8, .flags = ENVELOPE_REPLY },
        words, REASON_NOT_ACCEPTED);
    forge(
        (struct envelope){ .to = actor, .prefix = PREFIX_CORRELATION | PREFIX_AFTER, .length = 16 },
        words, REASON_NOT_ACCEPTED);
    assert_int_equal(f.engine->timers.n, 1);
    ends(actor);
    fire(clock_now_ns());
    expect_told(&other, actor, 7, REASON_FINISHED);
    expect_nothing(&client);
}

/* A reference beyond the table breaks the port, as in any record. */
static void test_a_slot_that_cannot_be(void **state)
{
    (void)state;
    monitors(&client, actor_ref_make(2 * ODEON_PORTS_MAX, 1), 7);
    assert_int_equal(load_relaxed(&client.executor->broken), PORT_BROKEN_SLOT);
    assert_int_equal(f.engine->timers.n, 0);
}

/* A ring that is full of what is not received does not keep the word from coming. */
static void test_behind_a_full_ring(void **state)
{
    const struct envelope *at;
    unsigned n = 0;

    (void)state;
    monitors(&client, actor, 7);
    says(actor, (struct say){ client.ref, 2 * CLIENT_RING / 4096, word_type, 4096 });
    ends(actor);
    fire(clock_now_ns());
    for (; n < 2 * CLIENT_RING / 4096; n++) {
        at = client_next(&client);
        while (!at) { /* what waits behind the ring comes when there is room */
            visit(&client);
            at = client_next(&client);
        }
        assert_int_equal(at->type, word_type);
    }
    if (load_relaxed(&client.executor->backlog))
        visit(&client);
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* ---- given up */

static void expect_none_left(void)
{
    assert_int_equal(f.engine->timers.n, 0);
    assert_int_equal(f.engine->timers.users.n, 0);
    assert_int_equal(f.engine->timers.cancelled.n, 0);
}

static void test_given_up(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    gives_up(&client, actor, 7);
    expect_none_left();
    ends(actor);
    fire(LATER);
    restart();
    fire(LATER);
    expect_nothing(&client);
    expect_none_left();
    assert_int_equal(engine_fixture_stat(&f, STAT_downs), 0);
}

/* In one visit, too, and between others'. */
static void test_given_up_at_once(void **state)
{
    actor_ref second = spawn(kept_type);

    (void)state;
    for (uint64_t id = 1; id <= 3; id++)
        post_monitor(&client, id == 3 ? second : actor, id);
    post_words(&client, MESSAGE_TYPE_PORT_DEMONITOR, actor, 1);
    visit(&client);
    assert_int_equal(f.engine->timers.n, 2);
    ends(actor);
    ends(second);
    fire(LATER);
    expect_told(&client, actor, 2, REASON_FINISHED);
    expect_only_told(second, 3, REASON_FINISHED);
}

/* Another id, another actor, another port's; twice; told before. Nobody else's is disturbed. */
static void test_nothing_to_give_up(void **state)
{
    actor_ref second = spawn(kept_type);

    (void)state;
    gives_up(&client, actor, 7);
    expect_no_monitor(&client, 7);
    monitors(&client, actor, 7);
    monitors(&other, actor, 8);
    gives_up(&client, actor, 8);
    expect_no_monitor(&client, 8);
    gives_up(&client, second, 7);
    expect_no_monitor(&client, 7);
    gives_up(&other, actor, 7);
    expect_no_monitor(&other, 7);
    assert_int_equal(f.engine->timers.n, 2);
    gives_up(&client, actor, 7);
    expect_nothing(&client);
    gives_up(&client, actor, 7);
    expect_no_monitor(&client, 7);
    ends(actor);
    fire(LATER);
    expect_told(&other, actor, 8, REASON_FINISHED);
    gives_up(&other, actor, 8);
    expect_no_monitor(&other, 8);
    expect_nothing(&other);
    expect_nothing(&client);
    expect_none_left();
}

/* Of others' words so many are in one chain of the index with those that are looked for that each
 * of them counts: who gives up what it has not ends nobody's watch, nor another one of its own. */
static void test_nobody_elses_is_given_up(void **state)
{
    actor_ref second = spawn(kept_type);

    (void)state;
    for (uint64_t id = 1; id <= 40ul * TIMER_FIXTURE_TIMERS; id++) {
        monitors(&client, actor, id);
        gives_up(&other, actor, id);
        expect_no_monitor(&other, id);
        gives_up(&client, second, id);
        expect_no_monitor(&client, id);
        gives_up(&client, actor, id + 1);
        expect_no_monitor(&client, id + 1);
        assert_int_equal(f.engine->timers.n, 1);
        gives_up(&client, actor, id);
        expect_nothing(&client);
        expect_none_left();
    }
}

/* The end has come, and its word is under way: it waits to be sent, and never is; or it has been
 * sent, and comes. */
static void test_given_up_when_the_end_has_come(void **state)
{
    actor_ref second = spawn(kept_type);

    (void)state;
    monitors(&client, actor, 7);
    ends(actor);
    gives_up(&client, actor, 7);
    expect_none_left();
    fire(LATER);
    expect_nothing(&client);
    monitors(&client, second, 8);
    ends(second);
    fire(clock_now_ns());
    gives_up(&client, second, 8);
    expect_told(&client, second, 8, REASON_FINISHED);
    expect_no_monitor(&client, 8);
    expect_nothing(&client);
}

/* Each call is one, whatever its words are. */
static void test_given_up_one_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        monitors(&client, actor, 7);
    gives_up(&client, actor, 7);
    assert_int_equal(f.engine->timers.n, 2);
    gives_up(&client, actor, 7);
    assert_int_equal(f.engine->timers.n, 1);
    ends(actor);
    fire(LATER);
    expect_only_told(actor, 7, REASON_FINISHED);
}

/* What was given up counts no longer, from that record on. */
static void test_given_up_and_begun_at_the_bound(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= TIMERS / 2; i++)
        post_monitor(&client, actor, i);
    visit(&client);
    for (uint64_t i = 1; i <= TIMERS; i++) {
        post_words(&client, MESSAGE_TYPE_PORT_DEMONITOR, actor, i);
        post_monitor(&client, actor, i + TIMERS / 2);
        visit(&client);
    }
    expect_nothing(&client);
    monitors(&client, actor, 77);
    expect_refusal(&client, 77, REASON_TIMERS_FULL);
    ends(actor);
    fire(LATER);
    for (uint64_t i = TIMERS + 1; i <= TIMERS + TIMERS / 2; i++)
        expect_told(&client, actor, i, REASON_FINISHED);
    expect_none_left();
}

/* The executor dies behind the record: it is given up, and no more than once. */
static void test_given_up_to_one_who_died(void **state)
{
    (void)state;
    monitors(&client, actor, 7);
    monitors(&client, actor, 8);
    restart();
    post_words(&client, MESSAGE_TYPE_PORT_DEMONITOR, actor, 7);
    die(visit_it);
    restart();
    visit(&client);
    expect_nothing(&client);
    ends(actor);
    fire(LATER);
    expect_only_told(actor, 8, REASON_FINISHED);
}

#define MONITOR_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MONITOR_TEST(test_told_once),
        MONITOR_TEST(test_behind_its_last_words),
        MONITOR_TEST(test_between_messages),
        MONITOR_TEST(test_who_is_stopped),
        MONITOR_TEST(test_too_late),
        MONITOR_TEST(test_another_client),
        MONITOR_TEST(test_too_late_for_a_client),
        MONITOR_TEST(test_over_restarts),
        MONITOR_TEST(test_who_did_not_outlive_it),
        MONITOR_TEST(test_taken_by_one_who_died),
        MONITOR_TEST(test_the_port_is_closed),
        MONITOR_TEST(test_the_port_is_closed_by_one_who_died),
        MONITOR_TEST(test_oneself),
        MONITOR_TEST(test_what_an_actor_says),
        MONITOR_TEST(test_bounds_of_a_user),
        MONITOR_TEST(test_forged),
        MONITOR_TEST(test_a_slot_that_cannot_be),
        MONITOR_TEST(test_behind_a_full_ring),
        MONITOR_TEST(test_given_up),
        MONITOR_TEST(test_given_up_at_once),
        MONITOR_TEST(test_nothing_to_give_up),
        MONITOR_TEST(test_nobody_elses_is_given_up),
        MONITOR_TEST(test_given_up_when_the_end_has_come),
        MONITOR_TEST(test_given_up_one_by_one),
        MONITOR_TEST(test_given_up_and_begun_at_the_bound),
        MONITOR_TEST(test_given_up_to_one_who_died),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
