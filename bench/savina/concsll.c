/* SPDX-License-Identifier: Apache-2.0 */
/* 9, concurrent sorted linked list: many ask one, who walks.
 *
 * As the dictionary, with a sorted list that is empty at first. A worker's request is, by its
 * generator, in `s` of a hundred cases for the size, which is counted, in `w` to insert a drawn
 * value, behind those that are equal, else whether the list contains a drawn value, for which the
 * list is walked to its end or to that value, also past larger ones.
 * Messages: e (2m + 2) + 1. Check: the list is as long as insertions were drawn, which does not
 * depend on their order, and is sorted; every request was answered.
 */
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

ODEON_ARGUMENTS(concsll_args, {
    uint32_t e;
    uint32_t m;
    uint32_t w;
    uint32_t s;
});

ODEON_SIGNAL(concsll_work, 1);
ODEON_MESSAGE(concsll_insert, 1, { int64_t value; });
ODEON_MESSAGE(concsll_contains, 1, { int64_t value; });
ODEON_SIGNAL(concsll_size, 1);
ODEON_MESSAGE(concsll_result, 1, { int64_t value; });
ODEON_SIGNAL(concsll_end, 1);
ODEON_INTERFACE(concsll_master, concsll_end);
ODEON_INTERFACE(concsll_worker, concsll_work, concsll_result);
ODEON_INTERFACE(concsll_list, concsll_insert, concsll_contains, concsll_size, concsll_end);

/* ---- the list ---- */

struct concsll_node {
    struct concsll_node *next;
    int64_t value;
};

ODEON_STATE(concsll_list, { struct concsll_node *first; });

ODEON_FINI(concsll_list)
{
    for (struct concsll_node *node = self->first, *next; node != NULL; node = next) {
        next = node->next;
        free(node);
    }
}

ODEON_RECEIVE(concsll_list, concsll_insert)
{
    struct concsll_node **at = &self->first, *node = malloc(sizeof(*node));
    if (node == NULL) {
        program_fail(ctx, -ENOMEM);
        return ODEON_DELETE;
    }
    while (*at != NULL && (*at)->value <= msg->value)
        at = &(*at)->next;
    *node = (struct concsll_node){ .next = *at, .value = msg->value };
    *at = node;
    program_must(ctx, odeon_reply(ctx, concsll_result, .value = msg->value));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concsll_list, concsll_contains)
{
    const struct concsll_node *node = self->first;
    while (node != NULL && node->value != msg->value)
        node = node->next;
    program_must(ctx, odeon_reply(ctx, concsll_result, .value = node != NULL));
    return ODEON_NODELETE;
}

static int64_t concsll_count(const struct concsll_node *node)
{
    int64_t n = 0;
    for (; node != NULL; node = node->next)
        n++;
    return n;
}

ODEON_RECEIVE(concsll_list, concsll_size)
{
    program_must(ctx, odeon_reply(ctx, concsll_result, .value = concsll_count(self->first)));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concsll_list, concsll_end)
{
    int64_t unsorted = 0;
    for (const struct concsll_node *node = self->first; node != NULL; node = node->next)
        unsorted += node->next != NULL && node->next->value < node->value;
    program_report(ctx, .value = concsll_count(self->first), .sum = (double)unsorted);
    return ODEON_DELETE;
}

ODEON_HANDLERS(concsll_list, ODEON_ON(concsll_list, concsll_insert),
               ODEON_ON(concsll_list, concsll_contains), ODEON_ON(concsll_list, concsll_size),
               ODEON_ON(concsll_list, concsll_end));
