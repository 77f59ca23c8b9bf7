/* SPDX-License-Identifier: Apache-2.0 */
/* 25, all-pairs shortest paths: blocks of a matrix, in generations.
 *
 * A graph of `n` nodes has a drawn weight on each edge. An actor has a block of `b` by b of the
 * matrix of distances; the blocks of its row and its column are its neighbours. The head tells all
 * who there is, and then to begin: each sends its block to its neighbours. When an actor has the
 * blocks of all neighbours of a generation k - 1, it makes that of k: new[i][j] = min(own[i][j],
 * [i][k] + [k][j]), which are in its own block, or its neighbours'; it sends the new block to them
 * all, and ends with the generation n - 1. Messages: blocks (2 + 2 (n / b - 1) (n + 1)). Check: the
 * distances, as three loops have them.
 *
 * The suite keeps one block for each neighbour, and goes wrong where one is a generation ahead; it
 * is at most one, so two are kept here. That all know each other before the first begins is waited
 * for: a message more for each block, not counted. A block is a message's tail.
 */
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

enum { APSP_BLOCK_MAX = 90, APSP_NODES_MAX = 2000 };

ODEON_ARGUMENTS(apsp_args, {
    uint32_t n;
    uint32_t b;
});

ODEON_MESSAGE(apsp_neighbours, 1, { uint64_t table; }); /* a pointer */
ODEON_SIGNAL(apsp_begin, 1);
ODEON_MESSAGE_TAIL(apsp_result, 1, block, {
    uint32_t generation; /* its number, and one more */
    uint32_t id;
    int32_t block[];
});
ODEON_INTERFACE(apsp_actor, apsp_neighbours, apsp_begin, apsp_result);

struct apsp_table {
    struct apsp_args args;
    uint32_t side;                /* blocks of a row */
    int32_t *weights, *distances; /* n by n */
    apsp_actor_ref *actors;
};

/* ---- the actors ---- */

struct apsp_actor_args {
    const struct apsp_table *table;
    uint32_t id;
};

ODEON_STATE(apsp_actor, {
    const struct apsp_table *table;
    uint32_t id, generation; /* of its own block: its number, and one more */
    bool begun;              /* its first block has been sent */
    uint32_t came[2];        /* neighbours' blocks, by the parity of their generation */
    int32_t *blocks[2];      /* of all actors of the row, and of the column; [own place]: own */
});

ODEON_INIT(apsp_actor, struct apsp_actor_args)
{
    const struct apsp_table *table = args->table;
    uint32_t n = table->args.n, b = table->args.b;
    size_t size = (size_t)b * b, row = args->id / table->side, column = args->id % table->side;
    self->table = table;
    self->id = args->id;
    for (uint32_t i = 0; i < 2; i++) {
        self->blocks[i] = malloc(2 * table->side * size * sizeof(int32_t));
        if (self->blocks[i] == NULL) {
            program_fail(ctx, -ENOMEM);
            return -ENOMEM;
        }
    }
    for (uint32_t i = 0; i < b; i++)
        memcpy(self->blocks[0] + column * size + i * b,
               table->weights + (row * b + i) * n + column * b, b * sizeof(int32_t));
    return 0;
}

ODEON_FINI(apsp_actor)
{
    free(self->blocks[0]);
    free(self->blocks[1]);
}

/* Of its row, by their columns; of its column, by their rows, behind those. */
static int32_t *apsp_block(const struct apsp_actor_state *self, uint32_t generation, uint32_t id)
{
    uint32_t side = self->table->side, b = self->table->args.b;
    uint32_t place = id / side == self->id / side ? id % side : side + id / side;
    return self->blocks[generation % 2] + (size_t)place * b * b;
}

static void apsp_send(struct apsp_actor_state *self, struct odeon_context *ctx)
{
    uint32_t side = self->table->side, b = self->table->args.b, row = self->id / side,
             column = self->id % side;
    const int32_t *own = apsp_block(self, self->generation, self->id);
    for (uint32_t i = 0; i < 2 * side; i++) {
        uint32_t id = i < side ? row * side + i : (i - side) * side + column;
        if (id != self->id)
            program_must(ctx, odeon_send_tail(ctx, self->table->actors[id], apsp_result, own,
                                              b * b * sizeof(own[0]),
                                              .generation = self->generation, .id = self->id));
    }
}

static void apsp_compute(struct apsp_actor_state *self)
{
    uint32_t k = self->generation, side = self->table->side, b = self->table->args.b;
    const int32_t *own = apsp_block(self, k, self->id);
    const int32_t *to = apsp_block(self, k, self->id / side * side + k / b);
    const int32_t *from = apsp_block(self, k, k / b * side + self->id % side);
    int32_t *new = apsp_block(self, k + 1, self->id);
    for (uint32_t i = 0; i < b; i++)
        for (uint32_t j = 0; j < b; j++) {
            int32_t by = to[i * b + k % b] + from[k % b * b + j];
            new[i * b + j] = by < own[i * b + j] ? by : own[i * b + j];
        }
}

