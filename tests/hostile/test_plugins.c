/* SPDX-License-Identifier: Apache-2.0 */
/* Bad plugins and bad paths: each is refused with a text that names what is wrong, nothing of it
 * stays, traffic goes on. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/system/numbers.h"

static struct service service;
static struct numbers bystander;
static struct odeon_client *client;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE,
                                                   "--plugin", TEST_PLUGINS "/good.so", NULL });
    client = service_connect(&service, "plugins");
    numbers_start(&bystander, &service, 64);
    numbers_wait(&bystander, 100);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&bystander);
    odeon_client_disconnect(client);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void check_unharmed(void)
{
    struct odeon_list *list = NULL;

    assert_int_equal(odeon_plugin_list(client, 0, 0, &list), 0);
    assert_int_equal(list->n, 2);
    odeon_list_free(list);
    assert_int_equal(service_state(&service).plugins, 2);
    numbers_wait(&bystander, 50);
}

static void expect_refused(const char *path, const char *text)
{
    int r = odeon_plugin_load(client, path);

    if (r >= 0 || !strstr(odeon_error_text(), text))
        fail_msg("%s: %d, '%s'; expected a text with '%s'", path, r,
                 r < 0 ? odeon_error_text() : "", text);
    check_unharmed();
}

static void test_bad_plugins(void **state)
{
    enum { OF_THE_SERVICE = 3 };
    static const struct {
        const char *file, *text;
    } bad[] = {
        { "missing_symbol", "undefined symbol: odeon_test_function_that_nobody_has" },
        { "no_descriptor", "exports no symbol odeon_plugin_descriptor" },
        { "wrong_abi", "abi_major is 3, ours is 2" },
        { "newer_abi", "abi_minor is 7, ours is 6" },
        { "wrong_struct_size", "struct_size is 80, ours is 136" },
        { "wrong_context_size", "context_size is 136, ours is 128" },
        { "empty_name", "the name '(empty)' is not allowed" },
        { "bad_name", "the name 'bad?name' is not allowed" },
        { "oversized_state", "state_size is 3221225472: at most 1048576" },
        { "oversized_behaviours", "has 300 behaviours: at most 255" },
        { "bad_restart", "restart policy 99 is unknown" },
        { "bad_overflow", "overflow policy 4 is unknown" },
        /* from here on the service alone can know it */
        { "duplicate_type", "actor type echo is loaded already, by plugin good" },
        { "init_fails", "its init has failed with -19: No such device" },
        { "good", "already" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char path[512], output[4096];

        snprintf(path, sizeof(path), "%s/%s.so", TEST_PLUGINS, bad[i].file);
        expect_refused(path, bad[i].text);
        /* who only reads the file says so, too */
        if (ctl(&service, output, sizeof(output), "plugin check %s", path) !=
            (i < sizeof(bad) / sizeof(bad[0]) - OF_THE_SERVICE))
            fail_msg("%s: plugin check says '%s'", path, output);
    }
}

/* A file of the service's directory, made of the good plugin's bytes, changed at one place and
 * cut. */
static const char *make_file(const char *name, const char *from, size_t keep, size_t offset,
                             const void *patch, size_t patch_size)
{
    static char path[128];
    static unsigned char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC), out;
    ssize_t n = read(in, bytes, sizeof(bytes));

    assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
    close(in);
    memcpy(bytes + offset, patch, patch_size);
    if ((size_t)n > keep)
        n = (ssize_t)keep;
    snprintf(path, sizeof(path), "%s/%s", service.dir, name);
    out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(out >= 0);
    assert_int_equal(write(out, bytes, (size_t)n), n);
    close(out);
    return path;
}

#define GOOD TEST_PLUGINS "/good.so"

static void test_damaged_files(void **state)
{
#if defined(__x86_64__)
    uint16_t machine = EM_AARCH64;
    const char *machine_text = "machine is 183 (AArch64)";
#else
    uint16_t machine = EM_X86_64;
    const char *machine_text = "machine is 62 (x86-64)";
#endif
    uint16_t object = ET_REL;
    uint64_t far = UINT64_C(1) << 40;

    (void)state;
    expect_refused(
        make_file("machine.so", GOOD, SIZE_MAX, offsetof(Elf64_Ehdr, e_machine), &machine, 2),
        machine_text);
    expect_refused(make_file("class.so", GOOD, SIZE_MAX, EI_CLASS, "\1", 1), "32 bit");
    expect_refused(make_file("order.so", GOOD, SIZE_MAX, EI_DATA, "\2", 1), "byte order");
    expect_refused(make_file("object.so", GOOD, SIZE_MAX, offsetof(Elf64_Ehdr, e_type), &object, 2),
                   "an object file");
    expect_refused(make_file("header.so", GOOD, 40, 0, "", 0), "not an ELF file: it has 40 bytes");
    expect_refused(make_file("cut.so", GOOD, 400, 0, "", 0), "cut short");
    expect_refused(make_file("half.so", GOOD, 5000, 0, "", 0), "cut short");
    expect_refused(make_file("far.so", GOOD, SIZE_MAX, offsetof(Elf64_Ehdr, e_phoff), &far, 8),
                   "cut short");
    expect_refused(make_file("magic.so", GOOD, SIZE_MAX, 0, "#!/b", 4),
                   "not an ELF file: it begins with 23 21 2f 62");
    expect_refused(make_file("empty.so", GOOD, 0, 0, "", 0), "is empty");
    expect_refused(TEST_ODEOND, "link it with -shared");
}

