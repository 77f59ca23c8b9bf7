/* SPDX-License-Identifier: Apache-2.0 */
/* A service whose processors come and go: where its threads may run, as the kernel says, is where
 * its settings and its statistics have them. In a cpuset of the test's own, of either version.
 * Needs root, two processors, and a kernel that lets it make groups. */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/stuck.h"

static struct service service;
static char group[96], home[256], output[4096];
static const char *lent; /* whose groups have them since this test has said so */
static cpu_set_t before;
static int first, second; /* the two processors of the group */

/* ---- the group */

static bool group_write(const char *folder, const char *file, const char *text)
{
    char path[512];
    FILE *f;
    bool done;

    if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
        return false;
    f = fopen(path, "we");
    if (!f)
        return false;
    done = fputs(text, f) >= 0;
    return fclose(f) == 0 && done;
}

static void group_allow(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void group_allow(const char *format, ...)
{
    char cpus[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cpus, sizeof(cpus), format, arguments);
    va_end(arguments);
    assert_true(group_write(group, "cpuset.cpus", cpus));
}

static bool group_move_to(const char *folder)
{
    char pid[32];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    return group_write(folder, "cgroup.procs", pid);
}

/* Where this process is: below `root`, by the line of /proc/self/cgroup that names `controller`,
 * "" in version 2. */
static bool group_find_home(const char *root, const char *controller)
{
    char line[256];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");

    while (f && !found && fgets(line, sizeof(line), f)) {
        char *rest = line, *number = strsep(&rest, ":"), *names = strsep(&rest, ":");

        if (!number || !names || !rest || strcmp(names, controller) != 0)
            continue;
        rest[strcspn(rest, "\n")] = '\0';
        found = strncmp(rest, "/..", 3) != 0 &&
                snprintf(home, sizeof(home), "%s%s", root, rest) < (int)sizeof(home);
    }
    if (f)
        fclose(f);
    return found && access(home, F_OK) == 0;
}

/* It can be entered and left. */
static bool group_is_good(void)
{
    char cpus[64];

    snprintf(cpus, sizeof(cpus), "%d,%d", first, second);
    return group_write(group, "cpuset.cpus", cpus) && group_move_to(group) && group_move_to(home);
}

/* What a test that was killed has left. */
static void group_sweep(const char *root)
{
    DIR *folder = opendir(root);
    const struct dirent *entry;
    char path[sizeof(group) + 256];

    while (folder && (entry = readdir(folder))) {
        int pid;

        if (sscanf(entry->d_name, "odeon-test-%d", &pid) != 1 || kill(pid, 0) == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
        (void)rmdir(path);
    }
    if (folder)
        closedir(folder);
}

/* Do groups in it have processors of their own? */
static bool group_lends(const char *root)
{
    char path[128], line[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
    f = fopen(path, "re");
    if (f && !fgets(line, sizeof(line), f))
        line[0] = '\0';
    if (f)
        fclose(f);
    return strstr(line, "cpuset") != NULL;
}

/* In version 1 a group has no memory at first; in version 2 the one above says what groups have. */
static bool group_make(const char *root, const char *controller)
{
    if (!group_find_home(root, controller))
        return false;
    group_sweep(root);
    if (!group_lends(root)) /* of version 2 */
        lent = group_write(root, "cgroup.subtree_control", "+cpuset") ? root : NULL;
    snprintf(group, sizeof(group), "%s/odeon-test-%d", root, (int)getpid());
    if (mkdir(group, 0755) < 0)
        return false;
    (void)group_write(group, "cpuset.mems", "0");
    if (group_is_good())
        return true;
    (void)group_move_to(home);
    rmdir(group);
    return false;
}

static void group_leave(void)
{
    assert_true(group_move_to(home));
    /* version 2 before Linux 6.2 forgets what this process was bound to */
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* ---- the service in it */

static void begin(const char *affinity)
{
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    first = second = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE && second < 0; cpu++)
        if (CPU_ISSET((size_t)cpu, &before))
            *(first < 0 ? &first : &second) = cpu;
    if (second < 0 ||
        (!group_make("/sys/fs/cgroup/cpuset", "cpuset") && !group_make("/sys/fs/cgroup", ""))) {
        group[0] = '\0';
        print_message("nobody makes a cpuset with two processors here\n");
        skip();
    }
    assert_true(group_move_to(group));
    service_start(&service,
                  (const char *const[]){ "--set", "workers=2", "--set", "queues-per-worker=2",
                                         "--set", "detached=2", "--set", "smt=yes", "--set",
                                         affinity, "--set", "stall-warn-ms=0", "--set",
                                         "restart-delay-max-ms=20", "--plugin", TEST_PROBE, NULL });
    group_leave();
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    for (int i = 0; group[0] && rmdir(group) < 0 && i < 1000; i++)
        pause_briefly();
    group[0] = '\0';
    if (lent)
        (void)group_write(lent, "cgroup.subtree_control", "-cpuset");
    lent = NULL;
    return 0;
}

/* The processors that the executor's thread of this name may run on. */
static cpu_set_t allowed_of(const char *name)
{
    char path[64], comm[32];
    const struct dirent *entry;
    cpu_set_t set;
    DIR *tasks;

    CPU_ZERO(&set);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)service_executor(&service));
    tasks = opendir(path);
    assert_non_null(tasks);
    while ((entry = readdir(tasks))) {
        FILE *f;
        bool found;

        snprintf(comm, sizeof(comm), "%.20s/comm", entry->d_name);
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s", (int)service_executor(&service), comm);
        f = fopen(path, "re");
        if (!f)
            continue;
        found = fgets(comm, sizeof(comm), f) && strncmp(comm, name, strlen(name)) == 0;
        fclose(f);
        if (found)
            (void)sched_getaffinity(atoi(entry->d_name), sizeof(set), &set);
    }
    closedir(tasks);
    return set;
}

static bool is_on(const char *name, int cpu)
{
    cpu_set_t set = allowed_of(name);

    return CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)cpu, &set);
}

