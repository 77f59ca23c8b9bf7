/* SPDX-License-Identifier: Apache-2.0 */
/* See manager.h. The store itself is in manager_store.c, the start of a process in
 * manager_spawn.c. */
#include "tests/system/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager_spawn.h"
#include "tests/system/manager_store.h"

enum { MANAGERS_MAX = 8, DATAGRAM_MAX = 4096, DATAGRAM_FDS_MAX = 253 };

enum wish { WISH_RUN, WISH_STOP, WISH_QUIT };

struct manager {
    struct service service;
    int notify, listener, wake; /* the thread's; `listener` -1: no activation */
    char notify_path[96];
    pthread_t thread;

    pthread_mutex_t mutex; /* guards what follows */
    enum wish wish;
    bool held, ready, deaf;
    pid_t pid;
    int pidfd, last_status;
    unsigned starts, ends, readies, crashes, failures, feeds, extensions;
    unsigned long extended_us;
    char status[256];
    char *program, *environment;
    const char *const *arguments;
    struct manager_store store;
};

/* For the end of the program: tests that fail leave theirs. */
static struct manager *managers[MANAGERS_MAX];

static void kill_at_exit(void)
{
    for (unsigned i = 0; i < MANAGERS_MAX; i++)
        if (managers[i]) {
            char *log = service_read_log(&managers[i]->service);
            size_t n = strlen(log), shown = 6000;

            fprintf(stderr, "--- log of the managed odeond%s\n%s---\n",
                    n > shown ? " (its end)" : "", n > shown ? log + n - shown : log);
            free(log);
            manager_end(managers[i]);
        }
}

static void remember(struct manager *manager)
{
    static bool registered;

    if (!registered)
        atexit(kill_at_exit);
    registered = true;
    for (unsigned i = 0; i < MANAGERS_MAX; i++)
        if (!managers[i]) {
            managers[i] = manager;
            return;
        }
    fail_msg("more than %d service managers", MANAGERS_MAX);
}

static void wake(struct manager *manager)
{
    uint64_t one = 1;

    assert_int_equal(write(manager->wake, &one, sizeof(one)), sizeof(one));
}

/* ---- the thread, under the mutex */

static void start_process(struct manager *manager)
{
    struct manager_spawn spawn = {
        .program = manager->program,
        .arguments = manager->arguments,
        .environment = manager->environment,
        .notify_path = manager->notify_path,
        .service = &manager->service,
        .listener = manager->listener,
        .store = &manager->store,
    };

    manager->ready = false;
    manager->pid = manager_spawn(&spawn);
    manager->pidfd = (int)syscall(SYS_pidfd_open, manager->pid, 0);
    if (manager->pid < 0 || manager->pidfd < 0)
        abort();
    manager->starts++;
    free(manager->environment);
    manager->environment = NULL;
}

/* manager.M1, manager.M3.  Takes the descriptors. */
static void take_message(struct manager *manager, char *text, const int *fds, size_t n_fds)
{
    bool store = false, drop = false, watch = true;
    const char *name = "stored";

    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (strcmp(line, "FDSTORE=1") == 0)
            store = true;
        else if (strcmp(line, "FDSTOREREMOVE=1") == 0)
            drop = true;
        else if (strcmp(line, "FDPOLL=0") == 0)
            watch = false;
        else if (strncmp(line, "FDNAME=", 7) == 0)
            name = line + 7;
        else if (strncmp(line, "STATUS=", 7) == 0)
            snprintf(manager->status, sizeof(manager->status), "%s", line + 7);
        else if (strcmp(line, "WATCHDOG=1") == 0)
            manager->feeds++;
        else if (strncmp(line, "EXTEND_TIMEOUT_USEC=", 20) == 0) {
            manager->extended_us = strtoul(line + 20, NULL, 10);
            manager->extensions++;
        } else if (strcmp(line, "READY=1") == 0 && !manager->ready) {
            manager->ready = true;
            manager->readies++;
        }
    }
    if (drop)
        manager_store_remove(&manager->store, name);
    for (size_t i = 0; i < n_fds; i++)
        if (store)
            manager_store_add(&manager->store, name, fds[i], watch);
        else
            close(fds[i]); /* a barrier's, too */
}

