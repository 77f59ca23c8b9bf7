/* SPDX-License-Identifier: Apache-2.0 */
/* The quadrants of facility location: see facloc.c. */
#include "facloc.h"

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
