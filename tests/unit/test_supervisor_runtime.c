/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/runtime and stats_file: who owns a directory, what lies in it. */
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/stats_file.h"
#include "tests/run/patience.h"
#include "tests/run/scratch.h"

static char base[] = "/tmp/odeon-test.runtime-XXXXXX", dir[64], socket_path[96];
static char text[RUNTIME_TEXT_MAX];

static int make_base(void **state)
{
    (void)state;
    assert_non_null(scratch_make(base));
    snprintf(dir, sizeof(dir), "%s/run", base);
    snprintf(socket_path, sizeof(socket_path), "%s/control.sock", dir);
    return 0;
}

static int remove_base(void **state)
{
    char path[128];

    (void)state;
    for (const char *const *name = (const char *const[]){ "lock", "stats", "control.sock", NULL };
         *name; name++) {
        snprintf(path, sizeof(path), "%s/%s", dir, *name);
        unlink(path);
    }
    rmdir(dir);
    return rmdir(base);
}

static void test_one_owner(void **state)
{
    struct runtime first, second;
    struct stat st;

    (void)state;
    umask(077);
    assert_int_equal(runtime_open(&first, dir, socket_path, text), 0);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(runtime_open(&second, dir, socket_path, text), -EBUSY);
    assert_non_null(strstr(text, "another odeond, process "));
    runtime_close(&first);
    assert_int_equal(runtime_open(&second, dir, socket_path, text), 0);
    runtime_close(&second);
}

/* ---- a lock that is held by the child of who had it */

enum { LOOKS = 30 };

static pid_t owners_child; /* 0: none is waited for */
static unsigned looks;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_nanosleep(const struct timespec *time, struct timespec *left);

/* Who waits for the lock pauses between two looks at it: by those and not by the clock the child
 * has gone, behind some of them. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    if (owners_child == 0)
        return __real_nanosleep(time, left);
    if (++looks < LOOKS)
        return 0;
    assert_int_equal(kill(owners_child, SIGKILL), 0);
    assert_int_equal(waitpid(owners_child, NULL, 0), owners_child);
    owners_child = 0;
    return 0;
}

/* A process that has the directory, until it is killed, and another one with the same descriptors,
 * which goes on when that one has gone. Each of them says who it is. */
static pid_t start_owner_with_child(int ready_fd)
{
    pid_t parent = getpid(), owner = fork(), child, self;

    assert_true(owner >= 0);
    if (owner > 0)
        return owner;
    struct runtime runtime;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        runtime_open(&runtime, dir, socket_path, text) < 0 || (child = fork()) < 0)
        _exit(1);
    (void)alarm(PATIENCE_S); /* nobody ends the child of a test that has failed */
    self = getpid();
    if (write(ready_fd, &self, sizeof(self)) != sizeof(self))
        _exit(1);
    for (;;)
        pause();
}

static void test_a_killed_owners_child(void **state)
{
    struct runtime runtime;
    int ready[2], status;
    pid_t owner, one, child = 0;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* the child's end is told here */
    assert_int_equal(pipe(ready), 0);
    owner = start_owner_with_child(ready[1]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(read(ready[0], &one, sizeof(one)), sizeof(one));
        child = one != owner ? one : child;
    }
    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_true(WIFSIGNALED(status));
    looks = 0;
    owners_child = child;
    if (runtime_open(&runtime, dir, socket_path, text) < 0)
        fail_msg("%s", text);
    assert_int_equal(looks, LOOKS);
    runtime_close(&runtime);
    close(ready[0]);
    close(ready[1]);
}

