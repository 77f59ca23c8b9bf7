/* SPDX-License-Identifier: Apache-2.0 */
/* 27, A* search: workers that share what they have seen.
 *
 * The nodes of a grid of side `g`, in three dimensions, have drawn edges to those behind them. The
 * way from the first node to one at four fifths of each axis is looked for. A master gives nodes to
 * `w` workers in turn. A worker takes a node, and marks each neighbour that nobody has come to as
 * come to from there, in memory that all share; it goes on with what it has marked, first come,
 * first served, for up to `t` nodes. Then it sends the master what it has left, a message each, and
 * that it has worked. Who comes to the target says so, and the master stops all workers, as it does
 * when nothing is left to work on; each says that it stops and ends, and the master with the last.
 * Messages: as many as the master gets and sends. Check: from the target marks lead back to the
 * first node along edges, if there is a way.
 *
 * The suite's priorities are left out. The graph is made before the clock runs.
 */
#include "astar.h"
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

enum { ASTAR_WORKERS_MAX = 1000 };

ODEON_ARGUMENTS(astar_args, {
    uint32_t w;
    uint32_t g;
    uint32_t t;
});

ODEON_MESSAGE(astar_work, 1, { uint64_t node; });
ODEON_SIGNAL(astar_received, 1);
ODEON_SIGNAL(astar_done, 1);
ODEON_SIGNAL(astar_stop, 1);
ODEON_INTERFACE(astar_master, astar_work, astar_received, astar_done, astar_stop);
ODEON_INTERFACE(astar_worker, astar_work, astar_stop);

/* ---- workers ---- */

struct astar_actor_args {
    astar_master_ref master;
    struct astar_node *nodes;
    uint32_t n_nodes, target;
    struct astar_args args;
};

ODEON_STATE(astar_worker, { struct astar_actor_args of; });

ODEON_INIT(astar_worker, struct astar_actor_args)
{
    self->of = *args;
    return 0;
}

/* Marks what can be reached from the node, at the queue's end. True: the target is among it. */
static bool astar_expand(struct astar_worker_state *self, uint32_t node, uint32_t *queue,
                         uint32_t *n)
{
    struct astar_node *nodes = self->of.nodes;
    for (uint32_t i = 0; i < nodes[node].n; i++) {
        uint32_t next = nodes[node].neighbours[i], none = ASTAR_NONE;
        if (!atomic_compare_exchange_strong(&nodes[next].parent, &none, node + 1))
            continue;
        if (next == self->of.target)
            return true;
        queue[(*n)++] = next;
    }
    return false;
}

ODEON_RECEIVE(astar_worker, astar_work)
{
    uint32_t first = 0, n = 0;
    uint32_t *queue = malloc((ASTAR_NEIGHBOURS * (size_t)self->of.args.t + 1) * sizeof(queue[0]));
    bool found = false;
    if (queue == NULL) {
        program_fail(ctx, -ENOMEM);
        return ODEON_NODELETE;
    }
    queue[n++] = (uint32_t)msg->node;
    while (first < n && first < self->of.args.t && !found) {
        lcg_busy(100);
        found = astar_expand(self, queue[first++], queue, &n);
    }
    if (found)
        program_must(ctx, odeon_signal(ctx, self->of.master, astar_done));
    for (; first < n && !found; first++)
        program_must(ctx, odeon_send(ctx, self->of.master, astar_work, .node = queue[first]));
    free(queue);
    program_must(ctx, odeon_signal(ctx, self->of.master, astar_received));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(astar_worker, astar_stop)
{
    program_must(ctx, odeon_signal(ctx, self->of.master, astar_stop));
    return ODEON_DELETE;
}

ODEON_HANDLERS(astar_worker, ODEON_ON(astar_worker, astar_work),
               ODEON_ON(astar_worker, astar_stop));
ODEON_ACTOR_TYPE(astar_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(astar_master, {
    uint32_t w, stopped;
    uint64_t messages, sent, completed;
    astar_worker_ref workers[ASTAR_WORKERS_MAX];
});

ODEON_INIT(astar_master, struct astar_actor_args)
{
    struct astar_actor_args of = *args;
    of.master = odeon_self(ctx, astar_master);
    self->w = args->args.w;
    for (uint32_t i = 0; i < self->w; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->workers[i], astar_worker, .args = &of,
                                           .args_size = sizeof(of)));
    self->sent = self->messages = 1;
    return odeon_send(ctx, self->workers[0], astar_work, .node = 0);
}

static void astar_stop_all(struct astar_master_state *self, struct odeon_context *ctx)
{
    self->messages += self->w;
    for (uint32_t i = 0; i < self->w; i++)
        program_must(ctx, odeon_signal(ctx, self->workers[i], astar_stop));
}

ODEON_RECEIVE(astar_master, astar_work)
{
    self->messages += 2;
    program_must(
        ctx, odeon_send(ctx, self->workers[self->sent++ % self->w], astar_work, .node = msg->node));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(astar_master, astar_received)
{
    self->messages++;
    if (++self->completed == self->sent)
        astar_stop_all(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(astar_master, astar_done)
{
    self->messages++;
    astar_stop_all(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(astar_master, astar_stop)
{
    self->messages++;
    if (++self->stopped < self->w)
        return ODEON_NODELETE;
    program_report(ctx, .messages = self->messages);
    return ODEON_DELETE;
}

ODEON_HANDLERS(astar_master, ODEON_ON(astar_master, astar_work),
               ODEON_ON(astar_master, astar_received), ODEON_ON(astar_master, astar_done),
               ODEON_ON(astar_master, astar_stop));
ODEON_ACTOR_TYPE(astar_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_astar, {
    struct program program;
    struct astar_args args;
    struct astar_node *nodes;
    uint32_t n_nodes, target;
});

ODEON_FINI(savina_astar)
{
    free(self->nodes);
}

static void astar_accept(struct savina_astar_state *self)
{
    uint32_t g = self->args.g, axis = 4 * g / 5;
    program_range(&self->program, "w", self->args.w, 1, ASTAR_WORKERS_MAX);
    program_range(&self->program, "g", g, 2, 100);
    program_range(&self->program, "t", self->args.t, 1, 1000000);
    if (self->program.what[0] != '\0')
        return;
    self->n_nodes = g * g * g;
    self->target = (axis * g + axis) * g + axis;
    self->nodes = calloc(self->n_nodes, sizeof(self->nodes[0]));
    if (self->nodes != NULL)
        astar_connect_all(self->nodes, g);
}

static int astar_step(struct savina_astar_state *self, struct odeon_context *ctx)
{
    astar_master_ref master;
    self->program.awaited = 1;
    if (self->nodes == NULL)
        return -ENOMEM;
    return odeon_spawn_into(ctx, &master, astar_master,
                            ODEON_ARGS(struct astar_actor_args, .nodes = self->nodes,
                                       .n_nodes = self->n_nodes, .target = self->target,
                                       .args = self->args));
}

static void astar_verify(struct savina_astar_state *self)
{
    uint32_t node = self->target;
    bool found = self->nodes[node].parent != ASTAR_NONE;
    program_expect(&self->program, "target found", found,
                   astar_has_way(self->nodes, self->n_nodes, self->target));
    while (found && node != 0) {
        uint32_t parent = self->nodes[node].parent - 1;
        bool edge = false;
        for (uint32_t i = 0; parent < node && i < self->nodes[parent].n; i++)
            edge |= self->nodes[parent].neighbours[i] == node;
        program_expect(&self->program, "an edge of the way", edge, true);
        found = edge;
        node = parent;
    }
}

PROGRAM(astar);
