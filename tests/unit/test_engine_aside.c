/* SPDX-License-Identifier: Apache-2.0 */
/* Stuck handlers (set_aside.h): the rest of the batch and later messages go on, in order; the stuck
 * actor gets its own later, all of them; a kill at any of the steps loses and doubles nothing. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/base/inject.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/stuck/hold.h"
#include "tests/unit/engine_client.h"
#include "tests/unit/stuck_handler.h"

enum { N_ACTORS = 4, STUCK = 1, N_MESSAGES = 400, HOLD_NS = 500000000 };
enum { IDS = 8, PORT = 5, LEFT_NS = 20000000 };
#define ID UINT64_C(0x1122334455667788)
/* those further away get what others send them */
enum { RELAY = 0, SECOND = 2, FAR = N_ACTORS, FAR_OF_STUCK, FARTHER_OF_STUCK, N_ROWS };

/* Shared with children that are killed. */
struct seen {
    _Atomic uint64_t last[N_ROWS], n[N_ROWS], doubled, missed, redelivered;
    /* the stuck actor: is inside, is to stay there, handlers of it at once */
    _Atomic uint32_t inside, hold, at_once;
    _Atomic uint32_t hold_at; /* the number at which it stays, 0: never */
    _Atomic uint32_t spawns, sends_home;
    /* relay and stuck one: how often before it stays, and so often behind that; sent so far */
    _Atomic uint32_t sends_far, far[N_ROWS];
    _Atomic uint32_t second_inside, second_at, second_hold;
    _Atomic uint64_t traced[N_ROWS]; /* so many of them in the trace ID */
};
static struct seen *seen;
static uint16_t message_number;
static uint32_t type_of_walker, type_of_kept, type_of_timid;
static actor_ref refs[N_ROWS];

struct number {
    uint32_t actor, number;
};

static void send_far(struct engine_context *ctx, uint32_t row)
{
    struct number number = { row, load_relaxed(&seen->far[row]) + 1 };
    if (engine_ctx_send(ctx, refs[row], message_number, 0, &number, sizeof(number)) == 0)
        store_relaxed(&seen->far[row], number.number);
}

static void send_all_far(struct engine_context *ctx, uint32_t actor)
{
    if (actor == RELAY && load_relaxed(&seen->sends_far))
        send_far(ctx, FAR);
    for (uint32_t i = 0; actor == STUCK && i < load_relaxed(&seen->sends_far) - 1; i++)
        send_far(ctx, i % 3 == 1 ? FARTHER_OF_STUCK : FAR_OF_STUCK);
}

/* Numbers come one after the other. What is redelivered may have been seen by a process that was
 * killed before its commit. */
HANDLER static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    const struct number *in = message;
    (void)self;
    uint64_t last = load_relaxed(&seen->last[in->actor]);
    if (ctx->trace == ID)
        atomic_fetch_add(&seen->traced[in->actor], 1);
    if (load_relaxed(&seen->sends_far))
        send_all_far(ctx, in->actor);
    if (in->actor == SECOND && in->number == load_relaxed(&seen->second_at)) {
        store_relaxed(&seen->second_inside, 1);
        while (load_acquire(&seen->second_hold))
            usleep(50);
    }
    if (in->actor == STUCK) {
        if (atomic_fetch_add(&seen->at_once, 1) != 0)
            atomic_fetch_add(&seen->doubled, 1);
        if (load_relaxed(&seen->spawns))
            engine_ctx_spawn(ctx, type_of_walker,
                             &(struct engine_spawn){ .placement = PLACE_SPREAD },
                             &(actor_ref){ 0 });
        if (load_relaxed(&seen->sends_home))
            engine_ctx_send(ctx, refs[2], message_number, 0, &(struct number){ 2, 1000 },
                            sizeof(struct number));
        if (in->number == load_relaxed(&seen->hold_at))
            stuck_stay(&seen->inside, &seen->hold);
        if (load_relaxed(&seen->sends_far))
            send_all_far(ctx, in->actor);
        if (in->number != ((const volatile struct number *)message)->number || in->actor != STUCK)
            atomic_fetch_add(&seen->missed, 1); /* the message has changed under the handler */
        atomic_fetch_sub(&seen->at_once, 1);
    }
    if (in->number == last && ctx->redelivered)
        atomic_fetch_add(&seen->redelivered, 1);
    else if (in->number <= last)
        atomic_fetch_add(&seen->doubled, 1);
    else if (in->number != last + 1)
        atomic_fetch_add(&seen->missed, 1);
    store_relaxed(&seen->last[in->actor], in->number);
    atomic_fetch_add(&seen->n[in->actor], 1);
    return ALLOCATION_NODELETE;
}

