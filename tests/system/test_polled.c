/* SPDX-License-Identifier: Apache-2.0 */
/* The poller of a polled queue (daemon/engine/run/polled.h) is stopped, hangs, or is killed, over
 * the real service, while clients post to that queue: nothing is lost, all is in order, and what
 * others can do is done meanwhile. The owner words are looked at in the engine's segment, so each
 * of these tests knows that the queue was polled when it happened.
 *
 * The whole executor is stopped by SIGSTOP; the kernel has no signal that stops one thread alone,
 * so a worker is stopped as a debugger does it (ptrace). To the others that is a thread that has no
 * processor. No time is asserted: a worker searches for a second at a time here, and where it has
 * gone to sleep before it was stopped, the test begins again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/segment/owner.h"
#include "proto/segment_layout.h"
#include "proto/stats_layout.h"
#include "tests/system/harness.h"
#include "tests/system/stuck.h"

/* POLLED is in the queue that is polled by worker POLLER, and MATE with it; FIXED and FIXED_MATE
 * are pinned to that worker, OTHER to the other one, whose port is used. */
enum { POLLED, MATE, FIXED, FIXED_MATE, OTHER, ACTORS };
enum { SERVER, POLLER };
enum { QUEUES_PER_WORKER = 2, EACH = 50, TRIES_MAX = 100 };

static const char *const modes[] = { "keep", "visit" };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port; /* the first one: worker SERVER's */
static struct stuck_page *page;
static const struct segment_header *segment;
static const struct stats_header *stats;
static char page_path[96];
static uint32_t count_type, hang_type, queues[ACTORS];
static odeon_ref actors[ACTORS];
static uint64_t posted[ACTORS];

/* ---- what is looked at ---- */

static void *map_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    void *at = size < 0 ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        fail_msg("%s: %s", path, strerror(errno));
    close(fd);
    return at;
}

/* The memory file that the executor has of the engine's segment: odeond keeps it over the
 * executor's ends. */
static void segment_map(void)
{
    char folder[64], path[400], target[64];
    DIR *descriptors;

    snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)service_executor(&service));
    descriptors = opendir(folder);
    assert_non_null(descriptors);
    segment = NULL;
    for (struct dirent *entry; !segment && (entry = readdir(descriptors)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);

        target[n < 0 ? 0 : n] = 0;
        if (strstr(target, "odeon-segment"))
            segment = map_file(path);
    }
    closedir(descriptors);
    assert_non_null(segment);
}

static const struct segment_queue *queue_at(uint32_t id)
{
    return (const struct segment_queue *)((const char *)segment + segment->queues_offset) + id;
}

static uint64_t own_of(uint32_t actor)
{
    return atomic_load(&queue_at(queues[actor])->own);
}

/* What has been appended to its queue and not taken. */
static uint64_t waits_for(uint32_t actor)
{
    const struct segment_queue *queue = queue_at(queues[actor]);

    return atomic_load(&queue->len[atomic_load(&queue->sel) & SEL_ACTIVE]);
}

static const struct stats_worker *stats_of(uint32_t worker)
{
    return (const struct stats_worker *)((const char *)stats + STATS_WORKER_OFFSET) + worker;
}

static uint64_t searches(uint32_t worker)
{
    return atomic_load(&stats_of(worker)->value[STAT_searches]);
}

static uint64_t counted(uint32_t actor)
{
    return atomic_load(&page->counted[actor]);
}

/* ---- the service ---- */

static uint32_t queue_of(odeon_ref ref)
{
    struct odeon_actor_detail *detail;
    uint32_t queue;

    assert_int_equal(odeon_actor_show(client, ref, NULL, &detail), 0);
    queue = detail->actor.queue;
    odeon_result_free(detail);
    return queue;
}

static void spawn_one(uint32_t index, enum odeon_where where, uint32_t worker)
{
    struct odeon_spawn_where place = { .struct_size = sizeof(place),
                                       .where = where,
                                       .worker = worker };
    struct stuck_args args = { .index = index };

    memcpy(args.page, page_path, sizeof(args.page));
    if (odeon_actor_spawn_at(client, "stuck_hanger", NULL, &args, sizeof(args), &place,
                             &actors[index]) < 0)
        fail_msg("spawning: %s", odeon_error_text());
    queues[index] = queue_of(actors[index]);
}

