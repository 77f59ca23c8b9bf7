/* SPDX-License-Identifier: Apache-2.0 */
/* Kill and recover with clients: the test keeps two ports' memory and goes on posting and reading
 * while a child runs the engine and is killed, again and again. Each number goes through two actors
 * in different queues and comes back:
 *   test_engine_recover_ports.L1  what a client reads are its own numbers, one after the other,
 *       whatever happened in between.
 *   test_engine_recover_ports.L2  its refused posts are a stream of their own, with the same rule.
 * One of the clients reads seldom, so that deliveries wait behind its ring.
 *
 * Built twice: as it is, and with the engine's injection points. */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engine_client.h"
#include "engine_fixture.h"

#ifdef ODEON_INJECT
#include "daemon/engine/base/inject.h"
#endif

enum { N_CLIENTS = 2, N_RELAYS = 4, WINDOW = 4000 };

struct hop {
    actor_ref origin;
    uint64_t number;
};

/* Shared with the children. */
struct ledger {
    _Atomic uint32_t phase; /* 1: recovering, 2: running */
    actor_ref first[N_RELAYS], second[N_RELAYS];
    struct engine_recovery sum;
    char failure[128];
};

struct stream {
    struct client client;
    uint64_t posted, received, refusals_posted, refusals_received;
    uint64_t pause; /* reads only so often */
};

static struct ledger *ledger;
static struct stream streams[N_CLIENTS];
static uint16_t hop_type;
static unsigned seed = 1;

static uint64_t draw(uint64_t below)
{
    return (uint64_t)rand_r(&seed) % below;
}

static void must(const char *what, int r)
{
    if (r >= 0)
        return;
    snprintf(ledger->failure, sizeof(ledger->failure), "%s: %s", what, strerror(-r));
    abort();
}

/* ---- the child ---- */

static int first_on_hop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct hop *hop = message;
    must("hop", engine_ctx_send(ctx, ledger->second[actor_ref_slot(hop->origin) % N_RELAYS],
                                hop_type, 0, hop, sizeof(*hop)));
    return ALLOCATION_NODELETE;
}

static int second_on_hop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct hop *hop = message;
    must("back", engine_ctx_send(ctx, hop->origin, hop_type, 0, hop, sizeof(*hop)));
    return ALLOCATION_NODELETE;
}

struct injection {
    int point; /* -1: none */
    int64_t countdown;
};

static __attribute__((noreturn)) void child_main(struct engine_fixture *f, bool populate,
                                                 struct injection injection)
{
    struct rlimit no_core = { 0, 0 };
    struct engine_recovery report;
    const char *text;
    setrlimit(RLIMIT_CORE, &no_core);
    must("open", engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text));
    for (unsigned i = 0; i < N_CLIENTS; i++) {
        actor_ref ref;
        must("port", engine_port_add(f->engine, &streams[i].client.info, &ref));
        if (!populate && ref != streams[i].client.ref)
            must("the port's reference", -ESTALE);
    }
#ifdef ODEON_INJECT
    if (injection.point >= 0)
        atomic_store(&inject_countdown[injection.point], injection.countdown);
#else
    (void)injection;
#endif
    store_release(&ledger->phase, 1);
    must("recover", engine_recover(f->engine, &report));
    for (size_t i = 0; i < sizeof(report) / sizeof(uint64_t); i++)
        ((uint64_t *)&ledger->sum)[i] += ((const uint64_t *)&report)[i];
    hop_type = engine_fixture_message(f, "hop", sizeof(struct hop), false);
    struct engine_behaviour first = { hop_type, sizeof(struct hop), false, first_on_hop };
    struct engine_behaviour second = { hop_type, sizeof(struct hop), false, second_on_hop };
    uint32_t first_type = engine_fixture_type(f, "first", 8, NULL, NULL, &first, 1);
    uint32_t second_type = engine_fixture_type(f, "second", 8, NULL, NULL, &second, 1);
    if (populate) {
        for (unsigned i = 0; i < N_RELAYS; i++)
            ledger->first[i] = engine_fixture_spawn(f, first_type, NULL, 0);
        for (unsigned i = 0; i < N_RELAYS; i++)
            ledger->second[i] = engine_fixture_spawn(f, second_type, NULL, 0);
        engine_close(f->engine);
        _exit(0);
    }
    must("start", engine_start(f->engine));
    store_release(&ledger->phase, 2);
    for (;;)
        pause();
}

