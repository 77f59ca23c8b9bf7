/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/topology/topology.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { TOPOLOGY_CPUS_SANE = 1 << 16 };

const char *topology_folder = "/sys/devices/system/cpu";

/* The number that the file begins with; -1: there is none. */
static int topology_read(int cpu, const char *name)
{
    char path[512];
    int value = -1;
    FILE *file;

    snprintf(path, sizeof(path), "%s/cpu%d/%s", topology_folder, cpu, name);
    file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &value) != 1)
        value = -1;
    fclose(file);
    return value;
}

static int topology_cache(int cpu, int level)
{
    char name[64];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "cache/index%d/level", i);
        if (topology_read(cpu, name) != level)
            continue;
        snprintf(name, sizeof(name), "cache/index%d/shared_cpu_list", i);
        return topology_read(cpu, name);
    }
    return -1;
}

static int topology_node(int cpu)
{
    char path[512];
    struct dirent *entry;
    int node = -1;
    DIR *folder;

    snprintf(path, sizeof(path), "%s/cpu%d", topology_folder, cpu);
    folder = opendir(path);
    if (!folder)
        return -1;
    while (node < 0 && (entry = readdir(folder)))
        if (sscanf(entry->d_name, "node%d", &node) != 1)
            node = -1;
    closedir(folder);
    return node;
}

struct topology_place topology_find(int cpu)
{
    struct topology_place none = { -1, -1, -1, -1 };

    if (cpu < 0)
        return none;
    return (struct topology_place){ .core = topology_read(cpu, "topology/thread_siblings_list"),
                                    .l2 = topology_cache(cpu, 2),
                                    .l3 = topology_cache(cpu, 3),
                                    .node = topology_node(cpu) };
}

int topology_cpus(void)
{
    struct dirent *entry;
    int cpu, n = 0;
    DIR *folder = opendir(topology_folder);

    if (!folder)
        return 0;
    while ((entry = readdir(folder)))
        if (sscanf(entry->d_name, "cpu%d", &cpu) == 1 && cpu >= n && cpu < TOPOLOGY_CPUS_SANE)
            n = cpu + 1;
    closedir(folder);
    return n;
}
