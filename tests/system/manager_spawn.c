/* SPDX-License-Identifier: Apache-2.0 */
/* See manager_spawn.h.
 *
 * Other threads may hold any lock while this one forks: everything that the child needs is made
 * before, it makes system calls alone.
 */
#include "tests/system/manager_spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS_MAX = 64, FIRST_FD = 3 };

struct plan {
    char *words[WORDS_MAX];
    char **environment;
    char listen_pid[32]; /* the number is the child's to fill in */
    int *fds;            /* above all that they become */
    size_t n_fds;
    int log, null;
};

static char *format(const char *key, const char *value)
{
    char *text = NULL;

    if (asprintf(&text, "%s=%s", key, value) < 0)
        abort();
    return text;
}

static char *format_names(const struct manager_spawn *spawn)
{
    size_t bytes = 64;
    char *text;

    for (size_t i = 0; i < spawn->store->n; i++)
        bytes += strlen(spawn->store->kept[i].name) + 1;
    text = calloc(1, bytes);
    if (!text)
        abort();
    strcat(text, "LISTEN_FDNAMES=");
    if (spawn->listener >= 0)
        strcat(text, "control:");
    for (size_t i = 0; i < spawn->store->n; i++) {
        strcat(text, spawn->store->kept[i].name);
        strcat(text, ":");
    }
    text[strlen(text) - 1] = '\0';
    return text;
}

static void plan_environment(struct plan *plan, const struct manager_spawn *spawn)
{
    static const char *const replaced[] = { "NOTIFY_SOCKET=", "LISTEN_", "WATCHDOG_" };
    char number[24];
    size_t n = 0;

    while (environ[n])
        n++;
    plan->environment = calloc(n + 8, sizeof(char *));
    if (!plan->environment)
        abort();
    n = 0;
    for (char **from = environ; *from; from++) {
        bool drop = false;

        for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
            drop |= strncmp(*from, replaced[i], strlen(replaced[i])) == 0;
        if (!drop)
            plan->environment[n++] = strdup(*from);
    }
    plan->environment[n++] = format("NOTIFY_SOCKET", spawn->notify_path);
    if (spawn->environment)
        plan->environment[n++] = strdup(spawn->environment);
    if (plan->n_fds > 0) {
        snprintf(number, sizeof(number), "%zu", plan->n_fds);
        plan->environment[n++] = format("LISTEN_FDS", number);
        plan->environment[n++] = format_names(spawn);
        plan->environment[n++] = plan->listen_pid;
    }
}

/* Duplicates that no descriptor of the child's can collide with. */
static void plan_descriptors(struct plan *plan, const struct manager_spawn *spawn)
{
    size_t n = spawn->store->n + (spawn->listener >= 0);

    plan->fds = calloc(n + 1, sizeof(int));
    if (!plan->fds)
        abort();
    if (spawn->listener >= 0)
        plan->fds[plan->n_fds++] = fcntl(spawn->listener, F_DUPFD_CLOEXEC, (int)n + 16);
    for (size_t i = 0; i < spawn->store->n; i++)
        plan->fds[plan->n_fds++] = fcntl(spawn->store->kept[i].fd, F_DUPFD_CLOEXEC, (int)n + 16);
    plan->log = open(spawn->service->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    plan->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < plan->n_fds; i++)
        if (plan->fds[i] < 0)
            abort();
}

static void plan_words(struct plan *plan, const struct manager_spawn *spawn)
{
    char *config = NULL;
    unsigned n = 0;

    if (asprintf(&config, "%s/conf", spawn->service->dir) < 0)
        abort();
    plan->words[n++] = strdup(spawn->program);
    plan->words[n++] = strdup("--runtime-dir");
    plan->words[n++] = strdup(spawn->service->dir);
    plan->words[n++] = strdup("--config");
    plan->words[n++] = config;
    for (const char *const *word = spawn->arguments; word && *word && n < WORDS_MAX - 1; word++)
        plan->words[n++] = strdup(*word);
}

static void plan_free(struct plan *plan)
{
    for (char **word = plan->words; *word; word++)
        free(*word);
    for (char **entry = plan->environment; *entry; entry++)
        if (*entry != plan->listen_pid)
            free(*entry);
    free(plan->environment);
    for (size_t i = 0; i < plan->n_fds; i++)
        close(plan->fds[i]);
    free(plan->fds);
    close(plan->log);
    close(plan->null);
}

static void fill_in_pid(struct plan *plan)
{
    char digits[16];
    size_t n = 0, at = strlen("LISTEN_PID=");

    for (pid_t pid = getpid(); pid > 0; pid /= 10)
        digits[n++] = (char)('0' + pid % 10);
    memcpy(plan->listen_pid, "LISTEN_PID=", at);
    while (n > 0)
        plan->listen_pid[at++] = digits[--n];
    plan->listen_pid[at] = '\0';
}

static void __attribute__((noreturn)) become_odeond(struct plan *plan, pid_t parent)
{
    fill_in_pid(plan);
    if (dup2(plan->log, 1) < 0 || dup2(plan->log, 2) < 0 || dup2(plan->null, 0) < 0)
        _exit(126);
    for (size_t i = 0; i < plan->n_fds; i++)
        if (dup2(plan->fds[i], FIRST_FD + (int)i) < 0)
            _exit(126);
    syscall(SYS_close_range, FIRST_FD + (unsigned)plan->n_fds, ~0U, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        execve(plan->words[0], plan->words, plan->environment);
    _exit(126);
}

pid_t manager_spawn(const struct manager_spawn *spawn)
{
    struct plan plan = { .log = -1, .null = -1 };
    pid_t parent = getpid(), pid;

    plan_descriptors(&plan, spawn);
    plan_environment(&plan, spawn);
    plan_words(&plan, spawn);
    pid = fork();
    if (pid == 0)
        become_odeond(&plan, parent);
    plan_free(&plan);
    return pid;
}
