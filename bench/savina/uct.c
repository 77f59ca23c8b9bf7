/* SPDX-License-Identifier: Apache-2.0 */
/* 19, unbalanced cobwebbed tree: a tree that grows as its root allows.
 *
 * A root makes `b` nodes and has them try: each asks the root whether it is to have children. As
 * long as the tree has no more than `nodes`, the root tosses a coin, and tells the node to have b
 * of them, with numbers, and what they are to compute, drawn around `avg` with a deviation of
 * `stdev`; in `urgent` of a hundred cases one of them is marked. Such a node tells its parent, and
 * has its children try. When the tree is full, the root sends a traversal down to all, and the end
 * behind it, and ends. A node that computes does nothing here, as in the suite, where the compiler
 * takes its loop away.
 * Messages: 1 + 4 a node + 2 for each that has children. Check: as many nodes were traversed, and
 * ended, as there are.
 *
 * The end may overtake the word to have children, as they go by other ways. So a node that has made
 * its children tells the root, which waits for that: a message more, not counted. If the coin lets
 * the tree die out, which the suite does not provide for, that is its end, too.
 */
#include "java.h"
#include "program.h"

enum { UCT_CHILDREN_MAX = 16, UCT_TRAVERSED = 0, UCT_ENDED = 1 };

ODEON_ARGUMENTS(uct_args, {
    uint32_t nodes;
    uint32_t avg;
    uint32_t stdev;
    uint32_t b;
    uint32_t urgent;
});

ODEON_SIGNAL(uct_start, 1);
ODEON_SIGNAL(uct_try, 1);
ODEON_SIGNAL(uct_traverse, 1);
ODEON_SIGNAL(uct_terminate, 1);
ODEON_SIGNAL(uct_grown, 1);
ODEON_MESSAGE(uct_should, 1, { uint64_t height; });
ODEON_MESSAGE(uct_generate, 1, {
    uint32_t size, compute;
    int32_t urgent_child, reserved; /* -1: none */
});
ODEON_MESSAGE(uct_grant, 1, { uint64_t child; });
ODEON_INTERFACE(uct_root, uct_start, uct_should, uct_grown, uct_grant);
ODEON_INTERFACE(uct_node, uct_try, uct_generate, uct_grant, uct_traverse, uct_terminate);

/* ---- nodes ---- */

struct uct_node_args {
    uct_root_ref root;
    odeon_ref parent; /* a node, or the root */
    uint32_t id, height, b, compute;
    bool urgent;
};

ODEON_STATE(uct_node, {
    struct uct_node_args of;
    uint32_t n_children;
    uint32_t granted;
    uct_node_ref children[UCT_CHILDREN_MAX];
});

ODEON_INIT(uct_node, struct uct_node_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(uct_node, uct_try)
{
    program_must(ctx, odeon_send(ctx, self->of.root, uct_should, .height = self->of.height));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(uct_node, uct_generate)
{
    program_must(
        ctx, odeon_send_any(ctx, self->of.parent, uct_grant, .child = self->of.id % self->of.b));
    for (uint32_t i = 0; i < self->of.b; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &self->children[i], uct_node,
                                           ODEON_ARGS(struct uct_node_args, .root = self->of.root,
                                                      .parent = ctx->self, .id = msg->size + i,
                                                      .height = self->of.height + 1,
                                                      .b = self->of.b, .compute = msg->compute,
                                                      .urgent = (int32_t)i == msg->urgent_child)));
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_try));
    }
    self->n_children = self->of.b;
    program_must(ctx, odeon_signal(ctx, self->of.root, uct_grown));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(uct_node, uct_grant)
{
    self->granted |= UINT32_C(1) << msg->child;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(uct_node, uct_traverse)
{
    program_count(ctx, UCT_TRAVERSED);
    for (uint32_t i = 0; i < self->n_children; i++)
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_traverse));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(uct_node, uct_terminate)
{
    program_count(ctx, UCT_ENDED);
    for (uint32_t i = 0; i < self->n_children; i++)
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_terminate));
    return ODEON_DELETE;
}

ODEON_HANDLERS(uct_node, ODEON_ON(uct_node, uct_try), ODEON_ON(uct_node, uct_generate),
               ODEON_ON(uct_node, uct_grant), ODEON_ON(uct_node, uct_traverse),
               ODEON_ON(uct_node, uct_terminate));
