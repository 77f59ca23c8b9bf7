/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing left: each call of odeond and of the executor for memory, a descriptor, a thread, a
 * process fails in turn, in each part of their lives (shortage.h). Whatever it was: a clean error
 * to the client, or an end with a word in the log and another start; never a crash, never a hang,
 * and nothing lost that was accepted. And none of these calls is on the way of a message.
 *
 *   test_system_shortage                        calls of a sample of places, as in the test run
 *   test_system_shortage --all [PART/PARTS [SCENE]]  every call; a part of them, for several at a
 *                                                    time
 *   test_system_shortage --call SCENE NUMBER    that one */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"
#include "tests/system/shortage.h"

enum { NUMBERS = 40, LIFE_S = 3 * PATIENCE_S };

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=10",
                                         "--set",
                                         "drain-timeout-ms=500",
                                         NULL };

static struct manager *manager;
static struct shortage_page *page;
static char page_path[96];

/* ---- a client's whole life */

enum life { LIFE_GOOD, LIFE_ERROR, LIFE_LOST };
struct life_report {
    char text[400];
    unsigned accepted, back, refused;
};
static struct life_report *report; /* shared with the child that lives it */

static enum life life_ends(const char *step, int r)
{
    snprintf(report->text, sizeof(report->text), "%s: %s (%s)", step, strerror(-r),
             odeon_error_text());
    return LIFE_ERROR;
}

/* All that was accepted comes back, in order, or is refused, unless the port is closed. */
static enum life life_receive(struct odeon_port *port)
{
    uint64_t last = 0;

    while (report->back + report->refused < report->accepted) {
        struct odeon_delivery delivery;
        int r = odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S));

        if (r == 0) /* nothing has come in all that time */
            return LIFE_LOST;
        if (r < 0)
            return life_ends("receiving", r);
        if (delivery.type == ODEON_MSG_REFUSAL) {
            report->refused++;
        } else {
            const struct probe_number *number = delivery.data;

            if (number->n <= last)
                return LIFE_LOST;
            last = number->n;
            report->back++;
        }
        odeon_port_release(port);
    }
    if (report->refused == 0)
        return LIFE_GOOD;
    snprintf(report->text, sizeof(report->text), "%u of %u were refused", report->refused,
             report->accepted);
    return LIFE_ERROR;
}

static enum life life_port(struct odeon_client *client, odeon_ref relay, uint32_t type)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = 1 << 16,
                                          .delivery_bytes = 1 << 16,
                                          .pipe = 1 };
    struct odeon_port *port = NULL;
    enum life how;
    int r = odeon_port_open(client, &options, &port);

    if (r < 0)
        return life_ends("port", r);
    for (uint64_t n = 1; n <= NUMBERS; n++) {
        struct probe_number number = { .n = n };

        r = odeon_port_post_wait(port, relay, type, &number, sizeof(number), SECONDS(PATIENCE_S));
        if (r < 0)
            break;
        report->accepted++;
    }
    how = life_receive(port);
    if (how == LIFE_GOOD && r < 0)
        how = life_ends("posting", r);
    odeon_port_close(port);
    return how;
}

static enum life life_admin(struct odeon_client *client)
{
    struct odeon_status *status = NULL;
    struct odeon_list *list = NULL;
    int r;

    if ((r = odeon_service_status(client, &status)) < 0)
        return life_ends("status", r);
    odeon_result_free(status);
    if ((r = odeon_actor_list(client, NULL, 0, 100, &list)) < 0)
        return life_ends("list", r);
    odeon_list_free(list);
    if ((r = odeon_executor_set(client, (const char *const[]){ "throughput" },
                                (const char *const[]){ "32" }, 1, NULL)) < 0)
        return life_ends("setting", r);
    r = odeon_plugin_load(client, TEST_PASSER);
    if (r < 0 && r != -EEXIST) /* a life before this one may have had to leave it */
        return life_ends("plugin", r);
    if ((r = odeon_plugin_unload(client, "passer")) < 0)
        return life_ends("unload", r);
    return LIFE_GOOD;
}

static enum life life_with(struct odeon_client *client)
{
    odeon_ref echo = ODEON_NOBODY, relay = ODEON_NOBODY;
    uint32_t type = 0;
    enum life how;
    int r;

