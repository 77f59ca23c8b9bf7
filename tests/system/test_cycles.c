/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that connect, open a port, post, and are killed: at a random moment, or at a random step
 * of what they do. Whatever one had posted has been received once, and of what it had nothing is
 * left.
 *
 * Each of some slots has a ledger and, one after the other, many clients. A client says in shared
 * memory what it is about to do and what it has done, so that of each it is known what was
 * accepted: everything that was posted, and at most the one record that it was posting. One
 * argument: the number of cycles (tests/cycles.sh).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum {
    SLOTS = 8,
    WARM_WAVES = 8, /* then the base line is taken */
    POSTS_MAX = 10000,
    RING = 1 << 16,
    RANDOM_US = 3000,
    RSS_SLACK_KB = 8192,
};

enum step { STEP_FORKED, STEP_CONNECTING, STEP_OPENING, STEP_POSTING, STEP_DONE, STEP_N };
static const char *const step_names[STEP_N] = { "forked", "connecting", "opening", "posting",
                                                "done" };

struct slot {
    _Atomic uint32_t step;
    _Atomic uint64_t trying, posted;
    /* the test's */
    pid_t pid;
    odeon_ref ledger;
    uint64_t count, sum; /* received so far */
};

static struct service service;
static struct slot *slots;
static struct odeon_client *client;
static struct odeon_port *port;
static uint32_t number_type, ask_type;
static unsigned long cycles = 2000;
static unsigned long at_step[STEP_N], in_doubt;
static uint64_t accepted;

static int setup(void **state)
{
    (void)state;
    slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    assert_ptr_not_equal(slots, MAP_FAILED);
    /* The clients post as fast as they can: on a slow machine that is more than a tenth of a second
     * of work at once, of which some would be refused (quota-waiting-ms), and the books are not
     * about that. */
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, "--set",
                                                   "quotas-bind=all", "--set", "quota-requests=0",
                                                   "--set", "quota-waiting-ms=0", NULL });
    client = service_connect(&service, "cycles");
    port = port_open_or_fail(client, RING, RING, false);
    number_type = message_id(client, odeon_message_of(probe_number));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i].ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_port_close(port);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
    munmap(slots, SLOTS * sizeof(*slots));
    return 0;
}

/* ---- a client ---- */

static void __attribute__((noreturn)) live(struct slot *slot)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING };
    struct odeon_client *own = NULL;
    struct odeon_port *its = NULL;

    atomic_store(&slot->step, STEP_CONNECTING);
    if (odeon_client_connect(service.socket, "short-lived", &own) < 0)
        _exit(1);
    atomic_store(&slot->step, STEP_OPENING);
    if (odeon_port_open(own, &options, &its) < 0)
        _exit(2);
    atomic_store(&slot->step, STEP_POSTING);
    for (uint64_t n = 1; n <= POSTS_MAX; n++) {
        struct probe_number number = { .n = n };

        atomic_store(&slot->trying, n);
        if (odeon_port_post_wait(its, slot->ledger, number_type, &number, sizeof(number),
                                 SECONDS(PATIENCE_S)) < 0)
            _exit(3);
        atomic_store(&slot->posted, n);
    }
    atomic_store(&slot->step, STEP_DONE);
    for (;;)
        pause(); /* until it is killed */
}

