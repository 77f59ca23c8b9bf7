/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor, the smaller parts: backoff, plugin_store, segment, child,
 * notify. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/backoff.h"
#include "daemon/supervisor/child.h"
#include "daemon/supervisor/notify.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/segment.h"
#include "tests/run/scratch.h"

#define MS UINT64_C(1000000)

static char base[] = "/tmp/odeon-test.parts-XXXXXX";

static int make_base(void **state)
{
    (void)state;
    return scratch_make(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    return rmdir(base);
}

static const char *in_base(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    return path;
}

static void test_backoff(void **state)
{
    struct backoff backoff = { 0 };

    (void)state;
    assert_int_equal(backoff_next_ns(&backoff, 5000 * MS, 2000 * MS), 0);
    assert_int_equal(backoff_next_ns(&backoff, 999 * MS, 2000 * MS), 10 * MS);
    assert_int_equal(backoff_next_ns(&backoff, 0, 2000 * MS), 20 * MS);
    assert_int_equal(backoff_next_ns(&backoff, 0, 2000 * MS), 40 * MS);
    for (int i = 0; i < 100; i++)
        backoff_next_ns(&backoff, 0, 2000 * MS);
    assert_int_equal(backoff_next_ns(&backoff, 0, 2000 * MS), 2000 * MS);
    assert_int_equal(backoff_next_ns(&backoff, 0, 5 * MS), 5 * MS);
    assert_int_equal(backoff_next_ns(&backoff, 1000 * MS, 2000 * MS), 0); /* it had been stable */
    assert_int_equal(backoff_next_ns(&backoff, 0, 2000 * MS), 10 * MS);
}

static void write_file(const char *path, const char *content, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void refused(const char *path, int fd, int error, const char *words)
{
    char text[PLUGIN_TEXT_MAX] = "";

    assert_int_equal(plugin_copy(path, fd, text), error);
    assert_non_null(strstr(text, words));
}

static void test_plugin_files(void **state)
{
    char text[PLUGIN_TEXT_MAX], link[128], buffer[8] = "";
    int fd;

    (void)state;
    refused("relative.so", -1, -EINVAL, "is not an absolute path");
    refused("", -1, -EINVAL, "is not an absolute path");
    refused("/nowhere/x.so", -1, -ENOENT, "does not exist");
    refused(base, -1, -EISDIR, "is a directory");
    refused("/dev/null", -1, -EINVAL, "is not a regular file");
    assert_int_equal(mkfifo(in_base("fifo"), 0600), 0);
    refused(in_base("fifo"), -1, -EINVAL, "is not a regular file"); /* and does not block */
    unlink(in_base("fifo"));
    write_file(in_base("empty"), "", 0600);
    refused(in_base("empty"), -1, -ENOEXEC, "is empty");
    snprintf(link, sizeof(link), "%s/link", base);
    assert_int_equal(symlink(in_base("empty"), link), 0);
    refused(link, -1, -ELOOP, "is a symbolic link");
    unlink(link);
    assert_int_equal(truncate(in_base("empty"), (off_t)PLUGIN_FILE_MAX + 1), 0);
    refused(in_base("empty"), -1, -EFBIG, "is larger than a plugin can be");
    unlink(in_base("empty"));

    write_file(in_base("plugin"), "content", 0600);
    fd = open(in_base("plugin"), O_WRONLY | O_CLOEXEC);
    refused("label", fd, -EBADF, "cannot be read");
    close(fd);
    fd = plugin_copy(in_base("plugin"), -1, text);
    assert_true(fd >= 0);
    write_file(in_base("plugin"), "changed", 0600);
    assert_int_equal(pread(fd, buffer, 7, 0), 7);
    assert_string_equal(buffer, "content"); /* what was loaded is what is kept */
    close(fd);
    unlink(in_base("plugin"));
}

/* plugin_store.P1 */
static void test_plugin_order(void **state)
{
    static const struct {
        const char *name;
        bool configured;
        uint32_t line, serial;
    } plugins[] = {
        { "hand 9", false, 0, 9 },        { "line 3, new", true, 3, 0 },
        { "hand 4", false, 0, 4 },        { "unknown line 7", true, 0, 7 },
        { "hand, new", false, 0, 0 },     { "line 2, by hand", false, 2, 11 },
        { "hand, newer", false, 0, 0 },   { "line 1", true, 1, 8 },
        { "unknown line 6", true, 0, 6 },
    };
    static const char *const wanted[] = {
        "unknown line 6", "unknown line 7", "line 1",    "line 2, by hand", "line 3, new",
        "hand 4",         "hand 9",         "hand, new", "hand, newer",
    };
    struct plugin_store *store = calloc(1, sizeof(*store));

    (void)state;
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
        struct kept_plugin *plugin = plugin_store_add(store, plugins[i].name, "/p", dup(0));

        assert_non_null(plugin);
        plugin->configured = plugins[i].configured;
        plugin->line = plugins[i].line;
        plugin->serial = plugins[i].serial;
    }
    for (unsigned round = 0; round < 2; round++) {
        plugin_store_sort(store);
        for (size_t i = 0; i < store->n; i++)
            assert_string_equal(store->list[i].name, wanted[i]);
    }
    plugin_store_fini(store);
    free(store);
}

static void test_plugin_store(void **state)
{
    struct plugin_store *store = calloc(1, sizeof(*store));
    struct kept_plugin *plugin;
    int last = -1;

    (void)state;
    for (int i = 0; i < ODEON_PLUGINS_MAX; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        assert_non_null(plugin_store_add(store, name, "/p", dup(0)));
    }
    last = dup(0);
    assert_null(plugin_store_add(store, "more", "/p", last));
    assert_int_equal(fcntl(last, F_GETFD), -1); /* closed all the same */
    plugin = plugin_store_find(store, "p7");
    plugin->loaded = true;
    assert_int_equal(plugin_store_count_loaded(store), 1);
    plugin_store_remove(store, plugin);
    assert_null(plugin_store_find(store, "p7"));
    assert_string_equal(store->list[7].name, "p8"); /* the order stays */
    plugin = plugin_store_add(store, NULL, "/p", dup(0));
    assert_null(plugin_store_find(store, "late"));
    assert_int_equal(plugin_store_set_name(plugin, "late"), 0);
    assert_ptr_equal(plugin_store_find(store, "late"), plugin);
    /* the place of what is not loaded is its name's; the path's where it never had one */
    plugin->loaded = true;
    assert_null(plugin_store_find_unloaded(store, "late", "/p"));
    plugin->loaded = false;
    assert_ptr_equal(plugin_store_find_unloaded(store, "late", "/q"), plugin);
    plugin->left_out = true;
    assert_null(plugin_store_find(store, "late"));
    assert_null(plugin_store_find_unloaded(store, "other", "/p"));
    assert_ptr_equal(plugin_store_find_unloaded(store, "late", "/q"), plugin);
    free(plugin->name);
    plugin->name = NULL;
    assert_null(plugin_store_find_unloaded(store, "late", "/q"));
    assert_ptr_equal(plugin_store_find_unloaded(store, "late", "/p"), plugin);
    plugin_store_fini(store);
    free(store);
}

static int ask_with(const char *script, const char *origin, uint64_t *ret_size, char *text)
{
    struct setting_list given = { 0 }, settings = { 0 };
    char path[128];
    int r;

    snprintf(path, sizeof(path), "%s", in_base("program"));
    write_file(path, script, 0700);
    assert_int_equal(setting_list_set(&given, "a", "b c"), 0);
    if (origin)
        assert_int_equal(setting_list_set_origin(&given, "a", origin), 0);
    assert_int_equal(setting_list_merge(&settings, &given), 0);
    setting_list_fini(&given);
    r = segment_ask_size(path, &settings, ret_size, text);
    setting_list_fini(&settings);
    unlink(path);
    return r;
}

static int ask(const char *script, uint64_t *ret_size, char *text)
{
    return ask_with(script, NULL, ret_size, text);
}

/* Where a setting was given goes with it, until it is given again. */
static void test_origins(void **state)
{
    static const char script[] =
        "#!/bin/sh\n"
        "[ \"$*\" = '--print-segment-size --from file:3 --set a=b c' ] && echo 65536\n";
    char text[SEGMENT_TEXT_MAX] = "";
    struct setting_list settings = { 0 };
    uint64_t size = 0;

    (void)state;
    assert_int_equal(ask_with(script, "file:3", &size, text), 0);
    assert_int_equal(ask_with(script, "file:4", &size, text), -EINVAL);
    assert_int_equal(setting_list_set_origin(&settings, "a", "nobody's"), 0);
    assert_int_equal(settings.n, 0);
    assert_int_equal(setting_list_set(&settings, "a", "1"), 0);
    assert_int_equal(setting_list_set_origin(&settings, "a", "here"), 0);
    assert_int_equal(setting_list_set_origin(&settings, "a", "there"), 0);
    assert_string_equal(settings.list[0].origin, "there");
    assert_int_equal(setting_list_set(&settings, "a", "2"), 0);
    assert_null(settings.list[0].origin);
    setting_list_fini(&settings);
}

static void test_segment_size(void **state)
{
    char text[SEGMENT_TEXT_MAX] = "";
    uint64_t size = 0;
    struct setting_list none = { 0 };

    (void)state;
    assert_int_equal(
        ask("#!/bin/sh\n[ \"$*\" = '--print-segment-size --set a=b c' ] && echo 65536\n", &size,
            text),
        0);
    assert_int_equal(size, 65536);
    assert_int_equal(ask("#!/bin/sh\nexit 1\n", &size, text), -EINVAL);
    assert_non_null(strstr(text, "refused the settings"));
    assert_non_null(strstr(text, "exit status 1"));
    assert_int_equal(ask("#!/bin/sh\nkill -9 $$\n", &size, text), -EINVAL);
    assert_non_null(strstr(text, "signal 9"));
    assert_int_equal(ask("#!/bin/sh\necho no number\n", &size, text), -EINVAL);
    assert_int_equal(ask("#!/bin/sh\necho 12\n", &size, text), -ERANGE);
    assert_int_equal(ask("#!/bin/sh\nhead -c 1000 /dev/zero\n", &size, text), -EMSGSIZE);
    assert_int_equal(segment_ask_size("/nowhere/x", &none, &size, text), -ENOENT);
    assert_int_equal(segment_make(0, text), -EINVAL);
}

struct ended {
    bool yes;
    int status;
};

static void on_exit_of_child(void *userdata, int status)
{
    *(struct ended *)userdata = (struct ended){ true, status };
}

static int run_child(const char *program, struct ended *ended, char *said, size_t size)
{
    struct child child = { .pidfd = -1, .on_exit = on_exit_of_child, .userdata = ended };
    uv_loop_t loop;
    int sockets[2], r;
    ssize_t n = -1;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    *ended = (struct ended){ false, 0 };
    r = child_start(&child, &loop, (char *const[]){ (char *)program, NULL }, sockets[1]);
    close(sockets[1]);
    if (r == 0) {
        n = recv(sockets[0], said, size - 1, 0);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(child.pid, 0);
    }
    said[n > 0 ? n : 0] = '\0';
    close(sockets[0]);
    assert_int_equal(uv_loop_close(&loop), 0);
    return r;
}

static void test_child(void **state)
{
    struct ended ended;
    char path[128], said[512], how[96];
    int stray = fcntl(0, F_DUPFD, 77); /* without O_CLOEXEC, as a careless parent would leave it */

    (void)state;
    snprintf(path, sizeof(path), "%s", in_base("program"));
    write_file(path, "#!/bin/sh\necho $(ls /proc/$$/fd) >&3\nexit 7\n", 0700);
    setenv("NOTIFY_SOCKET", "/nowhere", 1);
    assert_int_equal(run_child(path, &ended, said, sizeof(said)), 0);
    assert_true(ended.yes);
    child_describe_status(ended.status, how, sizeof(how));
    assert_string_equal(how, "exit status 7");
    assert_non_null(strstr(said, " 3"));
    assert_null(strstr(said, " 77"));

    write_file(path, "#!/bin/sh\necho \"x$NOTIFY_SOCKET\" >&3\nkill -9 $$\n", 0700);
    assert_int_equal(run_child(path, &ended, said, sizeof(said)), 0);
    assert_string_equal(said, "x\n"); /* the service manager's words are for us */
    child_describe_status(ended.status, how, sizeof(how));
    assert_non_null(strstr(how, "signal 9"));
    unsetenv("NOTIFY_SOCKET");
    unlink(path);

    assert_int_equal(run_child("/nowhere/x", &ended, said, sizeof(said)), -ENOENT);
    assert_false(ended.yes);
    write_file(path, "no program", 0700);
    assert_int_equal(run_child(path, &ended, said, sizeof(said)), -ENOEXEC);
    unlink(path);
    close(stray);
}

static void test_finding_the_program(void **state)
{
    char path[256], text[512] = "";

    (void)state;
    assert_int_equal(child_find_program("/bin/sh", path, sizeof(path), text, sizeof(text)), 0);
    assert_string_equal(path, "/bin/sh");
    assert_int_equal(child_find_program("/nowhere/x", path, sizeof(path), text, sizeof(text)),
                     -ENOENT);
    assert_non_null(strstr(text, "/nowhere/x"));
}

static void look(void *userdata, struct notify_figures *figures)
{
    *figures = *(const struct notify_figures *)userdata;
}

/* What the service manager is told within the time that a change waits; "": nothing. */
static void tell_change(int manager, struct notify_figures figures, char *said, size_t size)
{
    struct notify notify;
    uv_loop_t loop;
    ssize_t n;

    assert_int_equal(uv_loop_init(&loop), 0);
    notify_init(&notify, &loop, true, look, &figures);
    notify_update(&notify);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends when the change has been told */
    notify_fini(&notify);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    n = recv(manager, said, size - 1, MSG_DONTWAIT);
    said[n > 0 ? n : 0] = '\0';
}

/* Whatever changes behind a refusal, the status line goes on saying why. */
static void test_a_refusal_stays_in_the_status(void **state)
{
    struct notify_figures figures = { .state = "recovering", .clients = 1 };
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char said[256];

    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", in_base("manager"));
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    tell_change(manager, figures, said, sizeof(said));
    assert_string_equal(said, "STATUS=recovering (0 plugins, 1 client)");
    figures.refused = true;
    tell_change(manager, figures, said, sizeof(said));
    assert_string_equal(said, "");
    unsetenv("NOTIFY_SOCKET");
    close(manager);
    unlink(address.sun_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_stays_in_the_status),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_plugin_files),
        cmocka_unit_test(test_plugin_store),
        cmocka_unit_test(test_plugin_order),
        cmocka_unit_test(test_segment_size),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_finding_the_program),
    };

    return cmocka_run_group_tests(tests, make_base, remove_base);
}