    if ((r = odeon_message_id(client, odeon_message_of(probe_number), &type)) < 0)
        return life_ends("message type", r);
    if ((r = odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo)) < 0)
        return life_ends("spawn", r);
    r = odeon_actor_spawn(client, "probe_relay", NULL, &echo, sizeof(echo), &relay);
    how = r < 0 ? life_ends("second spawn", r) : life_port(client, relay, type);
    if (how == LIFE_GOOD)
        how = life_admin(client);
    if (relay != ODEON_NOBODY && (r = odeon_actor_stop(client, relay, ODEON_DELETE)) < 0 &&
        how == LIFE_GOOD)
        how = life_ends("stop", r);
    if ((r = odeon_actor_stop(client, echo, ODEON_DELETE)) < 0 && how == LIFE_GOOD)
        how = life_ends("second stop", r);
    return how;
}

static enum life life(const char *socket)
{
    struct odeon_client *client = NULL;
    enum life how;
    int r = odeon_client_connect(socket, "life", &client);

    if (r < 0)
        return life_ends("connecting", r);
    (void)odeon_client_set_patience(client, SECONDS(10));
    how = life_with(client);
    odeon_client_disconnect(client);
    return how;
}

/* In a process of its own, so that one that hangs or crashes is seen as such. */
static enum life live(void)
{
    const char *socket = manager_service(manager)->socket;
    int status;
    pid_t pid;

    memset(report, 0, sizeof(*report));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(LIFE_S);
        _exit((int)life(socket));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        fail_msg("%s: the client has %s", page->where,
                 WTERMSIG(status) == SIGALRM ? "hung" : "crashed");
    if (WEXITSTATUS(status) == LIFE_LOST)
        fail_msg("%s: %u of %u accepted messages came back", page->where, report->back,
                 report->accepted);
    return (enum life)WEXITSTATUS(status);
}

/* ---- what is tried */

static unsigned errors, ends, libraries, crashes; /* what became of the failures of this scene */
static struct {
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref echo;
    uint32_t type;
    uint64_t posted, back;
} bystander; /* there all the time; what it posts outlives whoever fails */

static void bystander_begin(void)
{
    const struct service *service = manager_service(manager);

    bystander.client = service_connect(service, "bystander");
    bystander.port = port_open_or_fail(bystander.client, 1 << 16, 1 << 16, false);
    bystander.type = message_id(bystander.client, odeon_message_of(probe_number));
    bystander.echo = spawn(bystander.client, "probe_echo", NULL, NULL, 0);
    bystander.posted = bystander.back = 0;
}

static void bystander_post(void)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        struct probe_number number = { .n = bystander.posted + 1 };

        assert_int_equal(odeon_port_post_wait(bystander.port, bystander.echo, bystander.type,
                                              &number, sizeof(number), SECONDS(PATIENCE_S)),
                         0);
        bystander.posted++;
    }
}

/* Each number comes back, or is refused: an actor whose state cannot be had again has ended, which
 * is an error that is told. */
static void bystander_receive(void)
{
    unsigned refused = 0;

    while (bystander.back < bystander.posted) {
        struct odeon_delivery delivery;
        int r = odeon_port_receive_wait(bystander.port, &delivery, SECONDS(PATIENCE_S));

        if (r != 1)
            fail_msg("%s: number %llu of %llu does not come back: %s", page->where,
                     (unsigned long long)bystander.back + 1, (unsigned long long)bystander.posted,
                     r == 0 ? "nothing comes" : odeon_error_text());
        bystander.back++;
        if (delivery.type == ODEON_MSG_REFUSAL)
            refused++;
        else if (delivery.type != bystander.type ||
                 ((const struct probe_number *)delivery.data)->n != bystander.back)
            fail_msg("%s: a delivery of type %u instead of number %llu", page->where, delivery.type,
                     (unsigned long long)bystander.back);
        odeon_port_release(bystander.port);
    }
    if (refused > 0) {
        errors++;
        bystander.echo = spawn(bystander.client, "probe_echo", NULL, NULL, 0);
    }
}

static struct service *fresh_figures(void)
{
    struct service *service = manager_service(manager);

    service->figures = odeon_stats_close(service->figures);
    return service;
}

/* Until a whole life goes well. */
static void serve_again(void)
{
    int64_t end = time_ns() + SECONDS(PATIENCE_S);

    while (live() != LIFE_GOOD) {
        if (time_ns() > end)
            fail_msg("%s: the service does not serve: %s", page->where, report->text);
        pause_briefly();
    }
}

static void act_life(void)
{
    if (live() != LIFE_GOOD)
        errors++;
}

static void act_executor(void)
{
    struct service *service = manager_service(manager);
    pid_t executor = service_executor(service);

    bystander_post();
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(service, executor);
}

