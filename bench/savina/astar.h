/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of A* search. Edges lead only to nodes behind: of higher numbers. */
#ifndef ASTAR_H
#define ASTAR_H

#include "java.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { ASTAR_NEIGHBOURS = 7, ASTAR_NONE = 0 };

struct astar_node {
    _Atomic uint32_t parent; /* its number, and one more; 0: nobody has come here */
    uint32_t n, neighbours[ASTAR_NEIGHBOURS];
};

static inline uint32_t astar_beside(uint32_t g, uint32_t node, uint32_t c)
{
    uint32_t at[] = { node / (g * g), node / g % g, node % g }, result = 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t next = at[axis] + (c >> (2 - axis) & 1);
        result = result * g + (next < g ? next : g - 1);
    }
    return result;
}

static inline void astar_connect(struct astar_node *node, uint32_t self, uint32_t other)
{
    for (uint32_t i = 0; i < node->n; i++)
        if (node->neighbours[i] == other)
            return;
    if (other != self)
        node->neighbours[node->n++] = other;
}

/* Of a grid of this side; the nodes are zero. */
static inline void astar_connect_all(struct astar_node *nodes, uint32_t g)
{
    struct java java;
    java_seed(&java, 123456);
    for (uint32_t i = 0; i < g * g * g; i++)
        for (uint32_t c = 1; c < 7; c++) /* all but the node itself, and the one across */
            if ((c == 6 && nodes[i].n == 0) || java_bool(&java))
                astar_connect(&nodes[i], i, astar_beside(g, i, c));
}

/* One look at each node, in order, finds all ways. */
static inline bool astar_has_way(const struct astar_node *nodes, uint32_t n, uint32_t target)
{
    bool *seen = calloc(n, sizeof(*seen)), way = false;
    for (uint32_t i = 0; i <= target && seen != NULL; i++)
        for (uint32_t j = 0; j < nodes[i].n && (i == 0 || seen[i]); j++)
            seen[nodes[i].neighbours[j]] = true;
    if (seen != NULL)
        way = seen[target];
    free(seen);
    return way;
}

#endif
