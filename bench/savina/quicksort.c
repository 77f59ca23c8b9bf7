/* SPDX-License-Identifier: Apache-2.0 */
/* 24, quicksort: a tree of actors that split a list.
 *
 * The head draws `n` numbers, and sends them to a first actor. Who gets a list that is shorter than
 * `t` sorts it. Else it takes the number in its middle, makes two actors, sends one what is less
 * and the other what is more, and keeps what is equal; when both have sent theirs back, sorted, it
 * puts the three together. Who has a sorted list sends it to its parent, and ends.
 * Messages: two an actor, less one. Check: n numbers in order, with the sum of those drawn.
 *
 * A message holds no list of this length. Lists are in memory, and belong to who has the message
 * with the pointer.
 */
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

enum { QUICKSORT_SEED = 1024 };

ODEON_ARGUMENTS(quicksort_args, {
    uint32_t n;
    uint32_t t;
});

struct quicksort_list {
    uint64_t n;
    int64_t values[];
};

ODEON_MESSAGE(quicksort_sort, 1, { uint64_t list; }); /* pointers */
ODEON_MESSAGE(quicksort_result, 1, {
    uint64_t list;
    uint32_t position;
    uint32_t actors; /* that have worked on it */
});
ODEON_INTERFACE(quicksort_actor, quicksort_sort, quicksort_result);

enum { QUICKSORT_LEFT, QUICKSORT_EQUAL, QUICKSORT_RIGHT, QUICKSORT_PARTS };

static struct quicksort_list *quicksort_new(uint64_t n)
{
    struct quicksort_list *list = malloc(sizeof(*list) + n * sizeof(list->values[0]));
    if (list != NULL)
        list->n = 0;
    return list;
}

static void quicksort_free(struct quicksort_list *parts[QUICKSORT_PARTS])
{
    for (uint32_t i = 0; i < QUICKSORT_PARTS; i++) {
        free(parts[i]);
        parts[i] = NULL;
    }
}

/* What is less than its middle, equal, and more; the list is freed. */
static bool quicksort_split(struct quicksort_list *list,
                            struct quicksort_list *parts[QUICKSORT_PARTS])
{
    int64_t pivot = list->values[list->n / 2];
    bool all = true;
    for (uint32_t i = 0; i < QUICKSORT_PARTS; i++)
        all = (parts[i] = quicksort_new(list->n)) != NULL && all;
    for (uint64_t i = 0; i < list->n && all; i++) {
        int64_t value = list->values[i];
        uint32_t where = value < pivot    ? QUICKSORT_LEFT
                         : value == pivot ? QUICKSORT_EQUAL
                                          : QUICKSORT_RIGHT;
        parts[where]->values[parts[where]->n++] = value;
    }
    free(list);
    if (!all)
        quicksort_free(parts);
    return all;
}

static struct quicksort_list *quicksort_join(struct quicksort_list *parts[QUICKSORT_PARTS])
{
    struct quicksort_list *list = NULL;
    if (parts[QUICKSORT_LEFT] != NULL && parts[QUICKSORT_RIGHT] != NULL)
        list = quicksort_new(parts[0]->n + parts[1]->n + parts[2]->n);
    for (uint32_t i = 0; i < QUICKSORT_PARTS && list != NULL; i++) {
        memcpy(list->values + list->n, parts[i]->values, parts[i]->n * sizeof(int64_t));
        list->n += parts[i]->n;
    }
    quicksort_free(parts);
    return list;
}

/* A new list, in order; the old one is freed. NULL: no memory. */
static struct quicksort_list *quicksort_alone(struct quicksort_list *list)
{
    struct quicksort_list *parts[QUICKSORT_PARTS];
    if (list == NULL || list->n < 2)
        return list;
    if (!quicksort_split(list, parts))
        return NULL;
    parts[QUICKSORT_LEFT] = quicksort_alone(parts[QUICKSORT_LEFT]);
    parts[QUICKSORT_RIGHT] = quicksort_alone(parts[QUICKSORT_RIGHT]);
    return quicksort_join(parts);
}

/* ---- the actors ---- */

struct quicksort_actor_args {
    quicksort_actor_ref parent; /* nobody: this is the first */
    uint32_t position, t;
};

ODEON_STATE(quicksort_actor, {
    struct quicksort_actor_args of;
    struct quicksort_list *parts[QUICKSORT_PARTS];
    uint32_t results, actors;
});