HANDLER static int hold_and_fail(void *self, const void *args, size_t size,
                                 struct engine_context *ctx)
{
    (void)self, (void)args, (void)size, (void)ctx;
    stuck_stay(&seen->inside, &seen->hold);
    return -1;
}

static void register_types(struct engine_fixture *f)
{
    static struct engine_behaviour behaviour[1];
    message_number = engine_fixture_message(f, "number", sizeof(struct number), false);
    behaviour[0] = (struct engine_behaviour){ message_number, sizeof(struct number), 0, on_number };
    type_of_walker = engine_fixture_type(f, "walker", 8, NULL, NULL, behaviour, 1);
    type_of_timid = engine_fixture_type(f, "timid", 8, hold_and_fail, NULL, behaviour, 1);
    struct engine_actor_type_info kept = { .name = "kept",
                                           .plugin = "p",
                                           .version = 1,
                                           .state_size = 8,
                                           .restart = RESTART_KEEP,
                                           .n_behaviours = 1,
                                           .behaviours = behaviour };
    assert_int_equal(engine_actor_type_register(f->engine, &kept, &type_of_kept), 0);
}

/* All actors in one queue. */
static void begin_as(struct engine_fixture *f, struct engine_config config,
                     enum engine_placement placement, bool kept)
{
    memset((void *)seen, 0, sizeof(*seen));
    config.is_handler = stuck_is_handler;
    config.durable_bytes = 64;
    engine_fixture_open(f, config);
    register_types(f);
    for (unsigned i = 0; i < N_ACTORS; i++) {
        struct engine_spawn spawn = { .placement = placement,
                                      .place = placement == PLACE_PINNED ? 0 : ENGINE_ANYWHERE };
        struct engine_actor_view view;
        do { /* round robin: those that come to another queue stay unused */
            assert_int_equal(engine_actor_spawn_placed(
                                 f->engine, kept ? type_of_kept : type_of_walker, &spawn, &refs[i]),
                             0);
            assert_int_equal(engine_actor_get(f->engine, refs[i], &view), 0);
        } while (placement == PLACE_SPREAD && view.queue != 0);
    }
}

static void begin(struct engine_fixture *f, uint32_t workers, enum engine_placement placement,
                  bool kept)
{
    begin_as(f, engine_fixture_config(workers, 1), placement, kept);
}

static void end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
}

static void post(struct engine_fixture *f, uint32_t actor, uint32_t number)
{
    struct number message = { actor, number };
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    while (engine_actor_send(f->engine, refs[actor], message_number, &message, sizeof(message)) !=
           0)
        assert_true(clock_now_ns() < until);
}

static void post_all(struct engine_fixture *f, uint32_t from, uint32_t to)
{
    for (uint32_t number = from; number <= to; number++)
        for (uint32_t actor = 0; actor < N_ACTORS; actor++)
            post(f, actor, number);
}

#define UNTIL(what)                                                                                \
    do {                                                                                           \
        uint64_t until_ = clock_now_ns() + TEST_DEADLINE_NS;                                       \
        while (!(what))                                                                            \
            assert_true(clock_now_ns() < until_);                                                  \
    } while (0)

static uint32_t worker_of(struct engine_fixture *f, uint32_t actor)
{
    struct engine_worker_view view;
    for (uint32_t id = 0;; id = (id + 1) % f->config.n_workers)
        if (engine_worker_get(f->engine, id, &view) == 0 && view.actor == refs[actor])
            return id;
}

static bool others_have(uint64_t n)
{
    for (uint32_t actor = 0; actor < N_ACTORS; actor++)
        if (actor != STUCK && load_relaxed(&seen->last[actor]) != n)
            return false;
    return true;
}

static void set_aside_actor(struct engine_fixture *f, uint32_t actor)
{
    const char *text;
    int r;
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    do {
        r = engine_worker_set_aside(f->engine, worker_of(f, actor), refs[actor], HOLD_NS, &text);
        /* it may be on its way into a system call, or get no processor */
    } while ((r == -EAGAIN || r == -ETIMEDOUT) && clock_now_ns() < until);
    if (r < 0)
        fail_msg("%s: %s", strerror(-r), text);
}

