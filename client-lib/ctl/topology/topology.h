/* SPDX-License-Identifier: Apache-2.0 */
/* Where a processor lies, as the kernel says. Any thread. */
#pragma once

/* Numbers that two processors have in common if they share the thing: of cores and caches, their
 * first processor's; -1: not known. */
struct topology_place {
    int core, l2, l3, node;
};

/* The folder that is asked, /sys/devices/system/cpu; tests have another. */
extern const char *topology_folder;

/* All -1 for a processor that there is not, or that is offline. */
struct topology_place topology_find(int cpu);
/* One more than the highest number of a processor. */
int topology_cpus(void);
