/* SPDX-License-Identifier: Apache-2.0 */
/* bench/latency/histogram.h: its error bound at every edge of a cell and against sorted values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/latency/histogram.h"

static const uint32_t shares[] = {
    1, 500000, 900000, 990000, 999000, 999900, HISTOGRAM_ALL, 333333
};
enum { N_SHARES = sizeof(shares) / sizeof(shares[0]), VALUES = 20000 };
#define RANGE (UINT64_C(1) << HISTOGRAM_RANGE_BITS)

static struct histogram a, b, both;

/* histogram.H1 for one value: what is told is not below it, and at most a 64th above. */
static void bound_holds(uint64_t value, uint64_t told)
{
    assert_true(told >= value);
    assert_true(told - value <= value / 64);
}

static void test_small_values_are_exact(void **state)
{
    (void)state;
    for (uint64_t v = 0; v < 2 * HISTOGRAM_SUB; v++) {
        memset(&a, 0, sizeof(a));
        histogram_add(&a, v);
        histogram_add(&a, RANGE); /* so that the answer is not the largest value */
        assert_int_equal(histogram_quantile(&a, 500000), v);
    }
}

static void test_cells_follow_one_another(void **state)
{
    (void)state;
    /* Each cell begins where the one before it ends, the last one ends with the range. */
    for (uint32_t cell = 0; cell < HISTOGRAM_CELLS - 1; cell++) {
        uint64_t top = histogram_cell_top(cell);
        assert_int_equal(histogram_cell(top), cell);
        assert_int_equal(histogram_cell(top + 1), cell + 1);
    }
    assert_int_equal(histogram_cell_top(HISTOGRAM_CELLS - 2), RANGE - 1);
    assert_int_equal(histogram_cell(UINT64_MAX), HISTOGRAM_CELLS - 1);
}

static void test_bound_at_every_edge(void **state)
{
    (void)state;
    for (uint32_t cell = 0; cell + 2 < HISTOGRAM_CELLS; cell++) {
        uint64_t first = histogram_cell_top(cell) + 1; /* of the next one */
        bound_holds(first, histogram_cell_top(histogram_cell(first)));
    }
}

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33 ^ *seed;
}

static int compare(const void *x, const void *y)
{
    uint64_t left = *(const uint64_t *)x, right = *(const uint64_t *)y;
    return left < right ? -1 : left > right;
}

static void check_against_sorted(uint64_t *values, uint64_t n)
{
    qsort(values, n, sizeof(values[0]), compare);
    for (size_t i = 0; i < N_SHARES; i++) {
        uint64_t rank = (n * shares[i] + HISTOGRAM_ALL - 1) / HISTOGRAM_ALL;
        uint64_t value = values[rank == 0 ? 0 : rank - 1];
        uint64_t told = histogram_quantile(&a, shares[i]);
        if (value < RANGE)
            bound_holds(value, told);
        else
            assert_int_equal(told, values[n - 1]);
        assert_true(told <= values[n - 1]);
    }
    assert_int_equal(histogram_quantile(&a, HISTOGRAM_ALL), values[n - 1]);
}

static void test_quantiles_against_sorted_values(void **state)
{
    static uint64_t values[VALUES];
    uint64_t seed = 1;
    (void)state;
    /* From narrow distributions to such as go beyond the range; from one value to many. */
    for (uint32_t bits = 1; bits <= 50; bits++)
        for (uint64_t n = 1; n <= VALUES; n = n * 7 + 1) {
            uint64_t sum = 0;
            memset(&a, 0, sizeof(a));
            for (uint64_t i = 0; i < n; i++) {
                /* as many values in each power of two */
                uint64_t mask = (UINT64_C(1) << (1 + random_next(&seed) % bits)) - 1;
                values[i] = random_next(&seed) & mask;
                sum += values[i];
                histogram_add(&a, values[i]);
            }
            assert_int_equal(a.count, n);
            assert_int_equal(histogram_mean(&a), sum / n);
            check_against_sorted(values, n);
        }
}

static void test_merged_is_as_if_added(void **state)
{
    uint64_t seed = 7;
    (void)state;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&both, 0, sizeof(both));
    for (int i = 0; i < VALUES; i++) {
        uint64_t value = random_next(&seed) >> (random_next(&seed) % 64);
        histogram_add(i % 3 == 0 ? &a : &b, value);
        histogram_add(&both, value);
    }
    histogram_merge(&a, &b);
    assert_memory_equal(&a, &both, sizeof(a));
}

static void test_nothing_and_very_much(void **state)
{
    (void)state;
    memset(&a, 0, sizeof(a));
    assert_int_equal(histogram_quantile(&a, 999900), 0);
    assert_int_equal(histogram_mean(&a), 0);
    /* As many values as eighty years of a billion a second give: the rank does not overflow. */
    a.cells[10] = UINT64_C(1) << 61;
    a.cells[20] = UINT64_C(1) << 58;
    a.count = a.cells[10] + a.cells[20];
    a.most = 20;
    assert_int_equal(histogram_quantile(&a, 880000), 10);
    assert_int_equal(histogram_quantile(&a, 890000), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_cells_follow_one_another),
        cmocka_unit_test(test_bound_at_every_edge),
        cmocka_unit_test(test_quantiles_against_sorted_values),
        cmocka_unit_test(test_merged_is_as_if_added),
        cmocka_unit_test(test_nothing_and_very_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