static void set_aside(struct engine_fixture *f)
{
    set_aside_actor(f, STUCK);
}

static void start_and_set_aside(struct engine_fixture *f)
{
    assert_int_equal(engine_start(f->engine), 0);
    UNTIL(load_relaxed(&seen->inside));
    set_aside(f);
}

/* Of what others may run (set_aside.A8). */
static uint32_t owned_by(struct engine_fixture *f, uint32_t worker)
{
    uint32_t n = 0;
    for (uint32_t source = 0; source < f->engine->n_sources; source++)
        n += load_relaxed(f->engine->sources[source].own) == own_idle(worker) &&
             !(load_relaxed(&f->engine->sources[source].flags) & SOURCE_FIXED);
    return n;
}

static void test_the_rest_goes_on(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_actor_view view;
    begin(&f, 2, PLACE_SPREAD, false);
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 3);
    post_all(&f, 1, N_MESSAGES);
    assert_int_equal(engine_start(f.engine), 0);
    UNTIL(load_relaxed(&seen->inside));
    uint32_t stuck = worker_of(&f, STUCK);
    assert_true(owned_by(&f, stuck) > 0);
    set_aside(&f);
    assert_int_equal(owned_by(&f, stuck), 0);
    UNTIL(others_have(N_MESSAGES)); /* the rest of the batch */
    post_all(&f, N_MESSAGES + 1, 2 * N_MESSAGES);
    UNTIL(others_have(2 * N_MESSAGES)); /* and what came later */
    assert_int_equal(load_relaxed(&seen->last[STUCK]), 2);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 2 * N_MESSAGES);
    /* It comes back to its queue: nothing is sent on any more. */
    uint64_t passed, number = 2 * N_MESSAGES;
    UNTIL((passed = engine_fixture_stat(&f, STAT_passed_aside), post(&f, STUCK, (uint32_t)++number),
           engine_fixture_wait(&f, TEST_DEADLINE_NS)) &&
          engine_fixture_stat(&f, STAT_passed_aside) == passed);
    assert_int_equal(engine_actor_get(f.engine, refs[STUCK], &view), 0);
    assert_string_equal(view.state, "live");
    assert_int_equal(load_relaxed(&seen->last[STUCK]), number);
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_set_aside), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    end(&f);
}

/* ---- in a trace ---- */

static void post_traced(struct client *client, uint32_t actor, uint32_t number)
{
    const struct number message = { actor, number };
    uint64_t words[2] = { ID };
    memcpy(&words[1], &message, sizeof(message));
    client_post_as(client,
                   (struct envelope){ .to = refs[actor],
                                      .type = message_number,
                                      .length = sizeof(words),
                                      .prefix = PREFIX_TRACE },
                   words);
}

/* What is done there is told in a file. */
static void begin_observed(struct engine_fixture *f, uint64_t limit_bytes)
{
    struct engine_config config = engine_fixture_config(2, 1);
    struct observed_header *file = mmap(NULL, OBSERVED_FILE_SIZE(IDS), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    observed_header_fill(file, IDS);
    config.observed = file;
    config.limit_bytes = limit_bytes;
    begin_as(f, config, PLACE_SPREAD, false);
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 1);
}

static void end_observed(struct engine_fixture *f)
{
    struct observed_header *file = f->config.observed;
    engine_stop(f->engine);
    engine_fixture_close(f);
    munmap(file, OBSERVED_FILE_SIZE(IDS));
}

/* Records of all workers of what this one was sent in the trace, 0: in none: those with this
 * reason, and the longest time of them. */
static unsigned records(const struct engine_fixture *f, uint32_t actor, uint64_t trace_id,
                        uint64_t reason, uint64_t *ret_longest_ns)
{
    unsigned n = 0;
    *ret_longest_ns = 0;
    for (uint32_t id = 0; id < f->engine->segment.n_ids; id++) {
        const struct observed_trace *trace = &f->engine->workers[id]->observer.block->trace;
        for (uint64_t i = 1; i <= load_acquire(&trace->n); i++) {
            const struct observed_record *record = &trace->record[i % OBSERVED_RECORDS];
            if (load_relaxed(&record->id) != trace_id || load_relaxed(&record->to) != refs[actor] ||
                observed_weight_reason(load_relaxed(&record->weight)) != reason)
                continue;
            n++;
            if (load_relaxed(&record->run_ns) > *ret_longest_ns)
                *ret_longest_ns = load_relaxed(&record->run_ns);
        }
    }
    return n;
}

