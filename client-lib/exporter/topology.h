/* SPDX-License-Identifier: Apache-2.0 */
/* Where a processor lies, as the kernel says. Any thread. */
#pragma once

/* Numbers that two processors have in common if they share the thing: of caches, their first
 * processor's; -1: not known. */
struct topology_place {
    int core, l2, l3, node;
};

struct topology_place topology_find(int cpu);