static void act_return(void)
{
    bystander_post();
    manager_kill(manager);
}

static void act_first_start(void)
{
    manager_start_again(manager);
}

static const struct scene {
    const char *name;
    enum shortage_program victim;
    void (*act)(void);
    bool first; /* begins with nothing: no bystander */
    unsigned sample;
} scenes[] = {
    { "odeond-begins", SHORTAGE_ODEOND, act_first_start, true, 8 },
    { "executor-begins", SHORTAGE_EXECUTOR, act_first_start, true, 8 },
    { "odeond-returns", SHORTAGE_ODEOND, act_return, false, 8 },
    { "executor-recovers", SHORTAGE_EXECUTOR, act_executor, false, 8 },
    { "odeond-serves", SHORTAGE_ODEOND, act_life, false, 24 },
    { "executor-serves", SHORTAGE_EXECUTOR, act_life, false, 24 },
};
enum { N_SCENES = sizeof(scenes) / sizeof(scenes[0]) };

static unsigned executor_crashes(void)
{
    const struct service *service = manager_service(manager);

    return service_log_count(service, "has died: signal ") -
           service_log_count(service, "has died: signal 9 ");
}

/* What others have written does not take it well, and the end of the process is what comes of it:
 * hwloc does not look at what malloc() returns, libuv calls abort() when epoll has no room, and in
 * a child that has just been forked when there is no pipe; and the C library crashes where it has
 * no memory for its own list of where groups are looked up. */
static bool foreign(void)
{
    const char *caller = strstr(page->where, " < ");

    return caller &&
           (strncmp(caller, " < libhwloc", 11) == 0 || strncmp(caller, " < libuv", 8) == 0 ||
            (strncmp(caller, " < libc.", 8) == 0 && strstr(page->where, " (getgrnam_r)")));
}

/* One time, with the call that fails, or none (0).  Whether that call was reached. */
static bool try_call(const struct scene *scene, uint64_t call)
{
    unsigned before, odeond_crashes = manager_crashes(manager), starts;

    if (scene->first) {
        assert_int_equal(manager_stop(manager), 0);
        remove(manager_service(manager)->log);
    }
    before = scene->first ? 0 : executor_crashes();
    starts = manager_starts(manager);
    atomic_store(&page->failed, 0);
    atomic_store(&page->calls, 0);
    atomic_store(&page->fail_at, call);
    snprintf(page->where, sizeof(page->where), "%s: call %llu", scene->name,
             (unsigned long long)call);
    atomic_store(&page->victim, scene->victim);
    scene->act();
    if (scene->act != act_life)
        serve_again();
    atomic_store(&page->victim, SHORTAGE_NOBODY);
    serve_again();
    fresh_figures();
    if (!scene->first)
        bystander_receive();
    if (executor_crashes() > before || manager_crashes(manager) > odeond_crashes) {
        *(foreign() ? &libraries : &crashes) += 1;
        printf("# %s, %s: a crash\n", scene->name, page->where);
    }
    ends += manager_starts(manager) - starts - (scene->first || scene->act == act_return);
    return atomic_load(&page->failed);
}

/* ---- which calls */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The first call of each place from which one is made, ascending. */
static uint32_t list_calls(const struct scene *scene, uint64_t *calls)
{
    uint32_t n = 0;

    memset(page->sites, 0, sizeof(page->sites));
    atomic_store(&page->n_sites, 0);
    atomic_store(&page->list, 1);
    assert_false(try_call(scene, 0));
    atomic_store(&page->list, 0);
    for (uint32_t i = 0; i < SHORTAGE_SITES_MAX; i++)
        if (atomic_load(&page->sites[i].key))
            calls[n++] = page->sites[i].call;
    qsort(calls, n, sizeof(*calls), compare);
    return n;
}

static void begin_scene(const struct scene *scene)
{
    errors = ends = libraries = crashes = 0;
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    manager_wait_ready(manager);
    serve_again(); /* what is taken once, is */
    if (!scene->first)
        bystander_begin();
}

static void end_scene(const struct scene *scene, unsigned tried, unsigned failed, uint32_t places)
{
    printf("# shortage=%s places=%u tried=%u failed=%u errors=%u ends=%u libraries=%u\n",
           scene->name, places, tried, failed, errors, ends, libraries);
    assert_int_equal(crashes, 0);
    if (!scene->first)
        odeon_client_disconnect(bystander.client);
    assert_int_equal(manager_stop(manager), 0);
    manager = manager_end(manager);
}