/* Of each message there is one record, where it has been run: none of the one that hangs as long as
 * it does, none of what is passed on, and one of that with which the actor comes back. */
static void test_in_a_trace(void **state)
{
    struct engine_fixture f;
    struct client client;
    uint64_t longest, passed;
    uint32_t number = 4;
    (void)state;
    begin_observed(&f, 64 << 20);
    client_open(&f, &client, PORT, 1);
    for (uint32_t i = 1; i <= 2; i++) {
        post_traced(&client, STUCK, i);
        post_traced(&client, SECOND, i);
    }
    start_and_set_aside(&f);
    UNTIL(records(&f, SECOND, ID, REASON_NONE, &longest) == 2);
    assert_int_equal(load_relaxed(&seen->traced[SECOND]), 2);
    post_traced(&client, STUCK, 3);
    UNTIL(engine_fixture_stat(&f, STAT_passed_aside) == 2);
    post(&f, STUCK, 4);
    UNTIL(engine_fixture_stat(&f, STAT_passed_aside) == 3);
    assert_int_equal(records(&f, STUCK, ID, REASON_NONE, &longest), 0);
    usleep(LEFT_NS / 1000); /* so that the one that hangs has done so for as long, at least */
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 4);
    UNTIL(records(&f, STUCK, ID, REASON_NONE, &longest) == 3);
    assert_true(longest >= LEFT_NS);
    assert_int_equal(load_relaxed(&seen->traced[STUCK]), 3); /* the last one was in none */
    do {
        passed = engine_fixture_stat(&f, STAT_passed_aside);
        post_traced(&client, STUCK, ++number);
        UNTIL(records(&f, STUCK, ID, REASON_NONE, &longest) == number - 1);
    } while (engine_fixture_stat(&f, STAT_passed_aside) != passed);
    post(&f, STUCK, ++number);
    UNTIL(load_relaxed(&seen->last[STUCK]) == number);
    assert_int_equal(load_relaxed(&seen->traced[STUCK]), number - 2);
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    end_observed(&f);
    client_free(&client);
}

/* What waits for it is at its limit: the next ones are of those that could not be run. */
static void test_what_it_has_no_room_for_is_told(void **state)
{
    struct engine_fixture f;
    uint64_t longest, letters;
    uint32_t number = 1;
    (void)state;
    begin_observed(&f, 4096);
    post(&f, STUCK, number);
    start_and_set_aside(&f);
    UNTIL((post(&f, STUCK, ++number), engine_fixture_stat(&f, STAT_dead_letters) > 0));
    UNTIL((letters = engine_fixture_stat(&f, STAT_dead_letters),
           engine_fixture_stat(&f, STAT_passed_aside) + letters == number - 1));
    assert_int_equal(records(&f, STUCK, 0, REASON_QUEUE_FULL, &longest), letters);
    store_release(&seen->hold, 0);
    UNTIL(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    end_observed(&f);
}

static bool is_away(const struct engine_fixture *f, uint32_t actor)
{
    uint64_t key = load_relaxed(&f->engine->actors.table[actor_ref_slot(refs[actor])].key);
    return actor_key_kind(key) == ACTOR_ASIDE;
}

/* Again and again, while messages come in. Who is not back yet, but where it was set aside, is not
 * set aside there: each message for it is a chance to come back. */
static void test_under_traffic(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 3, PLACE_SPREAD, false);
    assert_int_equal(engine_start(f.engine), 0);
    uint32_t number = 0;
    for (unsigned round = 0; round < TEST_SCALE(100) + 3; round++) {
        store_relaxed(&seen->inside, 0);
        store_release(&seen->hold, 1);
        store_release(&seen->hold_at, number + 1 + round % 7);
        post_all(&f, number + 1, number + 50);
        UNTIL(load_relaxed(&seen->inside));
        set_aside(&f);
        post_all(&f, number + 51, number + 60);
        UNTIL(others_have(number + 60));
        store_release(&seen->hold, 0);
        post_all(&f, number + 61, number + 70);
        number += 70;
        UNTIL(load_relaxed(&seen->last[STUCK]) == number && others_have(number));
        while (is_away(&f, STUCK)) {
            number++;
            post_all(&f, number, number);
            UNTIL(load_relaxed(&seen->last[STUCK]) == number && others_have(number));
        }
    }
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    engine_stop(f.engine);
    for (unsigned actor = 0; actor < N_ACTORS; actor++)
        assert_int_equal(load_relaxed(&seen->n[actor]), number);
    engine_fixture_close(&f);
}

