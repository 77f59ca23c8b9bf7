/* SPDX-License-Identifier: Apache-2.0 */
/* See usage.h. */
#include "tests/siege/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/harness.h"

const char *const usage_names[USAGES] = { "odeond", "control", "workers", "honest" };

/* 0s where the kernel does not say. */
static struct usage usage_of_thread(pid_t pid, long tid)
{
    unsigned long long ran = 0, waited = 0, times = 0;
    char path[96];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/schedstat", (int)pid, tid);
    f = fopen(path, "re");
    if (f && fscanf(f, "%llu %llu %llu", &ran, &waited, &times) != 3)
        ran = waited = times = 0;
    if (f)
        fclose(f);
    return (struct usage){ (int64_t)ran, (int64_t)waited, times };
}

/* The first thread's, and all others'. */
static void add_threads(pid_t pid, struct usage *first, struct usage *others)
{
    struct dirent *entry;
    char path[64];
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        long tid = strtol(entry->d_name, NULL, 10);
        struct usage *sum = tid == pid ? first : others, one = usage_of_thread(pid, tid);

        sum->ran_ns += one.ran_ns;
        sum->waited_ns += one.waited_ns;
        sum->times += one.times;
    }
    if (dir)
        closedir(dir);
}

void usage_take(pid_t odeond, pid_t executor, pid_t honest, struct usage *all)
{
    memset(all, 0, USAGES * sizeof(*all));
    add_threads(odeond, &all[USAGE_ODEOND], &all[USAGE_ODEOND]);
    add_threads(executor, &all[USAGE_CONTROL], &all[USAGE_WORKERS]);
    /* also of threads that have ended */
    all[USAGE_WORKERS].ran_ns = (int64_t)process_cpu_ns(executor) - all[USAGE_CONTROL].ran_ns;
    add_threads(honest, &all[USAGE_HONEST], &all[USAGE_HONEST]);
}

int64_t usage_machine_ns(void)
{
    unsigned long long user = 0, nice = 0, system = 0;
    FILE *f = fopen("/proc/stat", "re");

    if (f && fscanf(f, "cpu %llu %llu %llu", &user, &nice, &system) != 3)
        user = nice = system = 0;
    if (f)
        fclose(f);
    return (int64_t)(user + nice + system) * (SECONDS(1) / sysconf(_SC_CLK_TCK));
}

struct usage usage_since(const struct usage *now, const struct usage *before)
{
    return (struct usage){ now->ran_ns - before->ran_ns, now->waited_ns - before->waited_ns,
                           now->times - before->times };
}
