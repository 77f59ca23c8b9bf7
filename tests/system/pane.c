/* SPDX-License-Identifier: Apache-2.0 */
/* A shell in a pane of tmux (pane.h). */
#include "tests/system/pane.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/scratch.h"
#include "tests/system/harness.h"

enum { WORDS_MAX = 24 };

/* Runs tmux with these words, up to NULL; what it prints, which the caller frees. NULL: it has
 * failed. */
static char *pane_ask(const struct pane *pane, const char *const *words)
{
    const char *argv[WORDS_MAX] = { "tmux", "-u", "-S", pane->socket };
    size_t n = 4, size = 0;
    char *text = NULL, buffer[4096];
    FILE *out;
    ssize_t got;
    int pipes[2], status = -1;
    pid_t child;

    while (*words && n + 1 < WORDS_MAX)
        argv[n++] = *words++;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO); /* its failure is enough */
        execvp("tmux", (char *const *)argv);
        _exit(127);
    }
    close(pipes[1]);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    while ((got = read(pipes[0], buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            fwrite(buffer, 1, (size_t)got, out);
    fclose(out);
    close(pipes[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return text;
    free(text);
    return NULL;
}

#define PANE_ASK(pane, ...) pane_ask((pane), (const char *const[]){ __VA_ARGS__, NULL })

static void pane_do(char *answer)
{
    assert_non_null(answer);
    free(answer);
}

bool pane_can_be(void)
{
    return system("tmux -V >/dev/null 2>&1") == 0;
}

static bool pane_answers(const struct pane *pane)
{
    char *answer = PANE_ASK(pane, "list-sessions");
    bool is = answer && *answer;

    free(answer);
    return is;
}

/* The server stays this test's child, and ends with it; its own child, the shell, gets a hangup. */
static pid_t pane_fork_server(const struct pane *pane)
{
    pid_t parent = getpid(), child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(127);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        execlp("tmux", "tmux", "-u", "-S", pane->socket, "-f", "/dev/null", "-D", (char *)NULL);
        _exit(127);
    }
    return child;
}

void pane_begin(struct pane *pane, const char *locale, const char *environment, unsigned columns,
                unsigned lines)
{
    char x[16], y[16], command[512];

    snprintf(pane->dir, sizeof(pane->dir), "/tmp/odeon-test.XXXXXX");
    assert_non_null(scratch_make(pane->dir));
    snprintf(pane->socket, sizeof(pane->socket), "%s/socket", pane->dir);
    snprintf(x, sizeof(x), "%u", columns);
    snprintf(y, sizeof(y), "%u", lines);
    pane->server = pane_fork_server(pane);
    assert_true(pane->server > 0);
    snprintf(command, sizeof(command), "exec env LC_ALL=%s PS1='shell: ' ENV= %s sh -i", locale,
             environment);
    /* until the server listens */
    assert_true(wait_until(pane_answers(pane) ||
                           (free(PANE_ASK(pane, "new-session", "-d", "-x", x, "-y", y, command)),
                            pane_answers(pane))));
    pane_expect(pane, "shell:");
}

void pane_end(struct pane *pane)
{
    if (pane->server <= 0)
        return;
    free(PANE_ASK(pane, "kill-server"));
    kill(pane->server, SIGTERM);
    while (waitpid(pane->server, NULL, 0) < 0 && errno == EINTR)
        ;
    pane->server = 0;
    unlink(pane->socket);
    rmdir(pane->dir);
}

void pane_type(const struct pane *pane, const char *text)
{
    pane_do(PANE_ASK(pane, "send-keys", "-l", "--", text));
}

void pane_press(const struct pane *pane, const char *key)
{
    pane_do(PANE_ASK(pane, "send-keys", key));
}

void pane_resize(const struct pane *pane, unsigned columns, unsigned lines)
{
    char x[16], y[16];

    snprintf(x, sizeof(x), "%u", columns);
    snprintf(y, sizeof(y), "%u", lines);
    pane_do(PANE_ASK(pane, "resize-window", "-x", x, "-y", y));
}

char *pane_read(const struct pane *pane, bool colours)
{
    char *text =
        colours ? PANE_ASK(pane, "capture-pane", "-e", "-p") : PANE_ASK(pane, "capture-pane", "-p");

    assert_non_null(text);
    return text;
}

bool pane_has(const struct pane *pane, const char *text)
{
    char *found = pane_read(pane, false);
    bool has = strstr(found, text) != NULL;

    free(found);
    return has;
}

bool pane_line_begins(const struct pane *pane, unsigned line, const char *text)
{
    char *found = pane_read(pane, false), *at = found;
    bool begins;

    for (unsigned i = 0; i < line && at; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    begins = at && strncmp(at, text, strlen(text)) == 0;
    free(found);
    return begins;
}

char *pane_tell(const struct pane *pane, const char *format)
{
    char *answer = PANE_ASK(pane, "display-message", "-p", format);

    assert_non_null(answer);
    return answer;
}

bool pane_is(const struct pane *pane, const char *format, const char *value)
{
    char *answer = pane_tell(pane, format);
    bool is = strncmp(answer, value, strlen(value)) == 0 && answer[strlen(value)] == '\n';

    free(answer);
    return is;
}

pid_t pane_child(const struct pane *pane)
{
    char path[64], *text = pane_tell(pane, "#{pane_pid}");
    int shell = atoi(text), child = 0;
    FILE *file;

    free(text);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", shell, shell);
    file = fopen(path, "re");
    assert_non_null(file);
    (void)fscanf(file, "%d", &child);
    fclose(file);
    assert_true(child > 0);
    return child;
}

void pane_expect(const struct pane *pane, const char *text)
{
    char *found;

    if (wait_until(pane_has(pane, text)))
        return;
    found = pane_read(pane, false);
    print_error("'%s' is not on the terminal:\n%s\n", text, found);
    free(found);
    fail();
}