/* The first message of each of the two is to hang. */
static void hold_both(void)
{
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 1);
    store_relaxed(&seen->second_hold, 1);
    store_relaxed(&seen->second_at, 1);
}

/* One after the other, by the same worker; the first has had no message in between, and so has not
 * come back. */
static void test_one_and_then_another(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1, PLACE_SPREAD, false);
    hold_both();
    post(&f, STUCK, 1);
    start_and_set_aside(&f);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 1);
    post(&f, SECOND, 1);
    post(&f, STUCK, 2);
    UNTIL(load_relaxed(&seen->second_inside));
    set_aside_actor(&f, SECOND);
    post(&f, SECOND, 2);
    post(&f, STUCK, 3);
    store_release(&seen->second_hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 3 && load_relaxed(&seen->last[SECOND]) == 2);
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_set_aside), 2);
    end(&f);
}

/* In one turn: the message comes without an init record before it. */
static int spawn_and_tell(struct engine_context *ctx)
{
    struct number number = { STUCK, 1 };
    assert_int_equal(engine_ctx_spawn_plain(ctx, type_of_timid, PLACE_SPREAD, &refs[STUCK]), 0);
    return engine_ctx_send(ctx, refs[STUCK], message_number, 0, &number, sizeof(number));
}

/* Whose init is set aside, and fails: no message is run. */
static void test_an_init_that_fails(void **state)
{
    struct engine_fixture f;
    (void)state;
    begin(&f, 1, PLACE_SPREAD, false);
    f.engine->types.known[type_of_timid]->behaviours[BEHAVIOUR_NONE].meta = 0; /* it is quick */
    store_relaxed(&seen->hold, 1);
    assert_int_equal(engine_run(f.engine, spawn_and_tell), 0);
    start_and_set_aside(&f);
    store_release(&seen->hold, 0);
    UNTIL(!engine_actor_lives(f.engine, refs[STUCK]));
    engine_stop(f.engine);
    assert_int_equal(load_relaxed(&seen->n[STUCK]), 0);
    engine_fixture_close(&f);
}

static void client_post_number(struct client *c, uint32_t actor, uint32_t number)
{
    struct number message = { actor, number };
    client_post(c, refs[actor], message_number, &message, sizeof(message));
}

/* A bell that rang while nobody waited is in every worker's epoll; one that is left there would
 * have its worker look at the port. */
static void drop_events(struct engine_fixture *f, uint32_t worker)
{
    struct epoll_event event;
    while (epoll_wait(f->engine->workers[worker]->doorbells.epoll_fd, &event, 1, 0) > 0)
        ;
}

/* A port that its owner polls, and nobody to give it to when he is set aside: whoever comes back
 * first hears its client (set_aside.A9). */
static void test_a_polled_port_of_the_last_one(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    begin(&f, 2, PLACE_SPREAD, false);
    client_open(&f, &c, 3, 1);
    hold_both();
    post(&f, STUCK, 1);
    assert_int_equal(engine_start(f.engine), 0);
    UNTIL(load_relaxed(&seen->inside));
    uint32_t first = worker_of(&f, STUCK);
    set_aside(&f);
    client_post_number(&c, SECOND, 1);
    UNTIL(load_relaxed(&seen->second_inside));
    uint32_t last = worker_of(&f, SECOND);
    assert_int_equal(load_relaxed(f.engine->sources[engine_source_of_port(f.engine, 3)].own),
                     own_idle(last));
    assert_int_equal(load_relaxed(&c.executor->need_wakeup), 0);
    set_aside_actor(&f, SECOND);
    assert_true(owned_by(&f, last) > 0);
    drop_events(&f, first);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 1);
    client_post_number(&c, RELAY, 1);
    UNTIL(load_relaxed(&seen->last[RELAY]) == 1);
    store_release(&seen->second_hold, 0);
    UNTIL(load_relaxed(&seen->last[SECOND]) == 1);
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_set_aside), 2);
    engine_stop(f.engine);
    client_free(&c);
    engine_fixture_close(&f);
}