static pid_t child_begin(struct engine_fixture *f, bool populate, struct injection injection)
{
    store_relaxed(&ledger->phase, 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child_main(f, populate, injection);
    return pid;
}

static void child_end(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("%s (status %x)", ledger->failure, (unsigned)status);
}

static bool child_has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* ---- the clients ---- */

static void stream_post(struct stream *s)
{
    struct client *c = &s->client;
    while (s->posted - s->received < WINDOW &&
           client_has_room(c, envelope_size(sizeof(struct hop)))) {
        struct hop hop = { .origin = c->ref, .number = s->posted + 1 };
        client_post(c, ledger->first[c->info.id % N_RELAYS], MESSAGE_TYPE_FIRST_PLAIN, &hop,
                    sizeof(hop));
        s->posted++;
        if (s->posted % 50 == 0 && s->refusals_posted - s->refusals_received < WINDOW / 50 &&
            client_has_room(c, 32)) {
            uint64_t correlation = ++s->refusals_posted;
            client_post_as(c,
                           /* never there */
                           (struct envelope){ .to = actor_ref_make(ODEON_PORTS_MAX + 200, 99),
                                              .type = MESSAGE_TYPE_FIRST_PLAIN,
                                              .length = sizeof(correlation),
                                              .prefix = PREFIX_CORRELATION },
                           &correlation);
        }
    }
}

static uint64_t stream_read(struct stream *s)
{
    uint64_t n = 0;
    for (const struct envelope *at; (at = client_next(&s->client)); n++) {
        assert_int_equal(at->to, s->client.ref);
        if (at->type == MESSAGE_TYPE_REFUSAL) { /* test_engine_recover_ports.L2 */
            const struct refusal *refusal = envelope_payload(at);
            assert_int_equal(refusal->reason, REASON_NO_SUCH_ACTOR);
            assert_int_equal(refusal->correlation, ++s->refusals_received);
        } else { /* test_engine_recover_ports.L1 */
            const struct hop *hop = envelope_payload(at);
            assert_int_equal(hop->origin, s->client.ref);
            assert_int_equal(hop->number, ++s->received);
        }
    }
    return n;
}

static void streams_go_on(uint64_t round)
{
    for (unsigned i = 0; i < N_CLIENTS; i++) {
        stream_post(&streams[i]);
        if (round % streams[i].pause == 0)
            stream_read(&streams[i]);
    }
}

static uint64_t total_received(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < N_CLIENTS; i++)
        n += streams[i].received;
    return n;
}

/* ---- kills ---- */

static struct injection injection_draw(void)
{
    struct injection injection = { .point = -1 };
#ifdef ODEON_INJECT
    static const struct {
        enum inject_point point;
        uint64_t mean;
    } points[] = { { INJECT_port, 20 },      { INJECT_port, 200 },   { INJECT_outbox, 50 },
                   { INJECT_lock, 80 },      { INJECT_copied, 80 },  { INJECT_journal, 80 },
                   { INJECT_published, 80 }, { INJECT_step, 80 },    { INJECT_parked, 10 },
                   { INJECT_release, 30 },   { INJECT_recovery, 4 }, { INJECT_journal, 3 },
                   { INJECT_published, 3 },  { INJECT_handler, 900 } };
    if (draw(5) != 0) {
        size_t i = draw(sizeof(points) / sizeof(points[0]));
        injection = (struct injection){ .point = points[i].point,
                                        .countdown = 1 + (int64_t)draw(2 * points[i].mean) };
    }
#endif
    return injection;
}

/* Until the wanted number has been read, or the child has ended by itself, which is only right with
 * an injection. */
static void life(struct engine_fixture *f)
{
    struct injection injection = injection_draw();
    bool early = injection.point < 0 && draw(4) == 0;
    uint64_t wanted = total_received() + (injection.point < 0 ? draw(6000) : 30000),
             until = clock_now_ns() + TEST_DEADLINE_NS;
    pid_t pid = child_begin(f, false, injection);
    for (uint64_t round = 0;; round++) {
        streams_go_on(round);
        if (early ? load_acquire(&ledger->phase) >= 1 : total_received() >= wanted)
            break;
        if (round % 64 == 0 && child_has_ended(pid))
            break;
        if (clock_now_ns() > until) {
            kill(pid, SIGKILL);
            fail_msg("nothing comes back: %lu posted, %lu received; %lu posted, %lu received",
                     (unsigned long)streams[0].posted, (unsigned long)streams[0].received,
                     (unsigned long)streams[1].posted, (unsigned long)streams[1].received);
        }
        sched_yield();
    }
    if (early)
        for (uint64_t end = clock_now_ns() + draw(300000); clock_now_ns() < end;)
            ;
    child_end(pid);
}