/* False: nothing more has arrived. */
static bool receive_message(struct manager *manager)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * DATAGRAM_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    char text[DATAGRAM_MAX + 1];
    struct iovec part = { .iov_base = text, .iov_len = DATAGRAM_MAX };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control) };
    ssize_t n = recvmsg(manager->notify, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fds[DATAGRAM_FDS_MAX];
    size_t n_fds = 0;
    pid_t sender = 0;

    if (n < 0)
        return false;
    text[n] = '\0';
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS) {
            n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(fds, CMSG_DATA(c), n_fds * sizeof(int));
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred credentials;

            memcpy(&credentials, CMSG_DATA(c), sizeof(credentials));
            sender = credentials.pid;
        }
    }
    if (sender == manager->pid && manager->pid != 0)
        take_message(manager, text, fds, n_fds);
    else
        for (size_t i = 0; i < n_fds; i++) /* manager.M4 */
            close(fds[i]);
    return true;
}

static void take_end(struct manager *manager)
{
    if (waitpid(manager->pid, &manager->last_status, WNOHANG) != manager->pid)
        return;
    while (receive_message(manager)) /* manager.M4 */
        ;
    close(manager->pidfd);
    manager->pidfd = -1;
    manager->pid = 0;
    manager->ready = false;
    manager->ends++;
    manager->crashes +=
        WIFSIGNALED(manager->last_status) && WTERMSIG(manager->last_status) != SIGKILL;
    manager->failures += WIFEXITED(manager->last_status) && WEXITSTATUS(manager->last_status) != 0;
    if (manager->wish == WISH_STOP)
        manager_store_clear(&manager->store); /* manager.M2 */
}

/* All that it has been told by now.  False: nothing. */
static bool take_messages(struct manager *manager)
{
    bool any = false;

    while (!manager->deaf && receive_message(manager))
        any = true;
    return any;
}

static void work(struct manager *manager)
{
    uint64_t count;

    while (read(manager->wake, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
    (void)take_messages(manager);
    manager_store_check(&manager->store);
    if (manager->pid > 0)
        take_end(manager);
    if (manager->pid == 0 && manager->wish == WISH_RUN && !manager->held)
        start_process(manager);
}

/* Nothing to lock around poll(): what it looks at is this thread's, and copied. */
static void *run(void *userdata)
{
    struct manager *manager = userdata;
    struct pollfd *fds = NULL;

    for (bool quit = false; !quit;) {
        size_t n;

        pthread_mutex_lock(&manager->mutex);
        work(manager);
        quit = manager->wish == WISH_QUIT;
        fds = realloc(fds, (3 + manager->store.n) * sizeof(*fds));
        if (!fds)
            abort();
        fds[0] = (struct pollfd){ .fd = manager->deaf ? -1 : manager->notify, .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = manager->wake, .events = POLLIN };
        fds[2] = (struct pollfd){ .fd = manager->pidfd, .events = POLLIN };
        n = 3 + manager_store_watched(&manager->store, fds + 3);
        pthread_mutex_unlock(&manager->mutex);
        if (!quit)
            poll(fds, n, -1);
    }
    free(fds);
    return NULL;
}

/* ---- for the tests */

static int make_notify_socket(struct manager *manager)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1, bytes = 8 << 20;

    snprintf(manager->notify_path, sizeof(manager->notify_path), "%s/notify", manager->service.dir);
    strcpy(address.sun_path, manager->notify_path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return fd;
}

static int make_listener(const struct manager *manager)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, manager->service.socket);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(chmod(address.sun_path, 0600), 0);
    assert_int_equal(listen(fd, SOMAXCONN), 0);
    return fd;
}

struct manager *manager_start(const struct manager_options *options)
{
    struct manager *manager = calloc(1, sizeof(*manager));

