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
#include "program.h"

ODEON_ARGUMENTS(facloc_args, {
    uint32_t n;
    uint32_t g;
    uint32_t a;
});

enum facloc_position { FACLOC_TL, FACLOC_TR, FACLOC_BL, FACLOC_BR, FACLOC_ROOT };

ODEON_SIGNAL(facloc_next, 1);
ODEON_MESSAGE(facloc_customer, 1, {
    double x, y;
    odeon_ref producer;
});
ODEON_MESSAGE(facloc_facility, 1, {
    double x, y;
    uint32_t position; /* of the child that says so */
    uint32_t from_child;
});
ODEON_SIGNAL(facloc_exit, 1);
ODEON_MESSAGE(facloc_confirm, 1, { uint64_t facilities, customers, messages; });
ODEON_INTERFACE(facloc_producer, facloc_next);
ODEON_INTERFACE(facloc_quadrant, facloc_customer, facloc_facility, facloc_exit, facloc_confirm);

/* ---- quadrants ---- */

struct facloc_quadrant_args {
    odeon_ref parent; /* nobody: this is the root */
    struct facloc_box box;
    double threshold;
    uint32_t position;
    struct facloc_list facilities, customers; /* its own from now on */
};

ODEON_STATE(facloc_quadrant, {
    struct facloc_quadrant_args of;
    struct facloc_box boxes[4];
    facloc_quadrant_ref children[4];
    bool has_children;
    double cost;
    uint64_t messages, confirmed_facilities, confirmed_customers;
    uint32_t confirmed;
});

static void facloc_add(struct facloc_quadrant_state *self, struct odeon_context *ctx,
                       struct facloc_point p)
{
    if (!facloc_append(&self->of.customers, p))
        program_fail(ctx, -ENOMEM);
    self->cost += facloc_nearest(&self->of.facilities, p);
}

ODEON_INIT(facloc_quadrant, struct facloc_quadrant_args)
{
    struct facloc_list all = args->customers;
    self->of = *args;
    self->of.customers = (struct facloc_list){ .n = 0 };
    if (!facloc_append(&self->of.facilities, facloc_centre(&args->box)))
        program_fail(ctx, -ENOMEM);
    for (uint64_t i = 0; i < all.n; i++)
        if (facloc_is_inside(&args->box, all.points[i]))
            facloc_add(self, ctx, all.points[i]);
    facloc_clear(&all);
    return 0;
}

ODEON_FINI(facloc_quadrant)
{
    facloc_clear(&self->of.facilities);
    facloc_clear(&self->of.customers);
}

static void facloc_tell(struct facloc_quadrant_state *self, struct odeon_context *ctx,
                        facloc_quadrant_ref to, struct facloc_point p, bool from_child)
{
    self->messages++;
    program_must(ctx, odeon_send(ctx, to, facloc_facility, .x = p.x, .y = p.y,
                                 .position = self->of.position, .from_child = from_child));
}

static void facloc_tell_parent(struct facloc_quadrant_state *self, struct odeon_context *ctx,
                               struct facloc_point p)
{
    if (self->of.parent != ODEON_NOBODY)
        facloc_tell(self, ctx, odeon_as(facloc_quadrant, self->of.parent), p, true);
}

static void facloc_partition(struct facloc_quadrant_state *self, struct odeon_context *ctx)
{
    const struct facloc_box *box = &self->of.box;
    struct facloc_point c = facloc_centre(box);
    self->boxes[FACLOC_TL] = (struct facloc_box){ box->x1, c.y, c.x, box->y2 };
    self->boxes[FACLOC_TR] = (struct facloc_box){ c.x, c.y, box->x2, box->y2 };
    self->boxes[FACLOC_BL] = (struct facloc_box){ box->x1, box->y1, c.x, c.y };
    self->boxes[FACLOC_BR] = (struct facloc_box){ c.x, box->y1, box->x2, c.y };
    facloc_tell_parent(self, ctx, c);
    for (uint32_t i = 0; i < 4; i++) {
        struct facloc_quadrant_args of = { .parent = ctx->self,
                                           .box = self->boxes[i],
                                           .threshold = self->of.threshold,
                                           .position = i };
        if (!facloc_copy(&of.facilities, &self->of.facilities) ||
            !facloc_copy(&of.customers, &self->of.customers))
            program_fail(ctx, -ENOMEM);
        program_must(ctx, odeon_spawn_into(ctx, &self->children[i], facloc_quadrant, .args = &of,
                                           .args_size = sizeof(of)));
    }
    facloc_clear(&self->of.customers);
    self->has_children = true;
}

ODEON_RECEIVE(facloc_quadrant, facloc_customer)
{
    struct facloc_point p = { msg->x, msg->y };
    if (self->has_children) {
        uint32_t i = 0;
        while (i < 3 && !facloc_is_inside(&self->boxes[i], p))
            i++;
        self->messages++;
        program_must(ctx, odeon_forward(ctx, self->children[i], msg));
    } else {
        facloc_add(self, ctx, p);
        if (self->cost > self->of.threshold)
            facloc_partition(self, ctx);
    }
    if (self->of.parent == ODEON_NOBODY) {
        self->messages++;
        program_must(ctx, odeon_signal(ctx, odeon_as(facloc_producer, msg->producer), facloc_next));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(facloc_quadrant, facloc_facility)
{
    struct facloc_point p = { msg->x, msg->y };
    if (!facloc_append(&self->of.facilities, p))
        program_fail(ctx, -ENOMEM);
    if (msg->from_child) {
        facloc_tell_parent(self, ctx, p);
        facloc_tell(self, ctx, self->children[FACLOC_BR - msg->position], p, false);
    } else if (self->has_children) {
        for (uint32_t i = 0; i < 4; i++)
            facloc_tell(self, ctx, self->children[i], p, false);
    }
    return ODEON_NODELETE;
}

static int facloc_finish(struct facloc_quadrant_state *self, struct odeon_context *ctx)
{
    uint64_t facilities = self->has_children ? self->confirmed_facilities + 1 : 0;
    uint64_t customers = self->confirmed_customers + self->of.customers.n;
    if (self->of.parent == ODEON_NOBODY)
        program_report(ctx, .messages = self->messages, .count = (int64_t)customers,
                       .value = (int64_t)facilities);
    else
        program_must(ctx, odeon_send(ctx, odeon_as(facloc_quadrant, self->of.parent),
                                     facloc_confirm, .facilities = facilities,
                                     .customers = customers, .messages = self->messages + 1));
    return ODEON_DELETE;
}

ODEON_RECEIVE(facloc_quadrant, facloc_exit)
{
    if (!self->has_children)
        return facloc_finish(self, ctx);
    for (uint32_t i = 0; i < 4; i++)
        program_must(ctx, odeon_signal(ctx, self->children[i], facloc_exit));
    self->messages += 4;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(facloc_quadrant, facloc_confirm)
{
    self->confirmed_facilities += msg->facilities;
    self->confirmed_customers += msg->customers;
    self->messages += msg->messages;
    return ++self->confirmed < 4 ? ODEON_NODELETE : facloc_finish(self, ctx);
}

ODEON_HANDLERS(facloc_quadrant, ODEON_ON(facloc_quadrant, facloc_customer),
               ODEON_ON(facloc_quadrant, facloc_facility), ODEON_ON(facloc_quadrant, facloc_exit),
               ODEON_ON(facloc_quadrant, facloc_confirm));
ODEON_ACTOR_TYPE(facloc_quadrant, ODEON_POLICY(ODEON_RESTART_STOP));

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