/* Actors go round the queues: those in other ones are left alone. */
static void spawn_until(uint32_t index, uint32_t first, uint32_t n)
{
    unsigned tries = 0;

    do {
        assert_true(tries++ < 64);
        spawn_one(index, ODEON_WHERE_ANY, 0);
    } while (queues[index] < first || queues[index] >= first + n);
}

/* With sources that go home behind a visit: so what is whose is known. */
static void begin(void)
{
    service_start(&service,
                  (const char *const[]){ "--set", "workers=2", "--set", "workers-max=2", "--set",
                                         "queues-per-worker=2", "--set", "actors=1024", "--set",
                                         "affinity=none", "--set", "spin-us=1000000", "--set",
                                         "stall-warn-ms=0", "--set", "steal-mode=visit", "--plugin",
                                         TEST_STUCK, NULL });
    client = service_connect(&service, "polled");
    port = port_open_or_fail(client, 0, 0, false);
    count_type = message_id(client, odeon_message_of(stuck_count));
    hang_type = message_id(client, odeon_message_of(stuck_hang));
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
    segment_map();
    stats = map_file(service.stats);
    assert_int_equal(segment->queues_per_worker, QUEUES_PER_WORKER);
    spawn_until(POLLED, POLLER * QUEUES_PER_WORKER, QUEUES_PER_WORKER);
    spawn_until(MATE, queues[POLLED], 1);
    spawn_one(FIXED, ODEON_WHERE_PINNED, POLLER);
    spawn_one(FIXED_MATE, ODEON_WHERE_PINNED, POLLER);
    spawn_one(OTHER, ODEON_WHERE_PINNED, SERVER);
    assert_int_equal(queues[FIXED], queues[FIXED_MATE]);
    memset(posted, 0, sizeof(posted));
}

static void end(void)
{
    assert_int_equal(atomic_load(&page->out_of_order), 0);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    munmap(page, sizeof(*page));
    service_end(&service);
}

static void post(uint32_t actor, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct stuck_count count = { .n = ++posted[actor] };

        assert_int_equal(odeon_port_post_wait(port, actors[actor], count_type, &count,
                                              sizeof(count), SECONDS(PATIENCE_S)),
                         0);
    }
}

static bool has_all(uint32_t actor)
{
    return counted(actor) == posted[actor];
}

static void set_mode(const char *mode)
{
    char text[512], words[32];

    snprintf(words, sizeof(words), "steal-mode=%s", mode);
    if (ctl_set(&service, text, sizeof(text), words) != 0)
        fail_msg("%s: %s", words, text);
}

/* Is run at once, and its queue is polled then; the worker may have gone to sleep since. What has
 * been stolen meanwhile, the port, too, has gone home. */
static bool is_polled_after_one(uint32_t actor)
{
    post(actor, 1);
    assert_true(wait_until(has_all(actor)));
    return wait_until_within(1, own_of(actor) == own_polled(POLLER));
}

/* A machine that never lets a worker poll while it is looked at shows nothing here. */
static bool may_try(unsigned *tries)
{
    if ((*tries)++ < TRIES_MAX)
        return true;
    print_message("# no worker was seen to poll in %d tries\n", TRIES_MAX);
    return false;
}

static bool comes_to_poll(uint32_t actor)
{
    for (unsigned tries = 0; may_try(&tries);)
        if (is_polled_after_one(actor))
            return true;
    return false;
}

static void end_untold(void)
{
    atomic_store(&page->release, 1);
    end();
    skip();
}

/* ---- a worker that stands still ---- */

static pid_t stopped; /* 0: none */

/* False: nobody may do so here. */
static bool worker_stop(uint32_t worker)
{
    pid_t thread = (pid_t)atomic_load(&stats_of(worker)->thread);
    int status;

    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0) {
        print_message("# a thread cannot be stopped here: %s\n", strerror(errno));
        return false;
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    assert_int_equal(waitpid(thread, &status, __WALL), thread);
    assert_true(WIFSTOPPED(status));
    stopped = thread;
    return true;
}

static void worker_go_on(void)
{
    assert_int_equal(ptrace(PTRACE_DETACH, stopped, NULL, NULL), 0);
    stopped = 0;
}