/* In a queue of its own: the n-th. */
static actor_ref far_actor(struct engine_fixture *f, uint32_t queue)
{
    struct engine_spawn spawn = { .placement = PLACE_SPREAD, .place = ENGINE_ANYWHERE };
    struct engine_actor_view view;
    actor_ref ref;
    do {
        assert_int_equal(engine_actor_spawn_placed(f->engine, type_of_walker, &spawn, &ref), 0);
        assert_int_equal(engine_actor_get(f->engine, ref, &view), 0);
    } while (view.queue != queue);
    return ref;
}

/* What another actor of the batch had sent does not wait for the stuck one, and nothing that it
 * sends later overtakes it; the stuck one's own sends, `before` of them until it stays, come when
 * it has returned. */
static void sends_before(uint32_t before)
{
    struct engine_fixture f;
    begin(&f, 3, PLACE_SPREAD, false);
    refs[FAR] = far_actor(&f, 1);
    refs[FAR_OF_STUCK] = far_actor(&f, 1);
    refs[FARTHER_OF_STUCK] = far_actor(&f, 2);
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 3);
    store_relaxed(&seen->sends_far, 1 + before);
    post_all(&f, 1, N_MESSAGES);
    start_and_set_aside(&f);
    UNTIL(load_relaxed(&seen->last[FAR]) == N_MESSAGES);
    assert_int_equal(load_relaxed(&seen->last[STUCK]), 2);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == N_MESSAGES && others_have(N_MESSAGES));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(load_relaxed(&seen->last[FAR_OF_STUCK]) +
                         load_relaxed(&seen->last[FARTHER_OF_STUCK]),
                     2ul * before * N_MESSAGES);
    assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
    end(&f);
}

static void test_sends_before(void **state)
{
    (void)state;
    for (uint32_t before = 0; before <= 5; before++)
        sends_before(before);
}

/* Until it is not for where the thread was that it is refused. */
static int refused_try(struct engine_fixture *f, actor_ref actor, const char **ret_text)
{
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    int r;
    do {
        r = engine_worker_set_aside(f->engine, worker_of(f, STUCK), actor, HOLD_NS, ret_text);
    } while (r < 0 && strstr(*ret_text, "stopped inside") && clock_now_ns() < until);
    return r;
}

static void refused(uint32_t workers, enum engine_placement placement, bool kept, bool spawns,
                    bool sends_home, const char *why)
{
    struct engine_fixture f;
    const char *text;
    int r;
    begin(&f, workers, placement, kept);
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 1);
    store_relaxed(&seen->spawns, spawns);
    store_relaxed(&seen->sends_home, sends_home);
    post(&f, STUCK, 1);
    assert_int_equal(engine_start(f.engine), 0);
    UNTIL(load_relaxed(&seen->inside));
    r = refused_try(&f, refs[STUCK], &text);
    assert_int_equal(r, -EAGAIN);
    assert_string_equal(text, why);
    assert_int_equal(engine_worker_set_aside(f.engine, workers, refs[STUCK], 0, &text), -ENOENT);
    assert_int_equal(refused_try(&f, refs[0], &text), -EAGAIN);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 1);
    end(&f);
}

static void test_what_cannot_be_set_aside(void **state)
{
    (void)state;
    refused(2, PLACE_PINNED, false, false, false, "nobody else may run this queue");
    refused(2, PLACE_SPREAD, true, false, false, "the actor's state is kept in the segment");
    refused(2, PLACE_SPREAD, false, true, false, "it has sent to its own queue, or spawned");
    refused(2, PLACE_SPREAD, false, false, true, "it has sent to its own queue, or spawned");
}

static void test_nobody_is_stuck(void **state)
{
    (void)state;
    struct engine_fixture f;
    const char *text;
    begin(&f, 2, PLACE_SPREAD, false);
    assert_int_equal(engine_start(f.engine), 0);
    post_all(&f, 1, 3);
    UNTIL(others_have(3));
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    int r;
    do { /* a thread that has only just been made does not answer */
        r = engine_worker_set_aside(f.engine, 0, refs[STUCK], HOLD_NS, &text);
    } while (r == -ETIMEDOUT && clock_now_ns() < until);
    assert_int_equal(r, -EAGAIN);
    engine_stop(f.engine);
    f.engine = engine_close(f.engine);
    f.config.is_handler = NULL;
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report);
    register_types(&f);
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(engine_worker_set_aside(f.engine, 0, refs[STUCK], TEST_DEADLINE_NS, &text),
                     -ENOTSUP);
    end(&f);
}

