/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a log-linear histogram: each power of two is cut into 2^bits cells of equal width, and
 * below 2^bits each value has a cell of its own. A cell is at most 1/2^bits of its values wide.
 *
 * Pure functions, any thread.
 */
#pragma once

#include <stdint.h>

/* Cells for all values below 2^range. */
#define LOG_LINEAR_CELLS(bits, range) (((range) - (bits) + 1u) << (bits))

static inline uint32_t log_linear_cell(uint64_t value, unsigned bits)
{
    if (value >> bits == 0)
        return (uint32_t)value;
    /* the power of two, less the first one that is cut into cells wider than 1 */
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - bits;
    return (shift << bits) + (uint32_t)(value >> shift);
}

/* The largest value that falls into the cell. */
static inline uint64_t log_linear_cell_top(uint32_t cell, unsigned bits)
{
    if (cell >> bits == 0)
        return cell;
    uint32_t shift = (cell >> bits) - 1;
    uint64_t first = cell - ((uint64_t)shift << bits);
    return ((first + 1) << shift) - 1;
}
