/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/system/memory_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

static char memory_group[128];

static bool memory_group_write(const char *folder, const char *file, const char *text)
{
    char path[256];
    FILE *f;
    bool done;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    f = fopen(path, "we");
    if (!f)
        return false;
    done = fputs(text, f) >= 0;
    return fclose(f) == 0 && done;
}

bool memory_group_make(const char *bytes)
{
    static const struct {
        const char *root, *file;
    } kinds[] = { { "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
                  { "/sys/fs/cgroup", "memory.max" },
                  { "/sys/fs/cgroup/unified", "memory.max" } };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        snprintf(memory_group, sizeof(memory_group), "%s/odeon-test-%d", kinds[i].root,
                 (int)getpid());
        if (mkdir(memory_group, 0755) < 0)
            continue;
        if (memory_group_write(memory_group, kinds[i].file, bytes))
            return true;
        rmdir(memory_group);
    }
    memory_group[0] = '\0';
    return false;
}

static void memory_group_move_to(const char *folder)
{
    char pid[32];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    assert_true(memory_group_write(folder, "cgroup.procs", pid));
}

void memory_group_enter(void)
{
    if (!memory_group[0])
        return;
    memory_group_move_to(memory_group);
}

void memory_group_leave(void)
{
    char above[sizeof(memory_group)];

    if (!memory_group[0])
        return;
    snprintf(above, sizeof(above), "%s", memory_group);
    *strrchr(above, '/') = '\0';
    memory_group_move_to(above);
}

/* The two versions have other names for pages of processes. */
uint64_t memory_group_touched(void)
{
    char path[160], line[128];
    unsigned long long bytes, sum = 0;
    FILE *f;

    if (!memory_group[0])
        return 0;
    snprintf(path, sizeof(path), "%s/memory.stat", memory_group);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "rss %llu", &bytes) == 1 || sscanf(line, "anon %llu", &bytes) == 1 ||
            sscanf(line, "shmem %llu", &bytes) == 1)
            sum += bytes;
    fclose(f);
    return sum;
}

void memory_group_end(void)
{
    for (int i = 0; memory_group[0] && rmdir(memory_group) < 0 && i < 1000; i++)
        pause_briefly();
    memory_group[0] = '\0';
}
