/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl topology on machines that are folders: two nodes, whose processors take turns, each of
 * two cores of two threads, but for one that is offline. */
#include "client-lib/ctl/topology/rows.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

#include "tests/run/scratch.h"
#include "tests/unit/ctl_run.h"

enum { CPUS = 8, OFFLINE = 1 };

static char folder[] = "/tmp/odeon-test.topology-XXXXXX";
static char picture[64];

static void put(int cpu, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cpu%d/%s", folder, cpu, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *at = '/';
    }
    if (!text) {
        assert_int_equal(mkdir(path, 0755), 0);
        return;
    }
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_cpu(int cpu)
{
    int node = cpu % 2, core = cpu % (CPUS / 2);
    char text[32];

    snprintf(text, sizeof(text), "%d,%d\n", core, core + CPUS / 2);
    put(cpu, "topology/thread_siblings_list", text);
    put(cpu, "cache/index0/level", "1\n");
    put(cpu, "cache/index1/level", "2\n");
    put(cpu, "cache/index1/shared_cpu_list", text);
    put(cpu, "cache/index2/level", "3\n");
    snprintf(text, sizeof(text), "%d,%d,%d,%d\n", node, node + 2, node + 4, node + 6);
    put(cpu, "cache/index2/shared_cpu_list", text);
    put(cpu, node ? "node1" : "node0", NULL);
}

static int begin(void **state)
{
    (void)state;
    if (!scratch_make(folder))
        return -1;
    snprintf(picture, sizeof(picture), "%s/picture.svg", folder);
    for (int cpu = 0; cpu < CPUS; cpu++)
        if (cpu == OFFLINE)
            put(cpu, "online", "0\n");
        else
            put_cpu(cpu);
    topology_folder = folder;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Each row of a processor begins with these words, in this order. */
static void test_rows_lie_together(void **state)
{
    static const char *const rows[] = {
        "\"node\":0,\"l3\":0,\"l2\":0,\"core\":0,\"cpu\":0,\"worker\":0",
        "\"node\":0,\"l3\":0,\"l2\":0,\"core\":0,\"cpu\":4,\"worker\":null",
        "\"node\":0,\"l3\":0,\"l2\":2,\"core\":2,\"cpu\":2,\"worker\":null",
        "\"node\":0,\"l3\":0,\"l2\":2,\"core\":2,\"cpu\":6,\"worker\":null",
        "\"node\":1,\"l3\":1,\"l2\":1,\"core\":1,\"cpu\":5,\"worker\":null",
        "\"node\":1,\"l3\":1,\"l2\":3,\"core\":3,\"cpu\":3,\"worker\":",
        "\"node\":1,\"l3\":1,\"l2\":3,\"core\":3,\"cpu\":7,\"worker\":null",
        /* its processor is offline */
        "\"node\":null,\"l3\":null,\"l2\":null,\"core\":null,\"cpu\":null,\"worker\":1",
    };
    const char *at;

    (void)state;
    assert_int_equal(run("topology|--json"), CTL_DONE);
    at = out;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        at = strstr(at, rows[i]);
        if (!at)
            fail_msg("no %s there in %s", rows[i], out);
    }
}

static void test_what_is_where(void **state)
{
    static const struct odeon_queue_info queues[] = {
        { .home = 1,
          .owner = 0,
          .bytes = 4096,
          .urgent_bytes = 96,
          .actors = 7,
          .kind = "ordinary" },
        { .home = 1, .bytes = 8, .actors = 2, .kind = "pinned" },
        { .home = 0, .bytes = 16, .actors = 3, .kind = "ordinary" },
        { .home = 1, .bytes = 1, .actors = 1, .kind = "follow" },
        { .home = 1, .bytes = 1, .actors = 1, .kind = "detached" },
        { .home = 9, .bytes = 1, .actors = 1, .kind = "ordinary" },
    };
    struct topology_row row[] = { { .worker = 0 }, { .worker = 1 }, { .worker = ROWS_NONE } };
    struct rows rows = { .n = 3, .row = row };

    (void)state;
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
        rows_count_queue(&rows, &queues[i]);
    assert_int_equal(row[0].queues, 1);
    assert_int_equal(row[0].actors, 3);
    assert_int_equal(row[0].bytes, 16);
    assert_int_equal(row[1].queues, 2);
    assert_int_equal(row[1].actors, 9);
    assert_int_equal(row[1].bytes, 4200);
    assert_int_equal(row[2].queues, 0);
    assert_int_equal(run("topology|--json"), CTL_DONE);
    check_has(out, "\"cpu\":0,\"worker\":0,\"state\":\"parked\",\"queues\":0,");
    check_has(out,
              "\"worker\":null,\"state\":null,\"queues\":null,\"actors\":null,\"bytes\":null}");
    assert_int_equal(run("topology"), CTL_DONE);
    check_has(out, "NODE");
    check_has(out, "parked");
}

static unsigned count_in_picture(const char *what)
{
    static char text[1 << 16];
    FILE *file = fopen(picture, "re");
    unsigned n = 0;
    size_t size;

    assert_non_null(file);
    size = fread(text, 1, sizeof(text) - 1, file);
    text[size] = '\0';
    fclose(file);
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void test_picture(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "topology|--svg|%s", picture);
    assert_int_equal(run(command), CTL_DONE);
    assert_string_equal(out, "");
    assert_int_equal(count_in_picture("<svg "), 1);
    assert_int_equal(count_in_picture("</svg>"), 1);
    assert_int_equal(count_in_picture("memory node "), 2);
    assert_int_equal(count_in_picture("third-level cache"), 2);
    assert_int_equal(count_in_picture("bound to no CPU"), 1);
    assert_int_equal(count_in_picture("CPU 7, core 3"), 1);
    assert_int_equal(count_in_picture("worker 0: parked"), 1);
    assert_int_equal(count_in_picture("worker 1: parked"), 1);
    assert_int_equal(count_in_picture("<g "), count_in_picture("</g>"));
}

static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(run("topology|--svg|/nowhere/at/all.svg"), CTL_REFUSED);
    check_has(err, "cannot write /nowhere/at/all.svg: No such file or directory");
    assert_int_equal(run("topology|--svg|/dev/full"), CTL_REFUSED);
    check_has(err, "cannot write /dev/full: No space left on device");
    assert_int_equal(run("topology|all"), CTL_USAGE);
    fake.list_result = -EACCES;
    assert_int_equal(run("topology"), CTL_REFUSED);
    check_has(err, "cannot list the queues");
    fake.list_result = 0;
}

/* Without the kernel's folder each worker still has its row. */
static void test_nothing_is_known(void **state)
{
    (void)state;
    topology_folder = "/nowhere";
    assert_int_equal(run("topology|--json"), CTL_DONE);
    check_has(out, "\"cpu\":null,\"worker\":0");
    check_has(out, "\"cpu\":null,\"worker\":1");
    topology_folder = folder;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_lie_together), cmocka_unit_test(test_what_is_where),
        cmocka_unit_test(test_picture),           cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nothing_is_known),
    };

    return cmocka_run_group_tests_name("ctl_topology", tests, begin, end);
}
