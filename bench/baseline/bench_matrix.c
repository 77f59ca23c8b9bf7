/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_matrix.c - Z = X * Y of n x n integers, one actor for each row of Z.
 *
 * X[r][c] = Y[r][c] = r * c mod 37, in rows that are allocated one by one. An actor gets the number
 * of its row, computes Z[w][i] as the sum over j of X[w][j] * Y[j][i] in exactly that order,
 * striding over Y's columns, and ends. The driver makes the actors and sends to them; the clock
 * runs from before the first actor is begun until the last one has ended.
 *
 * The driver owns matrices, actors and messages. A row of Z is written by the behaviour of its
 * actor alone.
 */
#include "bench.h"

struct row_actor {
    struct actor actor;
};

struct row_message {
    struct message message;
    uint32_t row;
};

/* Set by the driver before the workers are released, and constant until they have ended. */
static int **matrix_x, **matrix_y, **matrix_z;
static uint32_t matrix_n;

static int **matrix_rows(void)
{
    int **rows = bench_alloc(matrix_n * sizeof(*rows));
    for (uint32_t r = 0; r < matrix_n; r++) {
        rows[r] = bench_alloc(matrix_n * sizeof(*rows[r]));
        for (uint32_t c = 0; c < matrix_n; c++) {
            rows[r][c] = (int)(r * c % 37);
        }
    }
    return rows;
}

static void matrix_free(int **rows)
{
    for (uint32_t r = 0; r < matrix_n; r++) {
        free(rows[r]);
    }
    free(rows);
}

/* The sum of Z is, over j, the sum of X's column j times that of Y's row j. */
static void matrix_check(void)
{
    int64_t expected = 0;
    int64_t found = 0;
    for (uint32_t j = 0; j < matrix_n; j++) {
        int64_t column = 0;
        int64_t row = 0;
        for (uint32_t i = 0; i < matrix_n; i++) {
            column += matrix_x[i][j];
            row += matrix_y[j][i];
            found += matrix_z[j][i];
        }
        expected += column * row;
    }
    if (expected != found) {
        fputs("odeon-baseline: matrix: the product is wrong\n", stderr);
        exit(EXIT_FAILURE);
    }
}

static enum allocation bench_matrix_row_receive(struct actor *actor, struct message *message)
{
    (void)actor;
    uint32_t row = ((struct row_message *)message)->row;
    const int *x = matrix_x[row];
    int *z = matrix_z[row];
    for (uint32_t i = 0; i < matrix_n; i++) {
        int sum = 0;
        for (uint32_t j = 0; j < matrix_n; j++) {
            sum += x[j] * matrix_y[j][i];
        }
        z[i] = sum;
    }
    return ALLOCATION_FINISHED;
}

struct bench_result bench_matrix(const struct bench_options *options)
{
    matrix_n = options->n != 0 ? (uint32_t)options->n : 512;
    matrix_x = matrix_rows();
    matrix_y = matrix_rows();
    matrix_z = matrix_rows();
    struct row_actor *actors = executor_alloc(matrix_n, sizeof(*actors));
    struct row_message *messages = executor_alloc(matrix_n, sizeof(*messages));
    struct executor *executor = executor_create(&options->executor);

    uint64_t begin = executor_now_ns();
    for (uint32_t i = 0; i < matrix_n; i++) {
        actor_init(executor, &actors[i].actor);
        message_init(&messages[i].message, ALLOCATION_NODELETE);
        messages[i].row = i;
        actor_send(&actors[i].actor, &messages[i].message, bench_matrix_row_receive);
    }
    executor_run(executor);

    struct bench_result result = { .messages = matrix_n, .elapsed_ns = executor->ended_ns - begin };
    executor_destroy(executor);
    matrix_check();
    free(messages);
    free(actors);
    matrix_free(matrix_x);
    matrix_free(matrix_y);
    matrix_free(matrix_z);
    return result;
}