/* Its zombie would keep odeond waiting. */
static void worker_reap(void)
{
    int status;

    while (waitpid(stopped, &status, __WALL) == stopped && WIFSTOPPED(status))
        ;
    stopped = 0;
}

/* Is the other one the searcher, of whom there is one at a time? */
static bool server_searches(void)
{
    uint64_t before = searches(SERVER);

    return wait_until_within(1, searches(SERVER) > before);
}

/* Does the other one have the port? In mode `keep` the poller may have taken it along: a bell that
 * is heard late sets its bit, and whoever finds that has it from then on. */
static bool server_has_the_port(void)
{
    post(OTHER, 1);
    return wait_until_within(1, has_all(OTHER));
}

/* Stops the worker while it polls the actor's queue and the other one searches, and has the port,
 * in the mode; again until it is so. False: it does not come to that here. */
static bool stop_polling(uint32_t actor, const char *mode)
{
    for (unsigned tries = 0; may_try(&tries);) {
        bool polls = is_polled_after_one(actor);

        set_mode(mode);
        polls = polls && wait_until_within(1, own_of(actor) == own_polled(POLLER));
        if (!worker_stop(POLLER))
            return false;
        if (polls && own_of(actor) == own_polled(POLLER) && server_has_the_port() &&
            server_searches())
            return true;
        worker_go_on();
        assert_true(wait_until(has_all(OTHER)));
        set_mode("visit");
    }
    return false;
}

/* ---- the tests ---- */

/* Everything stands; what comes meanwhile stays in the ring, and is run when it goes on. */
static void test_the_executor_is_stopped(void **state)
{
    unsigned polled = 0;

    (void)state;
    begin();
    pid_t executor = service_executor(&service);
    for (unsigned round = 0, tries = 0; polled < 10 && may_try(&tries); round++) {
        uint32_t actor = round % 2 ? POLLED : FIXED;
        bool polls = is_polled_after_one(actor);

        process_stop(executor);
        polled += polls && own_of(actor) == own_polled(POLLER);
        for (uint32_t i = 0; i < ACTORS; i++)
            post(i, EACH);
        assert_int_equal(counted(actor), posted[actor] - EACH);
        assert_int_equal(kill(executor, SIGCONT), 0);
        for (uint32_t i = 0; i < ACTORS; i++)
            assert_true(wait_until(has_all(i)));
    }
    assert_int_equal(service_executor(&service), executor);
    if (polled == 0)
        end_untold();
    end();
}

/* The poller stands still, and goes on when all has been run. False: it had to go on before. */
static bool is_taken_from_the_poller(const char *mode, int patience_s)
{
    bool taken;

    if (!stop_polling(POLLED, mode))
        end_untold();
    for (uint32_t i = 0; i < EACH; i++) {
        post(POLLED, 1);
        post(MATE, 2);
        post(OTHER, 1);
    }
    taken = wait_until_within(patience_s, has_all(POLLED) && has_all(MATE) && has_all(OTHER));
    worker_go_on();
    assert_true(wait_until(has_all(POLLED) && has_all(MATE) && has_all(OTHER)));
    return taken;
}

/* A queue that others may take: they find it though it has no bit, and run all of it meanwhile.
 * A thread that is stopped within ThreadSanitizer, which has locks of its own, may hold up all
 * others: there it is tried again for as long as a test has patience, and has to be so once. */
static void test_a_stopped_pollers_queue_is_taken(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 2; mode++) {
        int64_t end_ns = time_ns() + SECONDS(PATIENCE_S);

        begin();
        while (!is_taken_from_the_poller(modes[mode], SIGNALS_ARRIVE ? PATIENCE_S : 20)) {
            assert_true(!SIGNALS_ARRIVE && time_ns() < end_ns);
            set_mode("visit");
        }
        for (uint32_t i = 0; i < ACTORS; i++)
            post(i, EACH);
        for (uint32_t i = 0; i < ACTORS; i++)
            assert_true(wait_until(has_all(i)));
        end();
    }
}

