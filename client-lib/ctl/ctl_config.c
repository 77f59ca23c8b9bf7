/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl config: what the daemon beside this program says of a configuration. The daemon reads it
 * as it does at its start; no service is asked or disturbed. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/json.h"
#include "client-lib/ctl/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIG_USUAL "/etc/odeon/odeond.conf"
enum { CONFIG_LINES_MAX = 64 };

extern char **environ;

struct config_answer {
    size_t n;
    char *line[CONFIG_LINES_MAX];
    bool right;
};

/* The daemon that was built or installed with this program. */
static bool config_find_daemon(char path[static PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *name;

    if (n <= 0)
        return false;
    path[n] = '\0';
    name = strrchr(path, '/') + 1;
    if ((size_t)(name - path) + sizeof("odeond") > PATH_MAX)
        return false;
    strcpy(name, "odeond");
    return access(path, X_OK) == 0;
}

/* Both of its streams go to `out`. 0, or an error number. `file` NULL: what a start without
 * --config reads, for which it need not be there. */
static int config_spawn(const char *program, const char *file, int out, pid_t *ret_pid)
{
    const char *const words[] = { program, "--check", file ? "--config" : NULL, file, NULL };
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn(ret_pid, program, &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* What is behind "TIME PROGRAM[PID]: " in a line of its log. */
static const char *config_line_text(const char *line)
{
    const char *end = strstr(line, "]: ");

    return end ? end + 3 : line;
}

static void config_read(FILE *in, struct config_answer *answer)
{
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (answer->n < CONFIG_LINES_MAX)
            answer->line[answer->n++] = strdup(config_line_text(line));
    }
    free(line);
}

/* 0, or the exit code, after a message. */
static int config_ask(struct ctl *ctl, const char *file, struct config_answer *answer)
{
    char program[PATH_MAX];
    int ends[2], status = -1, r;
    pid_t pid;
    FILE *in;

    if (!config_find_daemon(program))
        return ctl_fail(ctl, CTL_REFUSED, "cannot check %s: there is no odeond beside this program",
                        file);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ctl_fail(ctl, CTL_REFUSED, "cannot check %s: %s", file, strerror(errno));
    r = config_spawn(program, ctl->n_words ? file : NULL, ends[1], &pid);
    close(ends[1]);
    in = r == 0 ? fdopen(ends[0], "r") : NULL;
    if (in)
        config_read(in, answer);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    if (r != 0)
        return ctl_fail(ctl, CTL_REFUSED, "cannot run %s: %s", program, strerror(r));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    answer->right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return 0;
}

static void config_print(struct ctl *ctl, const char *file, const struct config_answer *answer)
{
    struct json json;

    if (!ctl->json) {
        for (size_t i = 0; i < answer->n; i++) {
            printable_put(ctl->out, answer->line[i] ? answer->line[i] : "?", false);
            fputc('\n', ctl->out);
        }
        return;
    }
    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "config");
    json_string(&json, "file", file);
    json_bool(&json, "right", answer->right);
    json_begin_array(&json, "lines");
    for (size_t i = 0; i < answer->n; i++)
        if (answer->line[i])
            json_string(&json, NULL, answer->line[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_end_document(&json);
}

int ctl_config_check(struct ctl *ctl)
{
    const char *file = ctl->n_words ? ctl->words[0] : CONFIG_USUAL;
    struct config_answer answer = { 0 };
    int code = config_ask(ctl, file, &answer);

    if (code == 0) {
        config_print(ctl, file, &answer);
        code = answer.right ? CTL_DONE : CTL_REFUSED;
    }
    for (size_t i = 0; i < answer.n; i++)
        free(answer.line[i]);
    return code;
}
