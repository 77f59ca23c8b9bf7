/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/scrape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

enum { WORDS = 32, ANSWER_MOST = 16 << 20 };

/* ---- the program */

static __attribute__((noreturn)) void become_exporter(const struct user *user, char **words,
                                                      int err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(err, STDERR_FILENO) >= 0 &&
        (!user || user_become(*user)))
        execv(words[0], words);
    _exit(127);
}

static pid_t spawn_exporter(const struct user *user, char **words, FILE **ret_err)
{
    int err[2];
    pid_t pid;

    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become_exporter(user, words, err[1]);
    close(err[1]);
    *ret_err = fdopen(err[0], "r");
    assert_non_null(*ret_err);
    return pid;
}

static void make_token(const char *path, const struct user *user)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(SCRAPE_TOKEN "\n", file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    if (user)
        assert_int_equal(fchown(fileno(file), user->uid, user->gid), 0);
    assert_int_equal(fclose(file), 0);
}

struct exporter exporter_start(const struct service *service, const struct user *user,
                               const char *const *more)
{
    char token[96], line[256] = "", *colon;
    char *words[WORDS] = { (char *)TEST_EXPORTER,
                           (char *)"--stats",
                           (char *)service->stats,
                           (char *)"--socket",
                           (char *)service->socket,
                           (char *)"--token-file",
                           token,
                           (char *)"--listen",
                           (char *)"127.0.0.1:0" };
    struct exporter exporter;
    unsigned n = 9;
    FILE *err;

    snprintf(token, sizeof(token), "%s/token", service->dir);
    make_token(token, user);
    for (; more && *more; more++) {
        assert_true(n < WORDS - 1);
        words[n++] = (char *)*more;
    }
    exporter.pid = spawn_exporter(user, words, &err);
    while (fgets(line, sizeof(line), err) && !strstr(line, "listening on"))
        printf("%s", line);
    colon = strrchr(line, ':');
    if (!strstr(line, "listening on") || !colon)
        fail_msg("the exporter does not listen: %s", line);
    exporter.port = (unsigned short)atoi(colon + 1);
    fclose(err); /* nothing else is said */
    return exporter;
}

int exporter_stop(struct exporter *exporter)
{
    int status;

    assert_int_equal(kill(exporter->pid, SIGTERM), 0);
    assert_int_equal(waitpid(exporter->pid, &status, 0), exporter->pid);
    exporter->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int exporter_refused(const char *const *more, char *text, size_t size)
{
    char *words[WORDS] = { (char *)TEST_EXPORTER };
    unsigned n = 1;
    int status;
    pid_t pid;
    FILE *err;

    for (; *more; more++)
        words[n++] = (char *)*more;
    pid = spawn_exporter(NULL, words, &err);
    text[fread(text, 1, size - 1, err)] = '\0';
    fclose(err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- HTTP */

int scrape_connect(const struct exporter *exporter)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(exporter->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval patience = { .tv_sec = PATIENCE_S };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

char *scrape_raw(const struct exporter *exporter, const char *request, size_t n)
{
    int fd = scrape_connect(exporter);
    char *text = malloc(ANSWER_MOST);
    size_t got = 0;
    ssize_t more = -1;

    assert_true(fd >= 0);
    assert_non_null(text);
    if (send(fd, request, n, MSG_NOSIGNAL) == (ssize_t)n)
        while ((more = recv(fd, text + got, ANSWER_MOST - 1 - got, 0)) > 0)
            got += (size_t)more;
    close(fd);
    text[got] = '\0';
    if (more < 0 || got == 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *scrape_get(const struct exporter *exporter, const char *path, const char *headers, int status)
{
    char *request = NULL, *answer, line[32];
    int n = asprintf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
                     path, headers);

    assert_true(n > 0);
    answer = scrape_raw(exporter, request, (size_t)n);
    free(request);
    snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    if (!answer || strncmp(answer, line, strlen(line)) != 0)
        fail_msg("GET %s was answered, not with %d: %.200s", path, status,
                 answer ? answer : "by nothing");
    return answer;
}

char *scrape_metrics(const struct exporter *exporter, bool token)
{
    return scrape_get(exporter, "/metrics",
                      token ? "Authorization: Bearer " SCRAPE_TOKEN "\r\n" : "", 200);
}

static double add_values(const char *answer, const char *name, bool all)
{
    size_t n = strlen(name);
    double sum = -1;

    for (const char *at = strstr(answer, name); at; at = strstr(at + 1, name)) {
        const char *value = strchr(at, ' ');

        if (at == answer || at[-1] != '\n' || !value || (at[n] != ' ' && !(all && at[n] == '{')))
            continue;
        sum = (sum < 0 ? 0 : sum) + strtod(value, NULL);
    }
    return sum;
}

double scrape_value(const char *answer, const char *name)
{
    return add_values(answer, name, false);
}

double scrape_sum(const char *answer, const char *name)
{
    return add_values(answer, name, true);
}

double scrape_now(const struct exporter *exporter, const char *name)
{
    char *answer = scrape_metrics(exporter, false);
    double value = scrape_sum(answer, name);

    free(answer);
    return value;
}
