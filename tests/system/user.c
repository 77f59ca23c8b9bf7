/* SPDX-License-Identifier: Apache-2.0 */
/* See user.h. */
#include "tests/system/user.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/probe.h"

bool user_become(struct user user)
{
    return setgroups(user.group ? 1 : 0, &user.group) == 0 &&
           setresgid(user.gid, user.gid, user.gid) == 0 &&
           setresuid(user.uid, user.uid, user.uid) == 0;
}

/* Tried: root of a user namespace, or of a container, may be nobody else. */
bool user_can_change(void)
{
    int status = -1;
    pid_t pid;

    if (geteuid() != 0 || (pid = fork()) < 0)
        return false;
    if (pid == 0)
        _exit(user_become((struct user){ .uid = 41001, .gid = 41001, .group = 41900 }) ? 0 : 1);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

void service_start_for_users(struct service *service, const char *const *more)
{
    const char *arguments[24] = { SMALL_SERVICE, "--set", "socket-mode=0666",   "--set",
                                  "role-post=*", "--set", "quota-waiting-ms=0", "--plugin",
                                  TEST_PROBE };
    size_t n = 0;

    while (arguments[n])
        n++;
    while (*more)
        arguments[n++] = *more++;
    service_make_dir(service);
    assert_int_equal(chmod(service->dir, 0755), 0);
    service_spawn(service, arguments);
    service_wait_ready(service);
}

static struct outcome act_here(const char *socket, user_act act, void *argument)
{
    struct outcome outcome = { 0 };
    struct odeon_client *client = NULL;

    outcome.r = odeon_client_connect(socket, "somebody", &client);
    if (outcome.r == 0) {
        outcome.connected = true;
        outcome.r = act(client, argument);
    }
    if (outcome.r != 0)
        snprintf(outcome.text, sizeof(outcome.text), "%s", odeon_error_text());
    odeon_client_disconnect(client);
    return outcome;
}

struct outcome user_does(const struct service *service, struct user user, user_act act,
                         void *argument)
{
    struct outcome outcome = { 0 };
    int ends[2], status;
    pid_t parent = getpid(), pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!user_become(user) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(1);
        outcome = act_here(service->socket, act, argument);
        _exit(write(ends[1], &outcome, sizeof(outcome)) == (ssize_t)sizeof(outcome) ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return outcome;
}

void user_expects(const struct service *service, struct user user, user_act act, void *argument,
                  int r, const char *words)
{
    struct outcome outcome = user_does(service, user, act, argument);

    if (outcome.r != r || (words && !strstr(outcome.text, words)))
        fail_msg("user %u, group %u: %d (%s), expected %d%s%s", user.uid, user.group, outcome.r,
                 outcome.text, r, words ? " and the words: " : "", words ? words : "");
}

pid_t user_begin(const struct service *service, struct user user, user_life life)
{
    pid_t parent = getpid(), child = fork();
    struct odeon_client *client;

    assert_true(child >= 0);
    if (child > 0)
        return child;
    if (!user_become(user) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        odeon_client_connect(service->socket, "other user", &client) < 0)
        _exit(9);
    _exit(life(client));
}

int user_ended(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void user_kill(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)user_ended(child);
}

int user_calls(struct odeon_port *port, odeon_ref echo, uint32_t number_type, uint64_t n)
{
    struct odeon_delivery answer;

    for (uint64_t i = 1; port && i <= n; i++) {
        struct probe_number number = { .n = i, .origin = ODEON_NOBODY };

        if (odeon_port_post(port, echo, number_type, &number, sizeof(number)) < 0)
            return 2;
        if (odeon_port_receive_wait(port, &answer, SECONDS(PATIENCE_S)) != 1)
            return 3;
        if (answer.type != number_type)
            return 4; /* a refusal, for one */
        odeon_port_release(port);
    }
    return port ? 0 : 8;
}