static void give_birth(struct slot *slot)
{
    pid_t parent = getpid(), pid;

    atomic_store(&slot->step, STEP_FORKED);
    atomic_store(&slot->trying, 0);
    atomic_store(&slot->posted, 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        slot->pid = pid; /* not in the child: the memory is shared */
        return;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(4);
    live(slot);
}

/* Half of them somewhere, half of them as soon as they have come to a step, or a little later. */
static void kill_somewhere(struct slot *slot)
{
    int64_t end = time_ns();
    int status;

    if (random() % 2)
        end += MILLISECONDS(1) * (random() % RANDOM_US) / 1000;
    else {
        uint32_t step = (uint32_t)(random() % STEP_N);

        assert_true(wait_until(atomic_load(&slot->step) >= step ||
                               waitpid(slot->pid, &status, WNOHANG) != 0));
        end = time_ns() + (random() % 2 ? random() % 300000 : 0);
    }
    while (time_ns() < end)
        ;
    assert_true(slot->pid > 0);
    kill(slot->pid, SIGKILL);
    assert_int_equal(waitpid(slot->pid, &status, 0), slot->pid);
    /* nothing had gone wrong before */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    at_step[atomic_load(&slot->step)]++;
}

/* ---- what is left ---- */

static struct odeon_client_detail *show(void)
{
    struct odeon_client_detail *detail = NULL;
    struct odeon_status *status = NULL;

    assert_int_equal(odeon_service_status(client, &status), 0);
    assert_int_equal(odeon_client_show(client, status->your_id, &detail), 0);
    odeon_result_free(status);
    return detail;
}

/* Nobody but this test has anything: clients, ports, rings, backlogs. */
static bool all_is_back(void)
{
    struct odeon_client_detail *detail = show();
    bool back = true;

    for (size_t i = 0; i < detail->n_usage; i++)
        if (detail->usage[i].client_known && detail->usage[i].user_known)
            back &= detail->usage[i].user == detail->usage[i].client;
    odeon_result_free(detail);
    return back;
}

static void check_books(struct slot *slot)
{
    uint64_t posted = atomic_load(&slot->posted), trying = atomic_load(&slot->trying), more;
    const struct probe_told *told;
    struct odeon_delivery reply;

    assert_int_equal(
        odeon_port_call(port, slot->ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
        ODEON_CALL_REPLY);
    told = reply.data;
    more = told->count - slot->count;
    if (more != posted && more != trying)
        fail_msg("of %llu records that a client had posted (%llu tried) %llu were received",
                 (unsigned long long)posted, (unsigned long long)trying, (unsigned long long)more);
    /* they were numbered from 1: none twice in the place of another */
    assert_true(told->sum - slot->sum == more * (more + 1) / 2);
    slot->count = told->count;
    slot->sum = told->sum;
    accepted += more;
    in_doubt += trying != posted;
    odeon_port_release(port);
}

static void wave(void)
{
    /* some live beside others, some come when it is their turn */
    unsigned early = (unsigned)random();

    for (unsigned i = 0; i < SLOTS; i++)
        if (early & 1U << i)
            give_birth(&slots[i]);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (!(early & 1U << i))
            give_birth(&slots[i]);
        kill_somewhere(&slots[i]);
    }
    assert_true(wait_until(all_is_back()));
    for (unsigned i = 0; i < SLOTS; i++)
        check_books(&slots[i]);
}

/* What a process has. */
struct holdings {
    unsigned descriptors, mappings;
    unsigned long rss_kb;
};

static struct holdings holdings_of(pid_t pid)
{
    struct holdings h = { 0 };
    char path[64], line[512];
    FILE *file;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        h.descriptors++;
    closedir(dir);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        h.mappings += strstr(line, "odeon-port") != NULL;
    fclose(file);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        (void)sscanf(line, "VmRSS: %lu kB", &h.rss_kb);
    fclose(file);
    assert_true(h.rss_kb > 0);
    return h;
}

static bool is_like(pid_t pid, struct holdings before)
{
    struct holdings now = holdings_of(pid);

    /* fewer: the last ones of the wave before the base line were being closed when it was taken */
    return now.descriptors <= before.descriptors && now.mappings <= before.mappings &&
           now.rss_kb <= before.rss_kb + RSS_SLACK_KB;
}

static void expect_like(const char *who, pid_t pid, struct holdings before)
{
    struct holdings now;

    if (wait_until(is_like(pid, before)))
        return;
    now = holdings_of(pid);
    fail_msg("%s has %u descriptors, %u mapped pieces of ports and %lu KiB; it began with %u, %u "
             "and %lu",
             who, now.descriptors, now.mappings, now.rss_kb, before.descriptors, before.mappings,
             before.rss_kb);
}

static void test_cycles(void **state)
{
    pid_t executor = service_executor(&service);
    struct holdings supervisors, executors;
    uint64_t actors;
    int64_t begin;

    (void)state;
    for (unsigned i = 0; i < WARM_WAVES; i++)
        wave();
    supervisors = holdings_of(service.pid);
    executors = holdings_of(executor);
    actors = service_figure(&service, "actors_created") - service_figure(&service, "actors_ended");
    begin = time_ns();
    for (unsigned long n = 0; n < cycles; n += SLOTS)
        wave();
    print_message("# cycles=%lu seconds=%.1f accepted=%llu in_doubt=%lu", cycles,
                  (double)(time_ns() - begin) / 1e9, (unsigned long long)accepted, in_doubt);
    for (unsigned i = 0; i < STEP_N; i++)
        print_message(" killed_%s=%lu", step_names[i], at_step[i]);
    print_message("\n");
    expect_like("odeond", service.pid, supervisors);
    expect_like("the executor", executor, executors);
    assert_true(service_figure(&service, "actors_created") -
                    service_figure(&service, "actors_ended") ==
                actors);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    for (unsigned i = STEP_CONNECTING; i < STEP_N; i++)
        assert_true(at_step[i] > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cycles) };

    if (getenv("ODEON_TEST_QUICK"))
        cycles = 400;
    if (argc > 1)
        cycles = strtoul(argv[1], NULL, 10);
    if (argc > 2 || cycles == 0) {
        fprintf(stderr, "usage: %s [CYCLES]\n", argv[0]);
        return 2;
    }
    srandom((unsigned)time_ns());
    return cmocka_run_group_tests_name("cycles", tests, setup, teardown);
}