static struct engine_recovery found; /* by all cases */
static uint64_t n_backlogged;

/* From the statistics that all lives shared. */
static uint64_t stat_of(struct engine_fixture *f, enum stat_index stat)
{
    const uint8_t *base = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ, MAP_SHARED, f->stats_fd, 0);
    assert_true(base != MAP_FAILED);
    uint64_t n = 0;
    for (uint32_t id = 0; id <= f->config.n_workers; id++)
        n += load_relaxed(
            &((const struct stats_worker *)(base + STATS_WORKER_OFFSET))[id].value[stat]);
    munmap((void *)base, STATS_SEGMENT_SIZE);
    return n;
}

static void torture(uint32_t workers, uint32_t queues, uint32_t throughput, unsigned kills)
{
    struct engine_fixture f = { .config = engine_fixture_config(workers, queues) };
    f.config.actors_max = 1024;
    f.config.limit_bytes = 1 << 20;
    f.config.outbox_bytes = 1 << 20;
    f.config.throughput = throughput;
    f.segment_fd = memfd_make_sealed("segment", engine_segment_size(&f.config));
    f.stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    assert_true(f.segment_fd >= 0 && f.stats_fd >= 0);
    ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(ledger != MAP_FAILED);
    for (unsigned i = 0; i < N_CLIENTS; i++) {
        streams[i] = (struct stream){ .pause = i ? 5000 : 1 };
        client_make(&streams[i].client, 2 + i, 7);
        streams[i].client.ref = actor_ref_make(2 + i, 1);
    }
    pid_t pid = child_begin(&f, true, (struct injection){ .point = -1 });
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("%s (status %x)", ledger->failure, (unsigned)status);
    for (unsigned i = 0; i < kills; i++)
        life(&f);
    /* The last one is left alone until everything is back. */
    pid = child_begin(&f, false, (struct injection){ .point = -1 });
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    for (unsigned i = 0; i < N_CLIENTS; i++) {
        struct stream *s = &streams[i];
        while ((s->received < s->posted || s->refusals_received < s->refusals_posted) &&
               clock_now_ns() < until)
            if (stream_read(s) == 0)
                sched_yield();
        assert_int_equal(s->received, s->posted);
        assert_int_equal(s->refusals_received, s->refusals_posted);
        assert_true(s->received > 0 && s->refusals_received > 0);
    }
    child_end(pid);
    const struct engine_recovery *sum = &ledger->sum;
    print_message("%u kills, %lu numbers, %lu refusals; found: %lu ports attached, %lu running, "
                  "%lu unflushed, %lu "
                  "armed, %lu locks\n",
                  kills, (unsigned long)total_received(),
                  (unsigned long)(streams[0].refusals_received + streams[1].refusals_received),
                  (unsigned long)sum->ports_attached, (unsigned long)sum->running_handlers,
                  (unsigned long)sum->unflushed_outboxes, (unsigned long)sum->armed_journals,
                  (unsigned long)sum->held_locks);
    for (size_t i = 0; i < sizeof(found) / sizeof(uint64_t); i++)
        ((uint64_t *)&found)[i] += ((const uint64_t *)sum)[i];
    n_backlogged += stat_of(&f, STAT_port_backlogged);
    assert_int_equal(stat_of(&f, STAT_backlog_dropped), 0);
    for (unsigned i = 0; i < N_CLIENTS; i++)
        client_free(&streams[i].client);
    munmap(ledger, sizeof(*ledger));
    close(f.segment_fd);
    close(f.stats_fd);
}

static void test_one_worker(void **state)
{
    (void)state;
    torture(1, 4, 4096, TEST_SCALE(120));
}

static void test_two_workers_short_gulps(void **state)
{
    (void)state;
    torture(2, 4, 20, TEST_SCALE(200));
}

static void test_three_workers(void **state)
{
    (void)state;
    torture(3, 2, 300, TEST_SCALE(200));
}

/* Otherwise the cases above have been lucky, not right. */
static void test_kills_hit_everything(void **state)
{
    (void)state;
    assert_true(n_backlogged > 0);
#ifndef TEST_SANITIZED /* few kills */
    assert_true(found.unflushed_outboxes > 0 && found.held_locks > 0);
#ifdef ODEON_INJECT
    assert_true(found.ports_attached > 0 && found.armed_journals > 0);
#endif
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker),
        cmocka_unit_test(test_two_workers_short_gulps),
        cmocka_unit_test(test_three_workers),
        cmocka_unit_test(test_kills_hit_everything),
    };
    seed = (unsigned)getpid();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