    assert_non_null(manager);
    service_make_dir(&manager->service);
    manager->program = strdup(options->program ? options->program : TEST_ODEOND);
    manager->arguments = options->arguments;
    manager->environment = options->environment ? strdup(options->environment) : NULL;
    manager->notify = make_notify_socket(manager);
    manager->listener = options->activate ? make_listener(manager) : -1;
    manager->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    manager->pidfd = -1;
    assert_true(manager->program && manager->wake >= 0);
    pthread_mutex_init(&manager->mutex, NULL);
    remember(manager);
    assert_int_equal(pthread_create(&manager->thread, NULL, run, manager), 0);
    assert_true(wait_until(manager_starts(manager) >= 1));
    return manager;
}

struct manager *manager_end(struct manager *manager)
{
    pid_t pid;

    for (unsigned i = 0; i < MANAGERS_MAX; i++)
        if (managers[i] == manager)
            managers[i] = NULL;
    pthread_mutex_lock(&manager->mutex);
    manager->wish = WISH_QUIT;
    pthread_mutex_unlock(&manager->mutex);
    wake(manager);
    pthread_join(manager->thread, NULL);
    pid = manager->pid;
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(manager->pidfd);
    }
    manager_store_clear(&manager->store);
    close(manager->notify);
    close(manager->wake);
    if (manager->listener >= 0)
        close(manager->listener);
    service_end(&manager->service);
    pthread_mutex_destroy(&manager->mutex);
    free(manager->program);
    free(manager->environment);
    free(manager);
    return NULL;
}

struct service *manager_service(struct manager *manager)
{
    return &manager->service;
}

/* What holds for all that odeond has told it by now, though its thread may have had no processor
 * since; which then watches what has come. */
#define LOCKED(manager_, expression_)                                                              \
    __extension__({                                                                                \
        pthread_mutex_lock(&(manager_)->mutex);                                                    \
        if (take_messages(manager_))                                                               \
            wake(manager_);                                                                        \
        __typeof__(expression_) locked_ = (expression_);                                           \
        pthread_mutex_unlock(&(manager_)->mutex);                                                  \
        locked_;                                                                                   \
    })

pid_t manager_pid(struct manager *manager)
{
    return LOCKED(manager, manager->pid);
}

unsigned manager_starts(struct manager *manager)
{
    return LOCKED(manager, manager->starts);
}

unsigned manager_readies(struct manager *manager)
{
    return LOCKED(manager, manager->readies);
}

unsigned manager_feeds(struct manager *manager)
{
    return LOCKED(manager, manager->feeds);
}

unsigned manager_crashes(struct manager *manager)
{
    return LOCKED(manager, manager->crashes);
}

unsigned manager_failures(struct manager *manager)
{
    return LOCKED(manager, manager->failures);
}

unsigned manager_extensions(struct manager *manager)
{
    return LOCKED(manager, manager->extensions);
}

unsigned long manager_extended_us(struct manager *manager)
{
    return LOCKED(manager, manager->extended_us);
}

char *manager_status(struct manager *manager)
{
    return LOCKED(manager, strdup(manager->status));
}

void manager_wait_ready(struct manager *manager)
{
    if (!wait_until(LOCKED(manager, manager->ready)))
        fail_msg("the managed odeond has not become ready within %d s (%u starts, %u ends)",
                 PATIENCE_S, manager->starts, manager->ends);
}

/* Sends the signal to the process that runs, and waits for its end. */
static int end_process(struct manager *manager, enum wish wish, int signal, pid_t *ret_pid)
{
    unsigned ends;
    pid_t pid;

    pthread_mutex_lock(&manager->mutex);
    ends = manager->ends;
    pid = manager->pid;
    manager->wish = wish;
    if (pid > 0)
        kill(pid, signal);
    pthread_mutex_unlock(&manager->mutex);
    if (pid == 0)
        fail_msg("no odeond runs that could be ended");
    if (!wait_until(LOCKED(manager, manager->ends) > ends))
        fail_msg("the managed odeond, process %d, has not ended within %d s", (int)pid, PATIENCE_S);
    if (ret_pid)
        *ret_pid = pid;
    return LOCKED(manager, manager->last_status);
}

