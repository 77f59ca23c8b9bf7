/* SPDX-License-Identifier: Apache-2.0 */
/* matrix: Z = X * Y of n x n integers, one actor for each row of Z.
 *
 * X[r][c] = Y[r][c] = r * c mod 37, in rows that are allocated one by one. An actor gets the number
 * of its row, computes Z[w][i] as the sum over j of X[w][j] * Y[j][i] in exactly that order,
 * striding over Y's columns, and ends. Messages: n. Clock: from before the first spawn until the
 * last row is done. Check: the sum of Z, computed also from the sums of X's columns and Y's rows. n
 * is 3072 in the paper; default 512.
 *
 * The matrices belong to the driver; a row of Z is written by its actor alone.
 */
#include "driver.h"

#include <stdlib.h>

enum { DEFAULT_N = 512, N_MAX = 8192 };

ODEON_MESSAGE(bench_matrix_row, 1, { uint64_t row; });
ODEON_SIGNAL(bench_row_done, 1);
ODEON_SIGNAL(bench_matrix_step, 1); /* the driver to itself: go on spawning */
ODEON_INTERFACE(bench_row, bench_matrix_row);
ODEON_INTERFACE(bench_matrix, bench_run, bench_row_done, bench_matrix_step);

/* Of the run that goes on, one at a time. */
static int **matrix_x, **matrix_y, **matrix_z;
static uint32_t matrix_n;
static bench_matrix_ref matrix_driver;

ODEON_STATELESS(bench_row);

ODEON_RECEIVE(bench_row, bench_matrix_row)
{
    const int *x = matrix_x[msg->row];
    int *z = matrix_z[msg->row];
    for (uint32_t i = 0; i < matrix_n; i++) {
        int sum = 0;
        for (uint32_t j = 0; j < matrix_n; j++)
            sum += x[j] * matrix_y[j][i];
        z[i] = sum;
    }
    odeon_signal(ctx, matrix_driver, bench_row_done);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_row, ODEON_ON(bench_row, bench_matrix_row));
ODEON_ACTOR_TYPE(bench_row, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the driver ---- */

ODEON_STATE(bench_matrix, {
    odeon_ref client;
    uint64_t begin_ns;
    uint32_t spawned, done;
});

static void matrix_free_rows(int **rows)
{
    for (uint32_t i = 0; rows != NULL && i < matrix_n; i++)
        free(rows[i]);
    free(rows);
}

static void matrix_free(void)
{
    matrix_free_rows(matrix_x);
    matrix_free_rows(matrix_y);
    matrix_free_rows(matrix_z);
    matrix_x = matrix_y = matrix_z = NULL;
}

/* Rows of r * c mod 37; NULL: no memory. */
static int **matrix_rows(void)
{
    int **rows = calloc(matrix_n, sizeof(rows[0]));
    for (uint32_t r = 0; rows != NULL && r < matrix_n; r++) {
        rows[r] = malloc(matrix_n * sizeof(rows[r][0]));
        if (rows[r] == NULL) {
            matrix_free_rows(rows);
            return NULL;
        }
        for (uint32_t c = 0; c < matrix_n; c++)
            rows[r][c] = (int)(r * c % 37);
    }
    return rows;
}

/* The sum of Z is, over j, the sum of X's column j times that of Y's row j. */
static int matrix_is_right(void)
{
    int64_t expected = 0, found = 0;
    for (uint32_t j = 0; j < matrix_n; j++) {
        int64_t column = 0, row = 0;
        for (uint32_t i = 0; i < matrix_n; i++) {
            column += matrix_x[i][j];
            row += matrix_y[j][i];
            found += matrix_z[j][i];
        }
        expected += column * row;
    }
    return expected == found;
}

ODEON_RECEIVE(bench_matrix, bench_run)
{
    uint64_t n = driver_default(msg->n, DEFAULT_N);
    self->client = ctx->sender;
    if (matrix_x != NULL || n > N_MAX)
        return driver_fail(ctx, self->client, -EINVAL,
                           "bad number of rows, or another run goes on");
    matrix_n = (uint32_t)n;
    matrix_driver = odeon_as(bench_matrix, ctx->self);
    matrix_x = matrix_rows();
    matrix_y = matrix_rows();
    matrix_z = matrix_rows();
    if (matrix_x == NULL || matrix_y == NULL || matrix_z == NULL) {
        matrix_free();
        return driver_fail(ctx, self->client, -ENOMEM, "no memory for the matrices");
    }
    self->begin_ns = odeon_now_ns(ctx);
    odeon_signal(ctx, matrix_driver, bench_matrix_step);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_matrix, bench_matrix_step)
{
    for (uint32_t i = 0; i < DRIVER_STEP && self->spawned < matrix_n; i++) {
        bench_row_ref row;
        int r = odeon_spawn_into(ctx, &row, bench_row);
        if (r == 0)
            r = odeon_send(ctx, row, bench_matrix_row, .row = self->spawned);
        if (r < 0) /* the matrices are left: rows may still write to them */
            return driver_fail(ctx, self->client, r, "cannot spawn a row");
        self->spawned++;
    }
    if (self->spawned < matrix_n)
        odeon_signal(ctx, matrix_driver, bench_matrix_step);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_matrix, bench_row_done)
{
    if (++self->done < matrix_n)
        return ODEON_NODELETE;
    uint64_t elapsed_ns = odeon_now_ns(ctx) - self->begin_ns;
    int right = matrix_is_right();
    matrix_free();
    return right ? driver_finish(ctx, self->client, elapsed_ns, matrix_n)
                 : driver_fail(ctx, self->client, -EBADMSG, "the product is wrong");
}

ODEON_HANDLERS(bench_matrix, ODEON_ON(bench_matrix, bench_run),
               ODEON_ON(bench_matrix, bench_row_done), ODEON_ON(bench_matrix, bench_matrix_step));
ODEON_ACTOR_TYPE(bench_matrix, ODEON_POLICY(ODEON_RESTART_STOP));
