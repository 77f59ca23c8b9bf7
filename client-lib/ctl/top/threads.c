/* SPDX-License-Identifier: Apache-2.0 */
/* The workers' processor time (threads.h). */
#include "client-lib/ctl/top/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t threads_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The whole of a small file of a thread's folder; false: there is none. */
static bool threads_read(int folder, const char *thread, const char *file, char *text, size_t size)
{
    char path[300];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", thread, file);
    fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* In nanoseconds, or where the kernel does not count them in its ticks; UINT64_MAX: not known. */
static uint64_t threads_used_ns(int folder, const char *thread)
{
    char text[512], *end = NULL;
    unsigned long user, system;
    uint64_t ns;

    if (threads_read(folder, thread, "schedstat", text, sizeof(text))) {
        ns = strtoull(text, &end, 10);
        if (end != text)
            return ns;
    }
    if (!threads_read(folder, thread, "stat", text, sizeof(text)))
        return UINT64_MAX;
    end = strrchr(text, ')'); /* names may have blanks and brackets */
    if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                       &system) != 2)
        return UINT64_MAX;
    return (uint64_t)(user + system) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void threads_fill(DIR *folder, uint64_t used_ns[static THREADS_MAX])
{
    const struct dirent *thread;

    while ((thread = readdir(folder))) {
        char name[32];
        uint32_t worker;

        if (thread->d_name[0] != '.' &&
            threads_read(dirfd(folder), thread->d_name, "comm", name, sizeof(name)) &&
            sscanf(name, "worker/%" SCNu32, &worker) == 1 && worker < THREADS_MAX)
            used_ns[worker] = threads_used_ns(dirfd(folder), thread->d_name);
    }
}

void threads_look(struct threads *threads, pid_t process, double *shares, size_t n)
{
    uint64_t now_ns = threads_now_ns(), used_ns[THREADS_MAX];
    char path[64];
    DIR *folder;

    memset(used_ns, 0xff, sizeof(used_ns));
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    folder = process > 0 ? opendir(path) : NULL;
    if (folder) {
        threads_fill(folder, used_ns);
        closedir(folder);
    }
    for (size_t i = 0; i < n; i++) {
        bool known = i < THREADS_MAX && threads->process == process && used_ns[i] != UINT64_MAX &&
                     threads->used_ns[i] <= used_ns[i] && now_ns > threads->looked_ns;

        shares[i] = (double)NAN;
        if (known)
            shares[i] =
                (double)(used_ns[i] - threads->used_ns[i]) / (double)(now_ns - threads->looked_ns);
        if (shares[i] > 1)
            shares[i] = 1; /* the clock had been read when others had their turn */
    }
    threads->process = process;
    threads->looked_ns = now_ns;
    memcpy(threads->used_ns, used_ns, sizeof(used_ns));
}