ODEON_INIT(quicksort_actor, struct quicksort_actor_args)
{
    self->of = *args;
    self->actors = 1;
    return 0;
}

static void quicksort_report(const struct quicksort_list *list, uint32_t actors,
                             struct odeon_context *ctx)
{
    int64_t sum = 0, unsorted = 0;
    for (uint64_t i = 0; i < list->n; i++) {
        sum += list->values[i];
        unsorted += i > 0 && list->values[i] < list->values[i - 1];
    }
    program_report(ctx, .messages = 2 * (uint64_t)actors - 1, .value = sum,
                   .count = (int64_t)list->n, .sum = (double)unsorted);
}

static int quicksort_finish(struct quicksort_actor_state *self, struct odeon_context *ctx,
                            struct quicksort_list *list)
{
    if (list == NULL) {
        program_fail(ctx, -ENOMEM);
    } else if (self->of.parent.ref == ODEON_NOBODY) {
        quicksort_report(list, self->actors, ctx);
        free(list);
    } else {
        program_must(ctx,
                     odeon_send(ctx, self->of.parent, quicksort_result, .list = (uintptr_t)list,
                                .position = self->of.position, .actors = self->actors));
    }
    return ODEON_DELETE;
}

ODEON_RECEIVE(quicksort_actor, quicksort_sort)
{
    struct quicksort_list *list = (struct quicksort_list *)(uintptr_t)msg->list;
    if (list->n < self->of.t)
        return quicksort_finish(self, ctx, quicksort_alone(list));
    if (!quicksort_split(list, self->parts))
        return quicksort_finish(self, ctx, NULL);
    for (uint32_t i = QUICKSORT_LEFT; i <= QUICKSORT_RIGHT; i += QUICKSORT_RIGHT) {
        quicksort_actor_ref child;
        program_must(ctx, odeon_spawn_into(ctx, &child, quicksort_actor,
                                           ODEON_ARGS(struct quicksort_actor_args,
                                                      .parent = odeon_self(ctx, quicksort_actor),
                                                      .position = i, .t = self->of.t)));
        program_must(ctx,
                     odeon_send(ctx, child, quicksort_sort, .list = (uintptr_t)self->parts[i]));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(quicksort_actor, quicksort_result)
{
    self->parts[msg->position] = (struct quicksort_list *)(uintptr_t)msg->list;
    self->actors += msg->actors;
    if (++self->results < 2)
        return ODEON_NODELETE;
    return quicksort_finish(self, ctx, quicksort_join(self->parts));
}

ODEON_HANDLERS(quicksort_actor, ODEON_ON(quicksort_actor, quicksort_sort),
               ODEON_ON(quicksort_actor, quicksort_result));
ODEON_ACTOR_TYPE(quicksort_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_quicksort, {
    struct program program;
    struct quicksort_args args;
    struct quicksort_list *list;
    int64_t drawn; /* their sum */
});

static void quicksort_accept(struct savina_quicksort_state *self)
{
    struct lcg lcg = { QUICKSORT_SEED };
    program_range(&self->program, "n", self->args.n, 1, 100000000);
    program_range(&self->program, "t", self->args.t, 2, 100000000);
    if (self->program.what[0] == '\0')
        self->list = quicksort_new(self->args.n);
    for (uint32_t i = 0; i < self->args.n && self->list != NULL; i++)
        self->drawn += self->list->values[self->list->n++] = lcg_next(&lcg);
}

static int quicksort_step(struct savina_quicksort_state *self, struct odeon_context *ctx)
{
    quicksort_actor_ref root;
    self->program.awaited = 1;
    if (self->list == NULL)
        return -ENOMEM;
    int r = odeon_spawn_into(ctx, &root, quicksort_actor,
                             ODEON_ARGS(struct quicksort_actor_args, .t = self->args.t));
    return r < 0 ? r : odeon_send(ctx, root, quicksort_sort, .list = (uintptr_t)self->list);
}

static void quicksort_verify(struct savina_quicksort_state *self)
{
    program_expect(&self->program, "numbers", self->program.count, self->args.n);
    program_expect(&self->program, "not in order", (int64_t)self->program.sum, 0);
    program_expect(&self->program, "sum", self->program.value, self->drawn);
}

PROGRAM(quicksort);
