/* SPDX-License-Identifier: Apache-2.0 */
/* Files of plugins on a file system that never answers: who wants such a plugin waits, is told
 * after a while, and nobody else notices. The file system is a FUSE mount whose server reads
 * nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/copier.h"
#include "tests/run/sanitized.h"
#include "tests/system/harness.h"

enum { ASKS = 100 };

static struct service service;

/* ---- the file system */

static struct {
    int fd; /* the server's end; -1: there is none */
    char folder[128];
} dead = { .fd = -1 };

static bool dead_mount(void)
{
    char options[128];

    snprintf(dead.folder, sizeof(dead.folder), "%.100s/dead", service.dir);
    assert_int_equal(mkdir(dead.folder, 0755), 0);
    dead.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (dead.fd < 0)
        return false;
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
             dead.fd);
    if (mount("odeon-test", dead.folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0)
        return true;
    close(dead.fd);
    dead.fd = -1;
    return false;
}

/* Whoever waits in it gets an error. */
static void dead_unmount(void)
{
    if (dead.fd < 0)
        return;
    close(dead.fd);
    dead.fd = -1;
    (void)umount2(dead.folder, MNT_FORCE | MNT_DETACH);
}

/* ---- who asks for its files */

struct loader {
    pthread_t thread;
    struct odeon_client *client;
    int result;
    char text[400];
    atomic_bool done;
};

static void *load_dead_file(void *userdata)
{
    struct loader *loader = userdata;
    char path[160];

    snprintf(path, sizeof(path), "%s/plugin.so", dead.folder);
    loader->result = odeon_plugin_load(loader->client, path);
    snprintf(loader->text, sizeof(loader->text), "%s", odeon_error_text());
    atomic_store(&loader->done, true);
    return NULL;
}

static void loader_begin(struct loader *loader)
{
    memset(loader, 0, sizeof(*loader));
    loader->client = service_connect(&service, "loader");
    (void)odeon_client_set_patience(loader->client, SECONDS(PATIENCE_S));
    assert_int_equal(pthread_create(&loader->thread, NULL, load_dead_file, loader), 0);
}

static void loader_end(struct loader *loader)
{
    assert_int_equal(pthread_join(loader->thread, NULL), 0);
    odeon_client_disconnect(loader->client);
}

static void begin(const char *quotas)
{
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", quotas, NULL });
    if (!dead_mount()) {
        print_message("# skipped: no file system can be mounted here: %s\n", strerror(errno));
        assert_int_equal(service_stop(&service, SIGTERM), 0);
        rmdir(dead.folder);
        service_end(&service);
        skip();
    }
}

static int end(void **state)
{
    (void)state;
    dead_unmount();
    rmdir(dead.folder);
    service_end(&service);
    return 0;
}

/* Requests of any kind, a plugin's load among them. */
static void expect_served(void)
{
    struct odeon_client *client = service_connect(&service, "somebody");
    struct odeon_status *status = NULL;

    for (unsigned i = 0; i < ASKS; i++) {
        assert_int_equal(odeon_service_status(client, &status), 0);
        odeon_result_free(status);
    }
    assert_int_equal(odeon_plugin_load(client, TEST_PASSER), 0);
    assert_int_equal(unload_plugin(client, "passer"), 0);
    odeon_client_disconnect(client);
}

/* Threads of odeond's that read a file, by their names. */
static unsigned readers(void)
{
    char path[300], name[32];
    unsigned n = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)service.pid);
    folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)service.pid, entry->d_name);
        FILE *f = fopen(path, "re");

        n += f && fgets(name, sizeof(name), f) && strcmp(name, "plugin-copy\n") == 0;
        if (f)
            fclose(f);
    }
    closedir(folder);
    return n;
}

/* ---- the tests */

static void test_who_asks_is_told_and_nobody_else_waits(void **state)
{
    struct loader loader;

    (void)state;
    begin("quotas-bind=others");
    loader_begin(&loader);
    expect_served();
    assert_true(wait_until(atomic_load(&loader.done)));
    loader_end(&loader);
    assert_int_equal(loader.result, -ETIMEDOUT);
    assert_non_null(strstr(loader.text, "its file system does not answer"));
    assert_true(service_log_has(&service, "its place among 8 is taken until it does"));
    expect_served();
    if (SANITIZED) /* at its end a sanitizer stops all threads, and that one cannot be */
        dead_unmount();
    assert_int_equal(service_stop(&service, SIGTERM), 0); /* beside the thread that hangs */
}

/* One is left, and then none. */
static void test_places_are_counted(void **state)
{
    static struct loader loaders[COPIES_MAX];
    struct odeon_client *client;

    (void)state;
    begin("quotas-bind=others");
    for (unsigned i = 0; i + 1 < COPIES_MAX; i++)
        loader_begin(&loaders[i]);
    assert_true(wait_until(readers() == COPIES_MAX - 1));
    expect_served();
    assert_true(wait_until(readers() == COPIES_MAX - 1)); /* who has served ends a moment later */
    loader_begin(&loaders[COPIES_MAX - 1]);
    assert_true(wait_until(readers() == COPIES_MAX));
    client = service_connect(&service, "one too many");
    assert_int_equal(odeon_plugin_load(client, TEST_PASSER), -EBUSY);
    assert_non_null(strstr(odeon_error_text(), "8 files of plugins are being read, 8 of them for"));
    odeon_client_disconnect(client);
    dead_unmount(); /* and all of them end */
    for (unsigned i = 0; i < COPIES_MAX; i++) {
        loader_end(&loaders[i]);
        assert_true(loaders[i].result < 0);
    }
    expect_served();
    assert_int_equal(service_stop(&service, SIGTERM), 0);
}

static void test_a_user_leaves_half(void **state)
{
    static struct loader loaders[COPIES_MAX / 2];
    struct odeon_client *client;

    (void)state;
    begin("quotas-bind=all");
    for (unsigned i = 0; i < COPIES_MAX / 2; i++)
        loader_begin(&loaders[i]);
    assert_true(wait_until(readers() == COPIES_MAX / 2));
    client = service_connect(&service, "one too many");
    assert_int_equal(odeon_plugin_load(client, TEST_PASSER), -EBUSY);
    assert_non_null(strstr(odeon_error_text(), "4 files of plugins are being read, 4 of them for"));
    odeon_client_disconnect(client);
    dead_unmount();
    for (unsigned i = 0; i < COPIES_MAX / 2; i++)
        loader_end(&loaders[i]);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
}

/* Its client has gone meanwhile: the answer is nobody's. */
static void test_a_client_goes(void **state)
{
    struct loader loader;
    pid_t child;

    (void)state;
    begin("quotas-bind=others");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (odeon_client_connect(service.socket, "short-lived", &loader.client) < 0)
            _exit(1);
        (void)load_dead_file(&loader);
        _exit(2);
    }
    assert_true(wait_until(readers() == 1));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_served();
    dead_unmount();
    assert_true(wait_until(readers() == 0));
    expect_served();
    assert_int_equal(service_stop(&service, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_who_asks_is_told_and_nobody_else_waits, end),
        cmocka_unit_test_teardown(test_places_are_counted, end),
        cmocka_unit_test_teardown(test_a_user_leaves_half, end),
        cmocka_unit_test_teardown(test_a_client_goes, end),
    };

    return cmocka_run_group_tests_name("copies of plugins", tests, NULL, NULL);
}