/* As far as it gets with the blocks that it has, once its neighbours have its first one: theirs may
 * all be here before it is told to begin. */
static int apsp_go_on(struct apsp_actor_state *self, struct odeon_context *ctx)
{
    const struct apsp_args *args = &self->table->args;
    uint32_t b = args->b, row = self->id / self->table->side, column = self->id % self->table->side;
    while (self->begun && self->came[self->generation % 2] == 2 * (self->table->side - 1)) {
        apsp_compute(self);
        self->came[self->generation % 2] = 0;
        self->generation++;
        apsp_send(self, ctx);
        if (self->generation < args->n)
            continue;
        for (uint32_t i = 0; i < b; i++)
            memcpy(self->table->distances + ((size_t)row * b + i) * args->n + column * b,
                   apsp_block(self, self->generation, self->id) + i * b, b * sizeof(int32_t));
        program_report(ctx, .count = 1);
        return ODEON_DELETE;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(apsp_actor, apsp_neighbours)
{
    self->table = (const struct apsp_table *)(uintptr_t)msg->table;
    program_must(ctx, odeon_signal(ctx, program_head, savina_ready));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(apsp_actor, apsp_begin)
{
    self->begun = true;
    apsp_send(self, ctx);
    return apsp_go_on(self, ctx);
}

ODEON_RECEIVE(apsp_actor, apsp_result)
{
    memcpy(apsp_block(self, msg->generation, msg->id), msg->block, odeon_tail_size(ctx, msg));
    self->came[msg->generation % 2]++;
    return apsp_go_on(self, ctx);
}

ODEON_HANDLERS(apsp_actor, ODEON_ON(apsp_actor, apsp_neighbours), ODEON_ON(apsp_actor, apsp_begin),
               ODEON_ON(apsp_actor, apsp_result));
ODEON_ACTOR_TYPE(apsp_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_apsp, {
    struct program program;
    struct apsp_args args;
    struct apsp_table table;
    bool told;
});

ODEON_FINI(savina_apsp)
{
    free(self->table.weights);
    free(self->table.actors);
}

static void apsp_draw(struct savina_apsp_state *self)
{
    struct apsp_table *table = &self->table;
    size_t n = self->args.n;
    struct lcg lcg = { n };
    table->args = self->args;
    table->side = self->args.n / self->args.b;
    table->weights = calloc(2 * n * n, sizeof(int32_t));
    table->actors = calloc((size_t)table->side * table->side, sizeof(table->actors[0]));
    if (table->weights == NULL || table->actors == NULL)
        return;
    table->distances = table->weights + n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            table->weights[i * n + j] = table->weights[j * n + i] = (int32_t)lcg_int(&lcg, 100) + 1;
}

static void apsp_accept(struct savina_apsp_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, APSP_NODES_MAX);
    program_range(&self->program, "b", self->args.b, 1, APSP_BLOCK_MAX);
    if (self->program.what[0] == '\0' && self->args.n % self->args.b != 0)
        program_refuse(&self->program, "b: does not divide n");
    if (self->program.what[0] == '\0')
        apsp_draw(self);
}

static int apsp_step(struct savina_apsp_state *self, struct odeon_context *ctx)
{
    struct apsp_table *table = &self->table;
    uint32_t blocks = table->side * table->side;
    int r = table->distances == NULL ? -ENOMEM : 0;
    for (uint32_t i = 0; i < blocks && r == 0 && !self->told; i++)
        r = odeon_spawn_into(ctx, &table->actors[i], apsp_actor,
                             ODEON_ARGS(struct apsp_actor_args, .table = table, .id = i));
    for (uint32_t i = 0; i < blocks && r == 0; i++)
        r = self->told
                ? odeon_signal(ctx, table->actors[i], apsp_begin)
                : odeon_send(ctx, table->actors[i], apsp_neighbours, .table = (uintptr_t)table);
    self->program.wanted = self->program.awaited = blocks;
    self->program.messages =
        blocks * (2 + 2 * (uint64_t)(table->side - 1) * (self->args.n + UINT64_C(1)));
    if (r < 0 || self->told)
        return r;
    self->told = true;
    return PROGRAM_WAIT;
}

static void apsp_verify(struct savina_apsp_state *self)
{
    size_t n = self->args.n;
    int32_t *d = self->table.weights;
    int64_t wrong = 0, sum = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j])
                    d[i * n + j] = d[i * n + k] + d[k * n + j];
    for (size_t i = 0; i < n * n; i++) {
        wrong += d[i] != self->table.distances[i];
        sum += d[i];
    }
    program_expect(&self->program, "wrong distances", wrong, 0);
    if (n == 300)
        program_expect(&self->program, "sum", sum, 401700);
}

PROGRAM(apsp);
