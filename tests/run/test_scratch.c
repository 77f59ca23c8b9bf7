/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of tests that were killed go, those of tests that run stay: also while others are made
 * and removed all the time. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/scratch.h"

enum { MAKERS = 4, FOLDERS = 200 };

static char parent[] = "/tmp/odeon-test.scratch-XXXXXX";

static int make_parent(void **state)
{
    (void)state;
    return scratch_make(parent) ? 0 : -1;
}

static int remove_parent(void **state)
{
    (void)state;
    return rmdir(parent); /* empty, or something was left over */
}

static const char *in_parent(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", parent, name);
    return path;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void write_file(const char *folder, const char *name)
{
    char path[256];
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        _exit(2);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        _exit(2);
    close(fd);
}

/* A child that has made a folder with something in it, and waits for its end. */
static pid_t owner_begin(char path[256])
{
    int pipes[2];
    char made = 0;
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    strcpy(path, in_parent("odeon-test.XXXXXX"));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char inner[256];

        if (!scratch_make(path))
            _exit(2);
        write_file(path, "log");
        if (snprintf(inner, sizeof(inner), "%s/run", path) >= (int)sizeof(inner) ||
            mkdir(inner, 0700) < 0)
            _exit(2);
        write_file(inner, "lock");
        if (write(pipes[1], path, strlen(path) + 1) < 0)
            _exit(2);
        for (;;)
            pause();
    }
    close(pipes[1]);
    for (size_t n = 0; read(pipes[0], &made, 1) == 1; n++) {
        path[n] = made;
        if (!made)
            break;
    }
    close(pipes[0]);
    assert_true(is_there(path));
    return pid;
}

static void owner_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_killed(void **state)
{
    char first[256], second[256];
    pid_t one = owner_begin(first), other = owner_begin(second);

    (void)state;
    assert_int_equal(scratch_sweep(parent), 0);
    owner_kill(one);
    assert_true(is_there(first));
    assert_int_equal(scratch_sweep(parent), 1);
    assert_false(is_there(first));
    assert_true(is_there(second));
    owner_kill(other);
    assert_int_equal(scratch_sweep(parent), 1);
    assert_false(is_there(second));
}

/* What has another name, is no folder, is a link, or is another user's (where that can be
 * arranged). */
static void test_not_ours(void **state)
{
    static const char *const names[] = { "odeon-other", "odeon-test.file", "odeon-test.link",
                                         "odeon-test.foreign" };

    (void)state;
    assert_int_equal(mkdir(in_parent(names[0]), 0700), 0);
    write_file(parent, names[1]);
    assert_int_equal(symlink("odeon-other", in_parent(names[2])), 0);
    assert_int_equal(mkdir(in_parent(names[3]), 0700), 0);
    bool foreign = chown(in_parent(names[3]), 12345, 12345) == 0;
    assert_int_equal(scratch_sweep(parent), foreign ? 0 : 1);
    for (unsigned i = 0; i < (foreign ? 4 : 3); i++)
        assert_true(is_there(in_parent(names[i])));
    assert_int_equal(rmdir(in_parent(names[0])), 0);
    assert_int_equal(unlink(in_parent(names[1])), 0);
    assert_int_equal(unlink(in_parent(names[2])), 0);
    if (foreign)
        assert_int_equal(rmdir(in_parent(names[3])), 0);
}

/* scratch.S2: folders are made while others are swept. */
static int make_many(void)
{
    static char made[FOLDERS][256];

    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(made[i], sizeof(made[i]), "%s/odeon-test.XXXXXX", parent);
        if (!scratch_make(made[i]))
            return 2;
        write_file(made[i], "log");
    }
    for (unsigned i = 0; i < FOLDERS; i++)
        if (!is_there(made[i]))
            return 1;
    return 0;
}

static void test_races(void **state)
{
    pid_t makers[MAKERS];
    unsigned left = MAKERS, swept = 0;

    (void)state;
    for (unsigned i = 0; i < MAKERS; i++) {
        makers[i] = fork();
        assert_true(makers[i] >= 0);
        if (makers[i] == 0)
            _exit(make_many());
    }
    while (left > 0) {
        int status;

        swept += scratch_sweep(parent);
        while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            left--;
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
    }
    swept += scratch_sweep(parent);
    assert_true(swept >= MAKERS * FOLDERS); /* more: some were found before they were locked */
    print_message("# %u folders were found before they were locked\n", swept - MAKERS * FOLDERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed),
                                        cmocka_unit_test(test_not_ours),
                                        cmocka_unit_test(test_races) };

    return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
