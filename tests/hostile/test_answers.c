/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that nobody reads: a user with many connections, each of which asks without end and never
 * receives, must not make odeond grow by more than its user's share, and nobody else waits.
 *
 * With default settings, but that they may ask as fast as odeond can answer, each connection asks
 * until it has been disconnected. What odeond has grown by is the kernel's figure.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "proto/bounds.h"
#include "proto/control.pb-c.h"
#include "tests/run/sanitized.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    CONNECTIONS = 40,
    QUOTA_MIB = 16, /* the default of quota-answer-bytes */
    /* the connections themselves, and what an allocator has and does not use */
    BESIDE_MIB = 12,
    REQUEST_MAX = 64,
    FRAMES_A_TURN = 16,
    /* more than a socket has room for, and less than ends a connection */
    FRAMES_SHOWN = 1000,
    LOOK_US = 20 * 1000
};

static const struct user attacker = { 41001, 41001, 0 }, innocent = { 41002, 41002, 0 };
static struct service service;
static _Atomic bool *shown_once; /* of all processes: what the attackers hold has been seen */

static unsigned long anonymous_kib(void)
{
    char path[64], line[256];
    unsigned long kib = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)service.pid);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        (void)sscanf(line, "RssAnon: %lu kB", &kib);
    fclose(f);
    assert_true(kib > 0);
    return kib;
}

/* ---- the attack; in a process of its own, where no assertion works */

static size_t pack_lookup(uint8_t *bytes, uint64_t id)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;

    lookup.name = (char[]){ "answers.echo" };
    request.id = id;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    return odeon__request__pack(&request, bytes);
}

/* Negative: it could not; otherwise a socket that has said hello. */
static int connect_deaf(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;

    strcpy(address.sun_path, service.socket);
    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char[]){ "deaf" };
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        frame_send(fd, &request.base, NULL, 0) < 0)
        return -1;
    return fd;
}

/* As much as the socket takes now; false: the service has ended the connection. */
static bool ask_on(int fd, uint64_t *ids)
{
    uint8_t bytes[REQUEST_MAX];

    for (int i = 0; i < FRAMES_A_TURN; i++) {
        size_t size = pack_lookup(bytes, ++*ids);

        if (send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return errno == EAGAIN;
    }
    return true;
}

/* Its exit status: 0, all connections have been ended by the service. When each has asked for some
 * answers it waits until these have been seen: nobody need be quick enough for that. */
static void ask_and_never_read(void)
{
    struct pollfd ends[CONNECTIONS];
    uint64_t ids = 1;
    int n = CONNECTIONS;

    for (int i = 0; i < CONNECTIONS; i++) {
        ends[i] = (struct pollfd){ .fd = connect_deaf(), .events = POLLOUT };
        if (ends[i].fd < 0)
            _exit(2);
    }
    while (n > 0) {
        while (ids > CONNECTIONS * FRAMES_SHOWN && !*shown_once)
            pause_briefly();
        (void)poll(ends, CONNECTIONS, 100);
        for (int i = 0; i < CONNECTIONS; i++)
            if (ends[i].fd >= 0 && ends[i].revents && !ask_on(ends[i].fd, &ids)) {
                ends[i].fd = -1; /* kept open, and of no use any more */
                n--;
            }
    }
    _exit(0);
}

static pid_t begin_attack(void)
{
    pid_t parent = getpid(), child = fork();

    assert_true(child >= 0);
    if (child > 0)
        return child;
    if (!user_become(attacker) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    ask_and_never_read();
    _exit(1);
}

/* ---- who has nothing to do with it */

static int look_up(struct odeon_client *client, void *argument)
{
    odeon_ref actor = ODEON_NOBODY;

    (void)argument;
    (void)odeon_client_set_patience(client, SECONDS(PATIENCE_S));
    return odeon_actor_find(client, "answers.echo", &actor);
}

/* What the attackers' connections hold, as root is shown it with each of them, so with another one
 * each time: to look at all of them each time costs odeond more than the attack. */
static uint64_t attackers_bytes(struct odeon_client *root)
{
    static size_t turn;
    struct odeon_list *list = NULL;
    uint64_t n = 0;
    bool found = false;

    assert_int_equal(odeon_client_list(root, 0, 0, &list), 0);
    turn++;
    for (size_t i = 0; i < list->n && !found; i++) {
        const struct odeon_client_info *row =
            &((const struct odeon_client_info *)list->rows)[(turn + i) % list->n];
        struct odeon_client_detail *detail = NULL;

        if (row->uid != attacker.uid || odeon_client_show(root, row->id, &detail) < 0)
            continue;
        found = true;
        for (size_t k = 0; k < detail->n_usage; k++)
            if (strcmp(detail->usage[k].name, "answer-bytes") == 0) {
                assert_int_equal(detail->usage[k].limit, (uint64_t)QUOTA_MIB << 20);
                assert_true(detail->usage[k].client <= detail->usage[k].user);
                n = detail->usage[k].user;
            }
        odeon_result_free(detail);
    }
    odeon_list_free(list);
    return n;
}

static void begin(void)
{
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_spawn(&service, (const char *const[]){
                                SMALL_SERVICE, "--set", "socket-mode=0666", "--set", "role-post=*",
                                "--set", "quota-requests=1000000", "--plugin", TEST_PROBE, NULL });
    service_wait_ready(&service);
    shown_once =
        mmap(NULL, sizeof(*shown_once), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shown_once, MAP_FAILED);
}

static int end(void **state)
{
    (void)state;
    if (shown_once)
        munmap((void *)shown_once, sizeof(*shown_once));
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void test_many_who_never_read(void **state)
{
    unsigned long before, most = 0;
    struct odeon_client *root;
    uint64_t shown = 0;
    int status = -1;
    pid_t child;

    (void)state;
    begin();
    root = service_connect(&service, "root");
    (void)spawn(root, "probe_echo", "answers.echo", NULL, 0);
    user_expects(&service, innocent, look_up, NULL, 0, NULL);
    before = anonymous_kib();
    child = begin_attack();
    while (waitpid(child, &status, WNOHANG) == 0) {
        unsigned long now = anonymous_kib();
        uint64_t bytes = attackers_bytes(root);

        most = now > most ? now : most;
        shown = bytes > shown ? bytes : shown;
        *shown_once = shown > 0;
        assert_true(bytes <= (uint64_t)QUOTA_MIB << 20);
        user_expects(&service, innocent, look_up, NULL, 0, NULL);
        usleep(LOOK_US);
    }
    print_message("# odeond grew by %lu KiB, %llu KiB are accounted for\n",
                  most > before ? most - before : 0, (unsigned long long)shown >> 10);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(shown > 0);
    if (!SANITIZED)
        assert_true(most <= before + (QUOTA_MIB + BESIDE_MIB) * 1024UL);
    assert_true(service_log_has(&service, "(quota-answer-bytes)"));
    assert_int_equal(attackers_bytes(root), 0);
    user_expects(&service, attacker, look_up, NULL, 0, NULL);
    odeon_client_disconnect(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_many_who_never_read, end),
    };

    return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
