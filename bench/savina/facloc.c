/* SPDX-License-Identifier: Apache-2.0 */
/* 20, online facility location: a tree of squares that split where it becomes too dear.
 *
 * A producer draws `n` customers in a square of side `g`, one when the last one has been taken, and
 * sends them to the root, a quadrant that is the square. A quadrant has a facility in its centre,
 * and knows others. It adds a customer's distance to the nearest one it knows to its cost; where
 * that exceeds `a` sqrt(2) g, it tells its parent of its facility, and makes four quadrants of its
 * quarters, which get the facilities that it knows and those of its customers that are inside,
 * their borders included; from then on it sends customers on, to the first quarter that they are
 * in. A quadrant that is told of a facility by a child tells its parent, and the child that lies
 * across; told by its parent, it tells all its children. Behind the customers the producer sends
 * the end: quadrants without children answer how many customers they have, the others what their
 * children have together, and how many facilities. Messages: as many as are sent. Check: no
 * customer is missing, and none is there twice but on borders.
 *
 * Customers and facilities that a child begins with are lists in memory, which it owns from then.
 */
#include "facloc.h"
#include "lcg.h"

ODEON_ARGUMENTS(facloc_args, {
    uint32_t n;
    uint32_t g;
    uint32_t a;
});

/* ---- the producer ---- */

struct facloc_producer_args {
    facloc_quadrant_ref root;
    uint32_t n, g;
};

ODEON_STATE(facloc_producer, {
    struct facloc_producer_args of;
    struct lcg lcg;
    uint32_t made;
});

ODEON_INIT(facloc_producer, struct facloc_producer_args)
{
    self->of = *args;
    self->lcg.v = LCG_SEED;
    return 0;
}

ODEON_RECEIVE(facloc_producer, facloc_next)
{
    if (self->made++ == self->of.n) {
        program_must(ctx, odeon_signal(ctx, self->of.root, facloc_exit));
        return ODEON_DELETE;
    }
    double x = lcg_double(&self->lcg) * self->of.g, y = lcg_double(&self->lcg) * self->of.g;
    program_must(ctx, odeon_send(ctx, self->of.root, facloc_customer, .x = x, .y = y,
                                 .producer = ctx->self));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(facloc_producer, ODEON_ON(facloc_producer, facloc_next));
ODEON_ACTOR_TYPE(facloc_producer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_facloc, {
    struct program program;
    struct facloc_args args;
});

static void facloc_accept(struct savina_facloc_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 10000000);
    program_range(&self->program, "g", self->args.g, 1, 1000000);
    program_range(&self->program, "a", self->args.a, 1, 1000);
}

static int facloc_step(struct savina_facloc_state *self, struct odeon_context *ctx)
{
    double g = self->args.g;
    facloc_quadrant_ref root;
    facloc_producer_ref producer;
    int r = odeon_spawn_into(ctx, &root, facloc_quadrant,
                             ODEON_ARGS(struct facloc_quadrant_args, .box = { 0, 0, g, g },
                                        .threshold = self->args.a * sqrt(2) * g,
                                        .position = FACLOC_ROOT));
    if (r == 0)
        r = odeon_spawn_into(ctx, &producer, facloc_producer,
                             ODEON_ARGS(struct facloc_producer_args, .root = root,
                                        .n = self->args.n, .g = self->args.g));
    if (r == 0)
        r = odeon_signal(ctx, producer, facloc_next);
    self->program.awaited = 1;
    self->program.messages = 1 + self->args.n + 1; /* to the producer first, and what it sends */
    return r;
}

static void facloc_verify(struct savina_facloc_state *self)
{
    int64_t n = self->args.n, customers = self->program.count;
    if (customers < n || customers > n + n / 100 + 4)
        program_expect(&self->program, "customers", customers, n);
    if (n == 100000 && self->args.g == 500 && self->args.a == 2) {
        program_expect(&self->program, "facilities", self->program.value, 14);
        program_expect(&self->program, "customers", customers, 100003);
    }
}

PROGRAM(facloc);