/* The process is killed while the actor is aside, or (injected build) at one of the steps to
 * there. */
static void child(struct engine_fixture *f, unsigned round)
{
    struct engine_recovery report;
    const char *text;
#ifdef ODEON_INJECT
    atomic_store(&inject_countdown[INJECT_aside], 1 + round % 5);
#endif
    engine_fixture_reopen(f, &report);
    register_types(f);
    engine_start(f->engine);
    while (!load_relaxed(&seen->inside))
        ;
    while (engine_worker_set_aside(f->engine, worker_of(f, STUCK), refs[STUCK], HOLD_NS, &text) !=
           0)
        ;
    for (unsigned spins = 0; spins < round * 1000; spins++)
        (void)load_acquire(&seen->hold);
    kill(getpid(), SIGKILL);
}

static void test_killed(void **state)
{
    (void)state;
    for (unsigned round = 0; round < TEST_SCALE(200) + 10; round++) {
        struct engine_fixture f;
        struct engine_recovery report;
        int status;
        begin(&f, 2, PLACE_SPREAD, false);
        store_relaxed(&seen->hold, 1);
        store_relaxed(&seen->hold_at, 1 + round % 20);
        post_all(&f, 1, 20);
        f.engine = engine_close(f.engine);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            child(&f, round);
            _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        engine_fixture_reopen(&f, &report);
        register_types(&f);
        store_relaxed(&seen->hold, 0);
        store_relaxed(&seen->at_once, 0);
        assert_int_equal(engine_start(f.engine), 0);
        post_all(&f, 21, 30);
        UNTIL(load_relaxed(&seen->last[STUCK]) == 30 && others_have(30));
        assert_int_equal(load_relaxed(&seen->doubled) + load_relaxed(&seen->missed), 0);
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        engine_stop(f.engine);
        for (uint32_t queue = 0; queue < f.engine->segment.n_queues; queue++)
            assert_false(queue_has_work(&f.engine->segment.queues[queue]));
        engine_fixture_close(&f);
    }
}

/* Until the worker has refused, or has offered itself. */
static void ask(struct engine_fixture *f, struct worker *w)
{
    do {
        if (hold_is_answered(w))
            assert_int_equal(hold_answer(w), -EAGAIN);
        assert_int_equal(hold_ask(f->engine, w), 0);
        UNTIL(hold_is_answered(w));
    } while (load_acquire(&w->hold.state) == HOLD_REFUSED);
}

/* hold.H5: whom nobody comes for goes on, and so does who is not wanted any more. */
static void test_nobody_stands_for_nothing(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 2, PLACE_SPREAD, false);
    store_relaxed(&seen->hold, 1);
    store_relaxed(&seen->hold_at, 1);
    post_all(&f, 1, 1);
    assert_int_equal(engine_start(f.engine), 0);
    UNTIL(load_relaxed(&seen->inside));
    struct worker *w = f.engine->workers[worker_of(&f, STUCK)];
    ask(&f, w);
    UNTIL(load_acquire(&w->hold.state) == HOLD_LEFT);
    assert_int_equal(hold_answer(w), -ETIMEDOUT);
    ask(&f, w);
    hold_withdraw(w);
    assert_int_equal(load_acquire(&w->hold.state), HOLD_NONE);
    assert_int_equal(engine_fixture_stat(&f, STAT_control_waits), 0);
    store_release(&seen->hold, 0);
    UNTIL(load_relaxed(&seen->last[STUCK]) == 1 && others_have(1));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rest_goes_on),
        cmocka_unit_test(test_in_a_trace),
        cmocka_unit_test(test_what_it_has_no_room_for_is_told),
        cmocka_unit_test(test_under_traffic),
        cmocka_unit_test(test_one_and_then_another),
        cmocka_unit_test(test_an_init_that_fails),
        cmocka_unit_test(test_a_polled_port_of_the_last_one),
        cmocka_unit_test(test_sends_before),
        cmocka_unit_test(test_what_cannot_be_set_aside),
        cmocka_unit_test(test_nobody_is_stuck),
        cmocka_unit_test(test_nobody_stands_for_nothing),
        cmocka_unit_test(test_killed),
    };
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("engine: stuck handlers", tests, NULL, NULL);
}
