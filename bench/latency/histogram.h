/* SPDX-License-Identifier: Apache-2.0 */
/* A log-linear histogram of times: fixed memory, no allocation, a few instructions a value.
 *
 * Values below 64 have a cell each. Above, every power of two is cut into 64 cells of equal width,
 * up to 2^42 (in nanoseconds: 73 minutes); what is larger shares one more cell. The largest value,
 * the number of values and their sum are kept exactly.
 *
 * Whose it is: the struct belongs to whoever declares it, and begins as all zeros. One thread adds;
 * a histogram of several threads is one for each, merged.
 *
 * What holds:
 *  histogram.H1  A quantile is a value v' with v <= v' <= v + v / 64, where v is the value that
 *      sorting all of them would give (the least one that so many values do not exceed), as long as
 *      v is below 2^42: it never tells a better figure than the true one. Above 2^42 it is the
 *      largest value.
 *  histogram.H2  Merging gives exactly what adding all values to one histogram would have given.
 *  histogram.H3  No quantile is above the largest value; the one of HISTOGRAM_ALL is that value.
 */
#pragma once

#include <stdint.h>

#include "proto/log_linear.h"

#define HISTOGRAM_BITS       6u  /* 2^6 cells to each power of two */
#define HISTOGRAM_RANGE_BITS 42u /* values below 2^42 have cells of their own */
#define HISTOGRAM_SUB        (1u << HISTOGRAM_BITS)
/* the last one is for all values from 2^42 on */
#define HISTOGRAM_CELLS (LOG_LINEAR_CELLS(HISTOGRAM_BITS, HISTOGRAM_RANGE_BITS) + 1)
#define HISTOGRAM_ALL   1000000u /* a share is in millionths: p99.9 is 999000 */

struct histogram {
    uint64_t count, sum, most;
    uint64_t cells[HISTOGRAM_CELLS];
};

static inline uint32_t histogram_cell(uint64_t value)
{
    return value >> HISTOGRAM_RANGE_BITS != 0 ? HISTOGRAM_CELLS - 1
                                              : log_linear_cell(value, HISTOGRAM_BITS);
}

/* The largest value that falls into the cell. */
static inline uint64_t histogram_cell_top(uint32_t cell)
{
    return log_linear_cell_top(cell, HISTOGRAM_BITS);
}

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->cells[histogram_cell(value)]++;
    histogram->count++;
    histogram->sum += value;
    if (value > histogram->most)
        histogram->most = value;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++)
        into->cells[i] += from->cells[i];
    into->count += from->count;
    into->sum += from->sum;
    if (from->most > into->most)
        into->most = from->most;
}

/* The value that `millionths` of all values do not exceed (histogram.H1); 0 when there is none. */
static inline uint64_t histogram_quantile(const struct histogram *histogram, uint32_t millionths)
{
    /* how many values have to lie at or below the answer: rounded up, at least one; in two pieces,
     * so that no number of values overflows */
    uint64_t whole = histogram->count / HISTOGRAM_ALL, rest = histogram->count % HISTOGRAM_ALL;
    uint64_t rank = whole * millionths + (rest * millionths + HISTOGRAM_ALL - 1) / HISTOGRAM_ALL;
    uint64_t below = 0;

    if (rank == 0)
        rank = 1;
    for (uint32_t i = 0; i < HISTOGRAM_CELLS - 1; i++) {
        below += histogram->cells[i];
        if (below >= rank) {
            uint64_t top = histogram_cell_top(i);
            return top < histogram->most ? top : histogram->most;
        }
    }
    return histogram->most;
}

/* The mean, rounded down; 0 when there is no value. */
static inline uint64_t histogram_mean(const struct histogram *histogram)
{
    return histogram->count != 0 ? histogram->sum / histogram->count : 0;
}
