/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix search: short handlers that all wait for, and long ones that have their data somewhere.
 * Not of the suite, but of the work on locality-guided scheduling, which was measured with it.
 *
 * There are `c` controllers with `s` seekers each. A seeker has a matrix of `m` times `m` letters,
 * drawn from `l`. A controller gives each of its seekers `n` jobs, one at a time: a drawn word of
 * `w` letters, which the seeker looks for along the columns of its matrix, against the way in which
 * that lies in memory. It answers how often the word is there, which also says that it is ready.
 * `job`: 1, a seeker that has answered has its next job at once; 2, when all of its controller's
 * have. Behind the last answer the controller ends its seekers and itself.
 * Messages: c * (1 + 2 s n + s). Check: how often all words have been found, counted in another
 * way, row by row with all words of a matrix at once.
 *
 * `hub` and `seek` say where controllers and seekers live: 1, the next queue of the next worker
 * (ODEON_PLACE_EACH); 2, with whoever sends to them (FOLLOW); 3, on a memory node (NODE), one
 * behind the other on `nodes` of them; 4, with one worker for life (PINNED). A matrix is filled by
 * its seeker's first job, on the worker that runs that, so its pages are on that one's node.
 */
#include "../savina/program.h"

#include <stdlib.h>

enum { MATRIXSEARCH_SEEKERS_MAX = 10000, MATRIXSEARCH_WORD_MAX = 12, MATRIXSEARCH_LETTER_BITS = 5 };
#define MATRIXSEARCH_BYTES_MAX (UINT64_C(16) << 30) /* of all matrices */

ODEON_ARGUMENTS(matrixsearch_args, {
    uint32_t c;
    uint32_t s;
    uint32_t m;
    uint32_t n;
    uint32_t w;
    uint32_t l;
    uint32_t job;
    uint32_t hub;
    uint32_t seek;
    uint32_t nodes;
});

ODEON_SIGNAL(matrixsearch_start, 1);
ODEON_MESSAGE(matrixsearch_job, 1, { uint64_t word; }); /* its letters, the first one highest */
ODEON_MESSAGE(matrixsearch_found, 1, {
    uint64_t seeker; /* by its number with its controller */
    uint64_t count;
});
ODEON_SIGNAL(matrixsearch_stop, 1);
ODEON_INTERFACE(matrixsearch_seeker, matrixsearch_job, matrixsearch_stop);
ODEON_INTERFACE(matrixsearch_controller, matrixsearch_start, matrixsearch_found);

/* ---- what is drawn: the same whoever draws it ---- */

static uint64_t matrixsearch_draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D) >> 33;
}

