/* SPDX-License-Identifier: Apache-2.0 */
/* --check: counts the file again with the system's own tools, and compares line by line. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char pipeline[] = "tr -cs 'A-Za-z' '\\n' <\"$1\" | tr A-Z a-z | grep -v '^$' | sort | "
                               "uniq -c | sort -k1,1nr -k2,2 | "
                               "head -n \"$2\"";

/* Runs the pipeline; its output comes from *ret_stream. */
static int start_pipeline(const char *file, uint32_t top, pid_t *ret_pid, FILE **ret_stream)
{
    int ends[2];
    char lines[16];
    snprintf(lines, sizeof(lines), "%" PRIu32, top);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return wordcount_error(WORDCOUNT_FAILED, "no pipe: %s", strerror(errno));
    *ret_pid = fork();
    if (*ret_pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("LC_ALL", "C", 1);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", pipeline, "sh", file, lines, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *ret_stream = *ret_pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (*ret_stream == NULL) {
        close(ends[0]);
        return wordcount_error(WORDCOUNT_FAILED, "cannot start sh: %s", strerror(errno));
    }
    return 0;
}

/* Whether a line of the pipeline is the entry. */
static bool same(const char *line, const struct word_entry *entry)
{
    char *word;
    uint64_t count = strtoull(line, &word, 10);
    return *word == ' ' && count == entry->count && strlen(word + 1) == entry->length &&
           memcmp(word + 1, entry->text, entry->length) == 0;
}

int wordcount_check(const struct wordcount *wordcount)
{
    FILE *stream = NULL;
    pid_t pid = 0;
    char *line = NULL;
    size_t size = 0;
    uint32_t n = 0;
    ssize_t length;

    int r = start_pipeline(wordcount->options->file, wordcount->options->top, &pid, &stream);
    if (r != 0)
        return r;
    while (r == 0 && (length = getline(&line, &size, stream)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (n >= wordcount->n_top || !same(line, &wordcount->top[n]))
            r = wordcount_error(WORDCOUNT_DIFFERS,
                                "check: line %u of coreutils is \"%.200s\", ours is another", n + 1,
                                line);
        n++;
    }
    if (r == 0 && n != wordcount->n_top)
        r = wordcount_error(WORDCOUNT_DIFFERS, "check: coreutils has %u lines, we have %u", n,
                            wordcount->n_top);
    free(line);
    fclose(stream);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        r = wordcount_error(WORDCOUNT_FAILED, "check: the pipeline of coreutils failed");
    if (r == 0)
        fprintf(stderr, "check: equal to coreutils in all %u lines\n", n);
    return r;
}