pid_t manager_kill(struct manager *manager)
{
    pid_t pid = 0;

    end_process(manager, WISH_RUN, SIGKILL, &pid);
    return pid;
}

void manager_kill_and_wait(struct manager *manager)
{
    manager_kill(manager);
    manager_wait_ready(manager);
}

void manager_set(struct manager *manager, const char *setting)
{
    char text[1024];

    assert_int_equal(ctl_set(manager_service(manager), text, sizeof(text), setting), 0);
}

void manager_kill_executor(struct manager *manager)
{
    service_kill_executor(manager_service(manager));
}

void manager_kill_both(struct manager *manager)
{
    struct service *service = manager_service(manager);

    service->figures = odeon_stats_close(service->figures);
    manager_kill(manager);
    manager_wait_ready(manager);
}

int manager_restart(struct manager *manager)
{
    return end_process(manager, WISH_RUN, SIGTERM, NULL);
}

int manager_stop(struct manager *manager)
{
    return end_process(manager, WISH_STOP, SIGTERM, NULL);
}

void manager_start_again(struct manager *manager)
{
    unsigned starts;

    pthread_mutex_lock(&manager->mutex);
    starts = manager->starts;
    manager->wish = WISH_RUN;
    pthread_mutex_unlock(&manager->mutex);
    wake(manager);
    assert_true(wait_until(manager_starts(manager) > starts));
}

void manager_hold(struct manager *manager, bool held)
{
    pthread_mutex_lock(&manager->mutex);
    manager->held = held;
    pthread_mutex_unlock(&manager->mutex);
    wake(manager);
}

void manager_set_deaf(struct manager *manager, bool deaf)
{
    pthread_mutex_lock(&manager->mutex);
    manager->deaf = deaf;
    pthread_mutex_unlock(&manager->mutex);
    wake(manager);
}

/* Sockets that are full themselves are not what is meant: another one tries. */
void manager_fill(struct manager *manager)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    bool any = true;

    strcpy(address.sun_path, manager->notify_path);
    while (any) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        any = false;
        while (sendto(fd, "X=1", 3, 0, (struct sockaddr *)&address, sizeof(address)) == 3)
            any = true;
        close(fd);
    }
}

void manager_replace_socket(struct manager *manager)
{
    pthread_mutex_lock(&manager->mutex);
    close(manager->notify);
    unlink(manager->notify_path);
    manager->notify = make_notify_socket(manager);
    pthread_mutex_unlock(&manager->mutex);
    wake(manager);
}

void manager_set_program(struct manager *manager, const char *program, const char *const *arguments)
{
    pthread_mutex_lock(&manager->mutex);
    free(manager->program);
    manager->program = strdup(program ? program : TEST_ODEOND);
    manager->arguments = arguments;
    pthread_mutex_unlock(&manager->mutex);
}

void manager_set_environment(struct manager *manager, const char *environment)
{
    pthread_mutex_lock(&manager->mutex);
    free(manager->environment);
    manager->environment = environment ? strdup(environment) : NULL;
    pthread_mutex_unlock(&manager->mutex);
}

size_t manager_store_count(struct manager *manager, const char *prefix)
{
    return LOCKED(manager, manager_store_count_of(&manager->store, prefix));
}

int manager_store_get(struct manager *manager, const char *name)
{
    return LOCKED(manager, manager_store_dup(&manager->store, name));
}

char *manager_store_list(struct manager *manager)
{
    return LOCKED(manager, manager_store_format(&manager->store));
}

void manager_store_put(struct manager *manager, const char *name, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    assert_true(copy >= 0);
    pthread_mutex_lock(&manager->mutex);
    manager_store_add(&manager->store, name, copy, false);
    pthread_mutex_unlock(&manager->mutex);
}

void manager_store_drop(struct manager *manager, const char *name)
{
    pthread_mutex_lock(&manager->mutex);
    manager_store_remove(&manager->store, name);
    pthread_mutex_unlock(&manager->mutex);
}
