/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the kernel that are written to, in a folder that stands for its groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/executor/topology_watch.h"

static char folder[64], groups[96];
static unsigned n_changes;

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_folder(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void on_changed(void *userdata)
{
    (void)userdata;
    n_changes++;
}

/* inotify tells at once. */
static unsigned changes_after(uv_loop_t *loop, const char *name)
{
    n_changes = 0;
    write_file(name, "0");
    uv_run(loop, UV_RUN_NOWAIT);
    return n_changes;
}

/* As `systemctl set-property odeond AllowedCPUs=0-1` does: the slice learns to give CPUs out, and
 * so the service's file comes into being, which is written to then and later. */
static void test_file_that_comes_later(void **state)
{
    struct topology_watch watch = { .groups = groups, .mount = folder };
    uv_loop_t loop;

    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/odeon-groups-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(groups, sizeof(groups), "%s/groups", folder);
    write_file("groups", "0::/slice/service\n");
    make_folder("slice");
    make_folder("slice/service");
    write_file("slice/cgroup.subtree_control", "");
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(topology_watch_start(&watch, &loop, on_changed, NULL, -1), 0);
    write_file("slice/service/cpuset.cpus", "");
    assert_true(changes_after(&loop, "slice/cgroup.subtree_control") > 0);
    assert_true(changes_after(&loop, "slice/service/cpuset.cpus") > 0);
    topology_watch_stop(&watch);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_file_that_comes_later, end),
    };

    return cmocka_run_group_tests_name("executor topology watch", tests, NULL, NULL);
}