static void test_socket_mode(void **state)
{
    struct runtime runtime;
    struct stat st;

    (void)state;
    umask(0);
    assert_int_equal(runtime_open(&runtime, dir, socket_path, text), 0);
    assert_int_equal(runtime_listen(&runtime, -1, text), 0);
    assert_int_equal(stat(socket_path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(umask(022), 0); /* as it was */
    runtime_close(&runtime);
    assert_int_equal(stat(socket_path, &st), -1);
}

static int bind_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void test_stale_socket(void **state)
{
    struct runtime runtime;
    int other;

    (void)state;
    assert_int_equal(runtime_open(&runtime, dir, socket_path, text), 0);
    close(bind_socket()); /* its process died without removing it */
    assert_int_equal(runtime_listen(&runtime, -1, text), 0);
    runtime_stop_listening(&runtime);
    other = bind_socket();
    assert_int_equal(listen(other, 1), 0);
    assert_int_equal(runtime_listen(&runtime, -1, text), -EADDRINUSE);
    assert_non_null(strstr(text, "another process listens"));
    close(other);
    unlink(socket_path);
    close(open(socket_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(runtime_listen(&runtime, -1, text), -EEXIST);
    assert_non_null(strstr(text, "not a socket"));
    runtime_close(&runtime);
    assert_int_equal(unlink(socket_path), 0); /* a stranger's file is left alone */
}

static void test_somebody_elses_socket_stays(void **state)
{
    struct runtime runtime;
    int other;

    (void)state;
    assert_int_equal(runtime_open(&runtime, dir, socket_path, text), 0);
    assert_int_equal(runtime_listen(&runtime, -1, text), 0);
    assert_int_equal(unlink(socket_path), 0);
    other = bind_socket();
    runtime_close(&runtime);
    assert_int_equal(access(socket_path, F_OK), 0);
    close(other);
    unlink(socket_path);
}

static void test_bad_directories(void **state)
{
    struct runtime runtime;
    char long_path[200];

    (void)state;
    assert_int_equal(runtime_open(&runtime, "/dev/null", "/x", text), -ENOTDIR);
    assert_int_equal(runtime_open(&runtime, "/nowhere/at/all", "/x", text), -ENOENT);
    assert_non_null(strstr(text, "/nowhere/at/all"));
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(runtime_open(&runtime, dir, long_path, text), 0);
    assert_int_equal(runtime_listen(&runtime, -1, text), -ENAMETOOLONG);
    runtime_close(&runtime);
}

static void refused_for(const char *path, const char *why)
{
    struct runtime runtime;
    int r = runtime_open(&runtime, path, socket_path, text);

    if (r != -EPERM || !strstr(text, why))
        fail_msg("%s: %d, \"%s\" and not \"%s\"", path, r, r < 0 ? text : "", why);
}

static void taken(const char *path)
{
    struct runtime runtime;
    char lock[200];

    if (runtime_open(&runtime, path, socket_path, text) < 0)
        fail_msg("%s", text);
    snprintf(lock, sizeof(lock), "%s/lock", runtime.dir);
    unlink(lock);
    runtime_close(&runtime);
}

/* runtime.N1: what anybody but its owner may write in. */
static void test_others_may_write(void **state)
{
    static const mode_t modes[] = { 0777, 01777, 0775, 0757 };

    (void)state;
    mkdir(dir, 0700);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(dir, modes[i]), 0);
        refused_for(dir, "others may write in it");
    }
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(base, 0777), 0);
    refused_for(dir, "everybody may write");
    assert_int_equal(chmod(base, 01777), 0);
    taken(dir);
    assert_int_equal(chmod(base, 0775), 0); /* an administrator's group */
    taken(dir);
    assert_int_equal(chmod(base, 0700), 0);
}

/* runtime.N1: somebody else's directory, link, directory above. */
static void test_somebody_elses_directory(void **state)
{
    char link[96];

    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(link, sizeof(link), "%s/link", base);
    mkdir(dir, 0755);
    assert_int_equal(symlink(dir, link), 0);
    taken(link);
    assert_int_equal(lchown(link, 65534, 65534), 0);
    refused_for(link, "the link belongs to user 65534, neither to this one (0) nor to root");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(chown(dir, 65534, 65534), 0);
    refused_for(dir, "it belongs to user 65534, neither to this one (0) nor to root");
    assert_int_equal(chown(dir, 0, 0), 0);
    assert_int_equal(chown(base, 65534, 65534), 0);
    refused_for(dir, "which belongs to user 65534");
    assert_int_equal(chown(base, 0, 0), 0);
    taken(dir);
}

static void test_statistics(void **state)
{
    struct stats_file first, second;
    char path[128];
    const struct stats_header *header;
    struct stat st;
    int fd;

    (void)state;
    mkdir(dir, 0755);
    snprintf(path, sizeof(path), "%s/stats", dir);
    umask(077);
    assert_int_equal(stats_file_make(&first, path, -1), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_size, STATS_SEGMENT_SIZE);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    header = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(fd);
    assert_true(atomic_load(&header->magic) == STATS_MAGIC);
    assert_int_equal(header->n_stats, STAT_N);
    assert_int_equal(header->worker_offset, STATS_WORKER_OFFSET);
    assert_int_equal(header->worker_size, sizeof(struct stats_worker));
    assert_true((uint64_t)header->worker_offset +
                    (uint64_t)header->workers_max * header->worker_size <=
                STATS_SEGMENT_SIZE);
    assert_string_equal(header->names[STAT_actors_created], "actors_created");
    assert_string_equal(header->names[STAT_state], "state");
    for (unsigned i = 0; i < STAT_N; i++)
        assert_true(header->names[i][0] != '\0');
    assert_int_equal(atomic_load(&header->supervisor_pid), getpid());
    /* the next service's file is another one: this mapping stays what it was */
    assert_int_equal(stats_file_make(&second, path, -1), 0);
    atomic_store(&second.header->n_clients, 5);
    assert_int_equal(atomic_load(&header->n_clients), 0);
    munmap((void *)header, STATS_SEGMENT_SIZE);
    stats_file_fini(&first);
    stats_file_fini(&second);
    assert_int_equal(stats_file_make(&first, "/nowhere/stats", -1), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_owner),
        cmocka_unit_test(test_a_killed_owners_child),
        cmocka_unit_test(test_socket_mode),
        cmocka_unit_test(test_stale_socket),
        cmocka_unit_test(test_somebody_elses_socket_stays),
        cmocka_unit_test(test_bad_directories),
        cmocka_unit_test(test_others_may_write),
        cmocka_unit_test(test_somebody_elses_directory),
        cmocka_unit_test(test_statistics),
    };

    return cmocka_run_group_tests(tests, make_base, remove_base);
}