static uint64_t matrixsearch_seed(uint64_t a, uint64_t b)
{
    uint64_t state =
        (a + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ (b + 1) * UINT64_C(0xD1B54A32D192ED03);
    return state != 0 ? state : 1;
}

/* The matrix of the seeker with this number among all; NULL: there is no memory. */
static uint8_t *matrixsearch_fill(const struct matrixsearch_args *args, uint64_t seeker)
{
    size_t cells = (size_t)args->m * args->m;
    uint64_t state = matrixsearch_seed(seeker, UINT32_MAX);
    uint8_t *matrix = malloc(cells);
    for (size_t i = 0; matrix != NULL && i < cells; i++)
        matrix[i] = (uint8_t)(matrixsearch_draw(&state) % args->l);
    return matrix;
}

static uint64_t matrixsearch_word(const struct matrixsearch_args *args, uint64_t seeker,
                                  uint32_t job)
{
    uint64_t state = matrixsearch_seed(seeker, job), word = 0;
    for (uint32_t i = 0; i < args->w; i++)
        word = word << MATRIXSEARCH_LETTER_BITS | matrixsearch_draw(&state) % args->l;
    return word;
}

/* ---- seekers ---- */

struct matrixsearch_seeker_args {
    matrixsearch_controller_ref controller;
    struct matrixsearch_args args;
    uint32_t number, among_all;
};

ODEON_STATE(matrixsearch_seeker, {
    struct matrixsearch_seeker_args of;
    uint8_t *matrix;
});

ODEON_INIT(matrixsearch_seeker, struct matrixsearch_seeker_args)
{
    self->of = *args;
    return 0;
}

ODEON_FINI(matrixsearch_seeker)
{
    free(self->matrix);
}

static bool matrixsearch_is_at(const uint8_t *at, uint32_t m, const uint8_t *letters, uint32_t w)
{
    for (uint32_t i = 0; i < w; i++, at += m)
        if (*at != letters[i])
            return false;
    return true;
}

/* Column by column: each step is a row further on in memory. */
static uint64_t matrixsearch_search(const struct matrixsearch_args *args, const uint8_t *matrix,
                                    uint64_t word)
{
    uint8_t letters[MATRIXSEARCH_WORD_MAX];
    uint64_t count = 0;
    for (uint32_t i = args->w; i-- > 0; word >>= MATRIXSEARCH_LETTER_BITS)
        letters[i] = word & ((1u << MATRIXSEARCH_LETTER_BITS) - 1);
    for (size_t column = 0; column < args->m; column++)
        for (size_t row = 0; row + args->w <= args->m; row++)
            count += matrixsearch_is_at(&matrix[row * args->m + column], args->m, letters, args->w);
    return count;
}

ODEON_RECEIVE(matrixsearch_seeker, matrixsearch_job)
{
    if (self->matrix == NULL)
        self->matrix = matrixsearch_fill(&self->of.args, self->of.among_all);
    if (self->matrix == NULL) {
        program_fail(ctx, -ENOMEM);
        return ODEON_DELETE;
    }
    program_must(ctx,
                 odeon_send(ctx, self->of.controller, matrixsearch_found, .seeker = self->of.number,
                            .count = matrixsearch_search(&self->of.args, self->matrix, msg->word)));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(matrixsearch_seeker, matrixsearch_stop)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(matrixsearch_seeker, ODEON_ON(matrixsearch_seeker, matrixsearch_job),
               ODEON_ON(matrixsearch_seeker, matrixsearch_stop));
ODEON_ACTOR_TYPE(matrixsearch_seeker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- controllers ---- */

static enum odeon_placement matrixsearch_place(uint32_t where)
{
    static const enum odeon_placement places[] = { ODEON_PLACE_EACH, ODEON_PLACE_FOLLOW,
                                                   ODEON_PLACE_NODE, ODEON_PLACE_PINNED };
    return places[where - 1];
}

struct matrixsearch_controller_args {
    struct matrixsearch_args args;
    uint32_t number;
};

ODEON_STATE(matrixsearch_controller, {
    struct matrixsearch_controller_args of;
    uint64_t found, answers;
    matrixsearch_seeker_ref seekers[MATRIXSEARCH_SEEKERS_MAX];
    uint32_t given[MATRIXSEARCH_SEEKERS_MAX]; /* jobs, to each */
});

ODEON_INIT(matrixsearch_controller, struct matrixsearch_controller_args)
{
    self->of = *args;
    return 0;
}

static void matrixsearch_give(struct matrixsearch_controller_state *self, struct odeon_context *ctx,
                              uint32_t i)
{
    const struct matrixsearch_args *args = &self->of.args;
    uint64_t among_all = (uint64_t)self->of.number * args->s + i;
    program_must(ctx, odeon_send(ctx, self->seekers[i], matrixsearch_job,
                                 .word = matrixsearch_word(args, among_all, self->given[i]++)));
}

static void matrixsearch_give_all(struct matrixsearch_controller_state *self,
                                  struct odeon_context *ctx)
{
    for (uint32_t i = 0; i < self->of.args.s; i++)
        matrixsearch_give(self, ctx, i);
}

ODEON_RECEIVE(matrixsearch_controller, matrixsearch_start)
{
    const struct matrixsearch_args *args = &self->of.args;
    for (uint32_t i = 0; i < args->s; i++) {
        uint32_t among_all = self->of.number * args->s + i;
        program_must(
            ctx, odeon_spawn_into(ctx, &self->seekers[i], matrixsearch_seeker,
                                  .placement = matrixsearch_place(args->seek),
                                  .place = args->seek == 3 ? among_all % args->nodes : 0,
                                  ODEON_ARGS(struct matrixsearch_seeker_args,
                                             .controller = odeon_self(ctx, matrixsearch_controller),
                                             .args = *args, .number = i, .among_all = among_all)));
    }
    matrixsearch_give_all(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(matrixsearch_controller, matrixsearch_found)
{
    const struct matrixsearch_args *args = &self->of.args;
    uint64_t all = (uint64_t)args->s * args->n;
    self->found += msg->count;
    if (++self->answers == all) {
        for (uint32_t i = 0; i < args->s; i++)
            program_must(ctx, odeon_signal(ctx, self->seekers[i], matrixsearch_stop));
        program_report(ctx, .count = (int64_t)self->answers, .value = (int64_t)self->found);
        return ODEON_DELETE;
    }
    if (args->job == 1 && self->given[msg->seeker] < args->n)
        matrixsearch_give(self, ctx, (uint32_t)msg->seeker);
    if (args->job == 2 && self->answers % args->s == 0)
        matrixsearch_give_all(self, ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(matrixsearch_controller, ODEON_ON(matrixsearch_controller, matrixsearch_start),
               ODEON_ON(matrixsearch_controller, matrixsearch_found));
ODEON_ACTOR_TYPE(matrixsearch_controller, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_matrixsearch, {
    struct program program;
    struct matrixsearch_args args;
});

static void matrixsearch_accept(struct savina_matrixsearch_state *self)
{
    struct program *program = &self->program;
    const struct matrixsearch_args *args = &self->args;
    program_range(program, "c", args->c, 1, 100);
    program_range(program, "s", args->s, 1, MATRIXSEARCH_SEEKERS_MAX);
    program_range(program, "m", args->m, 1, 20000);
    program_range(program, "n", args->n, 1, 100000);
    program_range(program, "w", args->w, 1, MATRIXSEARCH_WORD_MAX);
    program_range(program, "l", args->l, 1, 26);
    program_range(program, "job", args->job, 1, 2);
    program_range(program, "hub", args->hub, 1, 4);
    program_range(program, "seek", args->seek, 1, 4);
    program_range(program, "nodes", args->nodes, 1, 64);
    if (args->w > args->m)
        program_refuse(program, "w: is more than m");
    else if ((uint64_t)args->c * args->s * args->m * args->m > MATRIXSEARCH_BYTES_MAX)
        program_refuse(program, "m: the matrices would take more than 16 GiB");
}

static int matrixsearch_step(struct savina_matrixsearch_state *self, struct odeon_context *ctx)
{
    const struct matrixsearch_args *args = &self->args;
    int r = 0;
    for (uint32_t i = 0; i < args->c && r == 0; i++) {
        matrixsearch_controller_ref controller;
        r = odeon_spawn_into(
            ctx, &controller, matrixsearch_controller, .placement = matrixsearch_place(args->hub),
            .place = args->hub == 3 ? i % args->nodes : 0,
            ODEON_ARGS(struct matrixsearch_controller_args, .args = *args, .number = i));
        if (r == 0)
            r = odeon_signal(ctx, controller, matrixsearch_start);
    }
    self->program.awaited = args->c;
    self->program.messages = args->c * (1 + 2 * (uint64_t)args->s * args->n + args->s);
    return r;
}

/* ---- the check: a table of a seeker's words, and every column's last letters as a number ---- */

struct matrixsearch_entry {
    uint64_t word;
    uint32_t times; /* that it was asked for; 0: free */
};

static struct matrixsearch_entry *matrixsearch_entry(struct matrixsearch_entry *table,
                                                     uint64_t size, uint64_t word)
{
    uint64_t i = word * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (size - 1);
    while (table[i].times != 0 && table[i].word != word)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static int64_t matrixsearch_count(const struct matrixsearch_args *args, const uint8_t *matrix,
                                  struct matrixsearch_entry *table, uint64_t size, uint64_t *last)
{
    uint64_t mask = (UINT64_C(1) << args->w * MATRIXSEARCH_LETTER_BITS) - 1;
    int64_t count = 0;
    for (size_t row = 0; row < args->m; row++)
        for (size_t column = 0; column < args->m; column++) {
            last[column] =
                last[column] << MATRIXSEARCH_LETTER_BITS | matrix[row * args->m + column];
            if (row + 1 >= args->w)
                count += matrixsearch_entry(table, size, last[column] & mask)->times;
        }
    return count;
}

static int64_t matrixsearch_expected(const struct matrixsearch_args *args, uint64_t seeker)
{
    uint64_t size = 16;
    while (size < 4 * (uint64_t)args->n)
        size *= 2;
    struct matrixsearch_entry *table = calloc(size, sizeof(*table));
    uint64_t *last = calloc(args->m, sizeof(*last));
    uint8_t *matrix = matrixsearch_fill(args, seeker);
    int64_t count = -1;
    if (table != NULL && last != NULL && matrix != NULL) {
        for (uint32_t job = 0; job < args->n; job++) {
            uint64_t word = matrixsearch_word(args, seeker, job);
            struct matrixsearch_entry *entry = matrixsearch_entry(table, size, word);
            *entry = (struct matrixsearch_entry){ word, entry->times + 1 };
        }
        count = matrixsearch_count(args, matrix, table, size, last);
    }
    free(table);
    free(last);
    free(matrix);
    return count;
}

static void matrixsearch_verify(struct savina_matrixsearch_state *self)
{
    const struct matrixsearch_args *args = &self->args;
    uint64_t seekers = (uint64_t)args->c * args->s;
    int64_t expected = 0;
    for (uint64_t i = 0; i < seekers; i++) {
        int64_t count = matrixsearch_expected(args, i);
        if (count < 0)
            program_refuse(&self->program, "no memory for the check");
        expected += count;
    }
    program_expect(&self->program, "answers", self->program.count, (int64_t)seekers * args->n);
    program_expect(&self->program, "found", self->program.value, expected);
}

PROGRAM(matrixsearch);