ODEON_ACTOR_TYPE(uct_node, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the root ---- */

ODEON_STATE(uct_root, {
    struct uct_args args;
    struct java java;
    uint32_t size, height, granted, asked, growing;
    bool full;
    uct_node_ref children[UCT_CHILDREN_MAX];
});

ODEON_INIT(uct_root, struct uct_args)
{
    self->args = *args;
    java_seed(&self->java, 2);
    self->size = self->height = 1;
    return 0;
}

static uint32_t uct_normal(struct uct_root_state *self)
{
    long drawn;
    do
        drawn = lround(java_gaussian(&self->java) * self->args.stdev + self->args.avg);
    while (drawn <= 0);
    return (uint32_t)drawn;
}

ODEON_RECEIVE(uct_root, uct_start)
{
    self->height = 2;
    uint32_t compute = uct_normal(self);
    for (uint32_t i = 0; i < self->args.b; i++) {
        program_must(ctx, odeon_spawn_into(
                              ctx, &self->children[i], uct_node,
                              ODEON_ARGS(struct uct_node_args, .root = odeon_self(ctx, uct_root),
                                         .parent = ctx->self, .id = self->size + i, .height = 2,
                                         .b = self->args.b, .compute = compute)));
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_try));
    }
    self->size += self->args.b;
    return ODEON_NODELETE;
}

/* The tree is full, or has died out, and nobody is making children any more. */
static int uct_end_if_done(struct uct_root_state *self, struct odeon_context *ctx)
{
    if (self->growing > 0 || !(self->full || self->asked == self->size - 1))
        return ODEON_NODELETE;
    for (uint32_t i = 0; i < self->args.b; i++)
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_traverse));
    for (uint32_t i = 0; i < self->args.b; i++)
        program_must(ctx, odeon_signal(ctx, self->children[i], uct_terminate));
    program_report(ctx, .value = self->size,
                   .messages = 4 * (uint64_t)(self->size - 1) +
                               2 * (uint64_t)((self->size - 1) / self->args.b - 1));
    return ODEON_DELETE;
}

ODEON_RECEIVE(uct_root, uct_should)
{
    self->asked++;
    self->full |= self->size + self->args.b > self->args.nodes;
    if (!self->full && java_bool(&self->java)) {
        uint32_t compute = uct_normal(self);
        bool urgent = java_below(&self->java, 100) <= (int32_t)self->args.urgent;
        int32_t child = urgent ? java_below(&self->java, (int32_t)self->args.b) : -1;
        program_must(ctx,
                     odeon_send(ctx, odeon_as(uct_node, ctx->sender), uct_generate,
                                .size = self->size, .compute = compute, .urgent_child = child));
        self->growing++;
        self->size += self->args.b;
        if (self->height < msg->height + 1)
            self->height = (uint32_t)msg->height + 1;
    }
    return uct_end_if_done(self, ctx);
}

ODEON_RECEIVE(uct_root, uct_grown)
{
    self->growing--;
    return uct_end_if_done(self, ctx);
}

ODEON_RECEIVE(uct_root, uct_grant)
{
    self->granted |= UINT32_C(1) << msg->child;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(uct_root, ODEON_ON(uct_root, uct_start), ODEON_ON(uct_root, uct_should),
               ODEON_ON(uct_root, uct_grown), ODEON_ON(uct_root, uct_grant));
ODEON_ACTOR_TYPE(uct_root, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_uct, {
    struct program program;
    struct uct_args args;
});

static void uct_accept(struct savina_uct_state *self)
{
    program_range(&self->program, "b", self->args.b, 1, UCT_CHILDREN_MAX);
    program_range(&self->program, "nodes", self->args.nodes, (uint64_t)self->args.b + 1, 1000000);
    program_range(&self->program, "avg", self->args.avg, 1, 1000000);
    program_range(&self->program, "stdev", self->args.stdev, 1, 1000000);
    program_range(&self->program, "urgent", self->args.urgent, 1, 100);
}

static int uct_step(struct savina_uct_state *self, struct odeon_context *ctx)
{
    const struct uct_args *args = &self->args;
    uct_root_ref root;
    int r =
        odeon_spawn_into(ctx, &root, uct_root,
                         ODEON_ARGS(struct uct_args, .nodes = args->nodes, .avg = args->avg,
                                    .stdev = args->stdev, .b = args->b, .urgent = args->urgent));
    self->program.awaited = 1;
    self->program.messages = 1;
    return r < 0 ? r : odeon_signal(ctx, root, uct_start);
}

static void uct_verify(struct savina_uct_state *self)
{
    program_expect(&self->program, "traversed", program_counted(UCT_TRAVERSED),
                   self->program.value - 1);
    program_expect(&self->program, "ended", program_counted(UCT_ENDED), self->program.value - 1);
    if (self->args.nodes == 200000 && self->args.b == 10)
        program_expect(&self->program, "size", self->program.value, 199991);
}

PROGRAM(uct);
