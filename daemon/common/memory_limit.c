/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/common/memory_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 };

/* A file with one number. False: there is none, or it says "max". */
static bool memory_limit_read_file(const char *folder, const char *name, uint64_t *ret_bytes)
{
    char path[PATH_BYTES];
    FILE *file;
    bool got;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    got = fscanf(file, "%" SCNu64, ret_bytes) == 1;
    fclose(file);
    return got;
}

/* The least bound of a group and of those above it, up to `root`. */
static uint64_t memory_limit_of_group(const char *root, const char *group, const char *name,
                                      uint64_t most)
{
    char folder[PATH_BYTES];
    uint64_t bytes;

    if (snprintf(folder, sizeof(folder), "%s%s", root, group) >= (int)sizeof(folder))
        return most;
    for (;;) {
        char *end = strrchr(folder, '/');

        if (memory_limit_read_file(folder, name, &bytes) && bytes < most)
            most = bytes;
        if (strlen(folder) <= strlen(root) || !end || end < folder + strlen(root))
            return most;
        *end = '\0';
    }
}

/* A line of /proc/self/cgroup: "0::/path" (version 2), "N:memory:/path" (version 1). */
static uint64_t memory_limit_of_line(const char *sys, char *line, uint64_t most)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    char root[PATH_BYTES];

    if (!group)
        return most;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (strcmp(controllers + 1, "memory") == 0) {
        snprintf(root, sizeof(root), "%s/memory", sys);
        return memory_limit_of_group(root, group, "memory.limit_in_bytes", most);
    }
    if (controllers[1] != '\0')
        return most;
    snprintf(root, sizeof(root), "%s/unified", sys);
    most = memory_limit_of_group(root, group, "memory.max", most);
    return memory_limit_of_group(sys, group, "memory.max", most);
}

uint64_t memory_limit_read(const char *proc, const char *sys, uint64_t machine_bytes)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    uint64_t most = machine_bytes ? machine_bytes : UINT64_MAX;
    FILE *file;

    if (snprintf(path, sizeof(path), "%s/cgroup", proc) >= (int)sizeof(path))
        return machine_bytes;
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        most = memory_limit_of_line(sys, line, most);
    if (file)
        fclose(file);
    return most == UINT64_MAX ? 0 : most;
}

uint64_t memory_limit_for_service(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return memory_limit_read("/proc/self", "/sys/fs/cgroup",
                             pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0);
}