static void run_sample(const struct scene *scene)
{
    static uint64_t calls[SHORTAGE_SITES_MAX];
    unsigned sample = getenv("ODEON_TEST_QUICK") ? scene->sample / 4 : scene->sample, failed = 0;
    uint32_t n;

    begin_scene(scene);
    n = list_calls(scene, calls);
    assert_true(n > 10);
    for (unsigned i = 0; i < sample; i++)
        failed += try_call(scene, calls[(uint64_t)i * n / sample]);
    end_scene(scene, sample, failed, n);
    /* a call's number may be another thread's the next time, or not come */
    assert_true(failed > 0);
}

static void test_sample(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_SCENES; i++)
        run_sample(&scenes[i]);
}

/* Until the last is behind us: none was reached ten times in a row. */
static void run_all(const struct scene *scene, unsigned part, unsigned parts)
{
    static uint64_t calls[SHORTAGE_SITES_MAX];
    unsigned tried = 0, failed = 0;
    uint32_t n;

    begin_scene(scene);
    n = list_calls(scene, calls);
    for (uint64_t call = 1 + part, missed = 0; missed < 10; call += parts) {
        bool reached = try_call(scene, call);

        tried++;
        failed += reached;
        missed = reached ? 0 : missed + 1;
    }
    end_scene(scene, tried, failed, n);
}

static const char *only_scene;
static unsigned only_part, parts = 1;

static void test_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_SCENES; i++)
        if (!only_scene || strcmp(scenes[i].name, only_scene) == 0)
            run_all(&scenes[i], only_part, parts);
}

static uint64_t only_call;

static void test_call(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_SCENES; i++)
        if (strcmp(scenes[i].name, only_scene) == 0) {
            bool reached;

            begin_scene(&scenes[i]);
            reached = try_call(&scenes[i], only_call);
            printf("# %s: %s\n", reached ? "failed" : "not reached", page->where);
            end_scene(&scenes[i], 1, reached, 0);
        }
}

/* ---- none on the way of a message */

static void test_no_allocation_on_the_way(void **state)
{
    /* each is three */
    uint64_t messages = getenv("ODEON_TEST_QUICK") ? 20000 : 350000, before, after;
    static struct numbers numbers;
    struct service *service;

    (void)state;
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    manager_wait_ready(manager);
    service = manager_service(manager);
    numbers_start(&numbers, service, 64);
    numbers_wait(&numbers, 20000);
    before = atomic_load(&page->allocations[SHORTAGE_EXECUTOR]);
    numbers_wait(&numbers, messages);
    after = atomic_load(&page->allocations[SHORTAGE_EXECUTOR]);
    assert_true(before > 0);
    printf("# allocations of the executor within %llu messages: %llu\n",
           (unsigned long long)messages * 3, (unsigned long long)(after - before));
    assert_true(after - before == 0);
    numbers_finish(&numbers);
    assert_int_equal(manager_stop(manager), 0);
    manager = manager_end(manager);
}

static int setup(void **state)
{
    const char *parent = getenv("TMPDIR");
    int fd;

    (void)state;
    snprintf(page_path, sizeof(page_path), "%.60s/odeon-shortage-XXXXXX", parent ? parent : "/tmp");
    fd = mkostemp(page_path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(*page)), 0);
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED && report != MAP_FAILED);
    close(fd);
    setenv(SHORTAGE_ENVIRONMENT, page_path, 1);
    setenv("LD_PRELOAD", TEST_SHORTAGE, 1); /* for odeond, which hands it on to the executor */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(page_path);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_allocation_on_the_way),
                                        cmocka_unit_test(test_sample) };
    const struct CMUnitTest all[] = { cmocka_unit_test(test_all) },
                            one[] = { cmocka_unit_test(test_call) };

    if (argc == 4 && strcmp(argv[1], "--call") == 0) {
        only_scene = argv[2];
        only_call = strtoull(argv[3], NULL, 10);
        return cmocka_run_group_tests_name("shortage", one, setup, teardown);
    }
    if (argc >= 2 && strcmp(argv[1], "--all") == 0) {
        only_scene = argc >= 4 ? argv[3] : NULL;
        if (argc >= 3 && (sscanf(argv[2], "%u/%u", &only_part, &parts) != 2 || only_part >= parts))
            return 2;
        return cmocka_run_group_tests_name("shortage", all, setup, teardown);
    }
    return cmocka_run_group_tests_name("shortage", tests, setup, teardown);
}