ODEON_ACTOR_TYPE(concsll_list, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- workers ---- */

struct concsll_worker_args {
    concsll_master_ref master;
    concsll_list_ref list;
    uint32_t id;
    struct concsll_args args;
};

ODEON_STATE(concsll_worker, {
    struct concsll_worker_args of;
    struct lcg lcg;
    uint32_t count;
});

ODEON_INIT(concsll_worker, struct concsll_worker_args)
{
    self->of = *args;
    self->lcg.v = args->id + args->args.m + 10 + 1;
    return 0;
}

static int concsll_go_on(struct concsll_worker_state *self, struct odeon_context *ctx)
{
    const struct concsll_args *args = &self->of.args;
    if (++self->count > args->m) {
        program_must(ctx, odeon_signal(ctx, self->of.master, concsll_end));
        program_report(ctx, .count = self->count - 1);
        return ODEON_DELETE;
    }
    uint32_t r = lcg_int(&self->lcg, 100);
    if (r < args->s)
        program_must(ctx, odeon_signal(ctx, self->of.list, concsll_size));
    else if (r < args->s + args->w)
        program_must(ctx,
                     odeon_send(ctx, self->of.list, concsll_insert, .value = lcg_next(&self->lcg)));
    else
        program_must(
            ctx, odeon_send(ctx, self->of.list, concsll_contains, .value = lcg_next(&self->lcg)));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(concsll_worker, concsll_work)
{
    return concsll_go_on(self, ctx);
}

ODEON_RECEIVE(concsll_worker, concsll_result)
{
    return concsll_go_on(self, ctx);
}

ODEON_HANDLERS(concsll_worker, ODEON_ON(concsll_worker, concsll_work),
               ODEON_ON(concsll_worker, concsll_result));
ODEON_ACTOR_TYPE(concsll_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(concsll_master, {
    concsll_list_ref list;
    uint32_t left;
});

ODEON_INIT(concsll_master, struct concsll_args)
{
    concsll_worker_ref worker;
    self->left = args->e;
    program_must(ctx, odeon_spawn_into(ctx, &self->list, concsll_list));
    for (uint32_t i = 0; i < args->e; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &worker, concsll_worker,
                                           ODEON_ARGS(struct concsll_worker_args,
                                                      .master = odeon_self(ctx, concsll_master),
                                                      .list = self->list, .id = i, .args = *args)));
        program_must(ctx, odeon_signal(ctx, worker, concsll_work));
    }
    return 0;
}

ODEON_RECEIVE(concsll_master, concsll_end)
{
    if (--self->left > 0)
        return ODEON_NODELETE;
    program_must(ctx, odeon_signal(ctx, self->list, concsll_end));
    return ODEON_DELETE;
}

ODEON_HANDLERS(concsll_master, ODEON_ON(concsll_master, concsll_end));
ODEON_ACTOR_TYPE(concsll_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_concsll, {
    struct program program;
    struct concsll_args args;
});

static void concsll_accept(struct savina_concsll_state *self)
{
    program_range(&self->program, "e", self->args.e, 1, 10000);
    program_range(&self->program, "m", self->args.m, 1, 1000000);
    program_range(&self->program, "w", self->args.w, 1, 49);
    program_range(&self->program, "s", self->args.s, 1, 99 - 2 * (uint64_t)self->args.w);
}

static int concsll_step(struct savina_concsll_state *self, struct odeon_context *ctx)
{
    concsll_master_ref master;
    self->program.awaited = self->args.e + 1;
    self->program.messages = self->args.e * (2 * (uint64_t)self->args.m + 2) + 1;
    return odeon_spawn_into(ctx, &master, concsll_master,
                            ODEON_ARGS(struct concsll_args, .e = self->args.e, .m = self->args.m,
                                       .w = self->args.w, .s = self->args.s));
}

static void concsll_verify(struct savina_concsll_state *self)
{
    const struct concsll_args *args = &self->args;
    int64_t insertions = 0;
    for (uint32_t i = 0; i < args->e; i++) {
        struct lcg lcg = { i + args->m + 10 + 1 };
        for (uint32_t j = 0; j < args->m; j++) {
            uint32_t r = lcg_int(&lcg, 100);
            insertions += r >= args->s && r < args->s + args->w;
            if (r >= args->s)
                lcg_next(&lcg);
        }
    }
    program_expect(&self->program, "length", self->program.value, insertions);
    program_expect(&self->program, "not sorted", (int64_t)self->program.sum, 0);
    program_expect(&self->program, "answers", self->program.count, (int64_t)args->e * args->m);
}

PROGRAM(concsll);