/* A queue that is its worker's alone waits for it, and nothing else does. */
static void test_a_stopped_pollers_fixed_queue_waits(void **state)
{
    (void)state;
    begin();
    if (!stop_polling(FIXED, "visit"))
        end_untold();
    post(FIXED, EACH);
    post(FIXED_MATE, EACH);
    post(OTHER, EACH);
    assert_true(wait_until(has_all(OTHER)));
    assert_true(wait_until(waits_for(FIXED) > 0));
    assert_int_equal(own_of(FIXED), own_polled(POLLER)); /* and so without a bit */
    assert_int_equal(counted(FIXED), posted[FIXED] - EACH);
    worker_go_on();
    for (uint32_t i = 0; i < ACTORS; i++)
        assert_true(wait_until(has_all(i)));
    end();
}

/* The first message that a poller finds, in the queue that it polls or in another one, does not
 * return: it polls nothing then, and the worker's other queues are served. */
static void test_a_poller_hangs(void **state)
{
    (void)state;
    begin();
    for (unsigned round = 0; round < 10; round++) {
        struct stuck_hang hang = { .blocks = round % 2 || !SIGNALS_ARRIVE };

        atomic_store(&page->release, 0);
        if (!comes_to_poll(round % 4 < 2 ? FIXED : POLLED))
            end_untold();
        assert_int_equal(odeon_port_post(port, actors[FIXED], hang_type, &hang, sizeof(hang)), 0);
        post(FIXED, EACH);
        post(FIXED_MATE, EACH);
        post(POLLED, EACH);
        post(MATE, EACH);
        post(OTHER, EACH);
        assert_true(wait_until(has_all(POLLED) && has_all(MATE) && has_all(OTHER)));
        assert_true(wait_until(atomic_load(&page->entered) == round + 1));
        assert_int_equal(own_of(FIXED), own_running(POLLER));
        assert_int_equal(counted(FIXED), posted[FIXED] - EACH);
        assert_int_equal(counted(FIXED_MATE), posted[FIXED_MATE] - EACH);
        atomic_store(&page->release, 1);
        assert_true(wait_until(has_all(FIXED) && has_all(FIXED_MATE)));
    }
    end();
}

static void kill_and_wait(void)
{
    pid_t executor = service_executor(&service);

    assert_int_equal(kill(executor, SIGKILL), 0);
    if (stopped)
        worker_reap();
    service_wait_executor(&service, executor);
}

/* What has been appended to a polled queue has no bit anywhere when the executor is killed: the
 * next one finds it, and runs it once. The mate, which has run nothing yet, counts from 1 on. */
static void test_the_executor_is_killed(void **state)
{
    (void)state;
    begin();
    for (unsigned tries = 0;; worker_go_on()) {
        if (!may_try(&tries) || !stop_polling(FIXED, "visit"))
            end_untold();
        post(FIXED_MATE, EACH);
        /* the port may be the poller's all the same, and is served by who searches, but not by who
         * has gone to sleep since */
        if (wait_until_within(5, waits_for(FIXED) > 0))
            break;
    }
    assert_int_equal(own_of(FIXED), own_polled(POLLER));
    kill_and_wait();
    assert_true(wait_until(has_all(FIXED_MATE)));
    post(FIXED_MATE, EACH);
    assert_true(wait_until(has_all(FIXED_MATE)));
    end();
}

/* The same of one that stands still as a whole, with all of it in the ring. */
static void test_a_stopped_executor_is_killed(void **state)
{
    bool polled = false;

    (void)state;
    begin();
    for (unsigned tries = 0; !polled;) {
        if (!may_try(&tries))
            end_untold();
        polled = is_polled_after_one(POLLED);
        process_stop(service_executor(&service));
        polled = polled && own_of(POLLED) == own_polled(POLLER);
        if (!polled)
            assert_int_equal(kill(service_executor(&service), SIGCONT), 0);
    }
    post(MATE, EACH);
    kill_and_wait();
    assert_true(wait_until(has_all(MATE)));
    post(MATE, EACH);
    assert_true(wait_until(has_all(MATE)));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_executor_is_stopped),
        cmocka_unit_test(test_a_stopped_pollers_queue_is_taken),
        cmocka_unit_test(test_a_stopped_pollers_fixed_queue_waits),
        cmocka_unit_test(test_a_poller_hangs),
        cmocka_unit_test(test_the_executor_is_killed),
        cmocka_unit_test(test_a_stopped_executor_is_killed),
    };

    return cmocka_run_group_tests_name("polled queues", tests, NULL, NULL);
}