static bool is_anywhere(const char *name)
{
    cpu_set_t set = allowed_of(name);

    return CPU_COUNT(&set) == 2 && CPU_ISSET((size_t)first, &set) &&
           CPU_ISSET((size_t)second, &set);
}

/* Both are there by the kernel, and by what the engine was told. */
static bool workers_are_on(int a, int b)
{
    return is_on("worker/0", a) && is_on("worker/1", b) &&
           odeon_stats_cpu(service.figures, 0) == a && odeon_stats_cpu(service.figures, 1) == b;
}

static void set(const char *settings)
{
    int r = ctl_set(&service, output, sizeof(output), settings);

    if (r != 0)
        fail_msg("executor set %s: %d: %s", settings, r, output);
}

/* topology.T2: a processor that was away when the executor started is its workers' own again, and
 * known to whoever asks for it. */
static void test_start_without_it(void **state)
{
    char list[32];

    (void)state;
    begin("affinity=auto");
    (void)service_state(&service); /* figures */
    assert_true(wait_until(workers_are_on(first, second)));
    group_allow("%d", first);
    assert_true(wait_until(workers_are_on(first, first)));
    service_kill_executor(&service);
    assert_true(wait_until(workers_are_on(first, first)));
    group_allow("%d,%d", first, second);
    assert_true(wait_until(workers_are_on(first, second)));
    snprintf(list, sizeof(list), "affinity=%d,%d", second, first);
    set(list);
    assert_true(wait_until(workers_are_on(second, first)));
}

/* Whoever takes a processor from workers while they are bound to it again takes it. */
static void test_taken_from_workers(void **state)
{
    char list[32];

    (void)state;
    begin("affinity=auto");
    (void)service_state(&service);
    group_allow("%d", first);
    assert_true(wait_until(workers_are_on(first, first)));
    set("smt=no");
    set("smt=yes");
    group_allow("%d,%d", first, second);
    assert_true(wait_until(is_on("worker/1", second)));
    snprintf(list, sizeof(list), "affinity=%d", first);
    set(list);
    assert_true(is_on("worker/1", first));
    assert_true(wait_until(workers_are_on(first, first)));
}

/* Who has no processor of his own goes wherever the service may, also later. */
static void test_nobody_stays_behind(void **state)
{
    (void)state;
    begin("affinity=auto");
    (void)service_state(&service);
    group_allow("%d", first);
    assert_true(wait_until(workers_are_on(first, first)));
    set("affinity=none");
    assert_int_equal(ctl(&service, output, sizeof(output), "actor spawn probe_echo --detached"), 0);
    assert_true(wait_until(is_on("detached/0", first)));
    group_allow("%d,%d", first, second);
    assert_true(wait_until(is_anywhere("worker/0") && is_anywhere("worker/1") &&
                           is_anywhere("detached/0")));
}

/* places.PL1: threads are bound at once; who shows and uses it is told when the handler that held
 * it up has ended, and who asks for something else meanwhile is refused as ever. */
static void test_told_behind_a_handler(void **state)
{
    const struct stuck_hang hang = { .blocks = 1 };
    struct stuck_args args = { .index = 0 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct stuck_page *page;
    odeon_ref hanger;

    (void)state;
    begin("affinity=auto");
    (void)service_state(&service);
    page = service_map_page(&service, args.page, sizeof(args.page), sizeof(*page));
    client = service_connect(&service, "cpus");
    load_plugin(client, TEST_STUCK);
    hanger = spawn(client, "stuck_hanger", NULL, &args, sizeof(args));
    port = port_open_or_fail(client, 0, 0, false);
    group_allow("%d", first);
    assert_true(wait_until(workers_are_on(first, first)));
    assert_int_equal(odeon_port_post(port, hanger, message_id(client, odeon_message_of(stuck_hang)),
                                     &hang, sizeof(hang)),
                     0);
    assert_true(wait_until(atomic_load(&page->entered) == 1));
    group_allow("%d,%d", first, second);
    assert_true(wait_until(is_on("worker/1", second)));
    assert_int_equal(odeon_stats_cpu(service.figures, 1), first);
    assert_true(
        ctl(&service, output, sizeof(output), "executor set affinity=%d throughput=5", first) != 0);
    assert_non_null(strstr(output, "did not stop within"));
    assert_true(is_on("worker/1", second));
    atomic_store(&page->release, 1);
    assert_true(wait_until(workers_are_on(first, second)));
    odeon_client_disconnect(client);
    munmap(page, sizeof(*page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_start_without_it, end),
        cmocka_unit_test_teardown(test_taken_from_workers, end),
        cmocka_unit_test_teardown(test_nobody_stays_behind, end),
        cmocka_unit_test_teardown(test_told_behind_a_handler, end),
    };

    return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