/* Bytes turned at random: refused or loaded, whatever the loader thinks of it, but never the end of
 * the supervisor; what the dynamic loader itself does with a damaged file is its own affair, so
 * only the headers that are checked are touched. */
static void test_damaged_headers(void **state)
{
    unsigned seed = 7;

    (void)state;
    for (int round = 0; round < 100; round++) {
        unsigned char garbage[8];

        for (size_t i = 0; i < sizeof(garbage); i++)
            garbage[i] = (unsigned char)rand_r(&seed);
        /* identification and what says where the program headers are */
        static const size_t at[] = { 0, 4, 16, offsetof(Elf64_Ehdr, e_phoff),
                                     offsetof(Elf64_Ehdr, e_phentsize) - 4 };
        const char *path = make_file("garbage.so", GOOD, SIZE_MAX, at[round % 5], garbage, 8);
        assert_true(odeon_plugin_load(client, path) < 0);
        assert_true(strlen(odeon_error_text()) > 20);
    }
    check_unharmed();
}

static void test_bad_paths(void **state)
{
    char path[256], longest[5000];

    (void)state;
    expect_refused(service.dir, "is a directory");
    snprintf(path, sizeof(path), "%s/link.so", service.dir);
    assert_int_equal(symlink(GOOD, path), 0);
    expect_refused(path, "is a symbolic link");
    snprintf(path, sizeof(path), "%s/dangling.so", service.dir);
    assert_int_equal(symlink("/nowhere", path), 0);
    expect_refused(path, "is a symbolic link");
    snprintf(path, sizeof(path), "%s/fifo.so", service.dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(path, "is not a regular file");
    expect_refused(service.socket, "is not a regular file");
    expect_refused("/dev/null", "is not a regular file");
    expect_refused("relative/path.so", "must begin with '/'");
    expect_refused("/no/such/plugin.so", "does not exist");
    expect_refused("", "");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    expect_refused(longest, "name too long");
}

/* A descriptor with the request is what counts; bad ones are refused like bad paths. */
static void test_bad_descriptors(void **state)
{
    static const struct {
        const char *path;
        int flags;
    } bad[] = { { "/tmp", O_RDONLY | O_DIRECTORY },
                { "/dev/null", O_RDONLY },
                { GOOD, O_PATH },
                { "/dev/zero", O_RDWR } };
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    struct raw raw = raw_connect(&service);
    int pipes[2];

    (void)state;
    raw_hello(&raw);
    load.path = (char[]){ "/label" };
    request.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    request.plugin_load = &load;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct raw_answer answer;
        int fd = open(bad[i].path, bad[i].flags | O_CLOEXEC);

        assert_true(fd >= 0);
        raw_send(&raw, &request, &fd, 1);
        close(fd);
        assert_int_equal(raw_receive(&raw, &answer), 1);
        assert_true(answer.reply->error < 0);
        assert_non_null(strstr(answer.reply->text, "/label"));
        raw_answer_fini(&answer);
    }
    /* a pipe that nobody writes to must not hold up the service */
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    raw_send(&raw, &request, pipes, 1);
    raw_expect_error(&raw, raw.last_id, -EINVAL, "is not a regular file");
    raw_send(&raw, &request, pipes, 2);
    raw_expect_error(&raw, raw.last_id, -EINVAL, "2 descriptors came with a request that takes 1");
    close(pipes[0]);
    close(pipes[1]);
    raw_close(&raw);
    check_unharmed();
}

/* A configured plugin that is bad: the service does not start, and says why. */
static void test_bad_plugin_at_start(void **state)
{
    struct service other;

    (void)state;
    service_make_dir(&other);
    service_spawn(&other, (const char *const[]){ SMALL_SERVICE, "--plugin",
                                                 TEST_PLUGINS "/wrong_abi.so", NULL });
    assert_int_not_equal(service_wait_end(&other), 0);
    assert_true(service_log_has(&other, "abi_major is 3, ours is 2"));
    service_end(&other);
    service_make_dir(&other);
    service_spawn(&other,
                  (const char *const[]){ SMALL_SERVICE, "--plugin", "/no/such/plugin.so", NULL });
    assert_int_not_equal(service_wait_end(&other), 0);
    assert_true(service_log_has(&other, "/no/such/plugin.so does not exist"));
    service_end(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_plugins),     cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_damaged_headers), cmocka_unit_test(test_bad_paths),
        cmocka_unit_test(test_bad_descriptors), cmocka_unit_test(test_bad_plugin_at_start),
    };

    return cmocka_run_group_tests_name("plugins", tests, setup, teardown);
}
