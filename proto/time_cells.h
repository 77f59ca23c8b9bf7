/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a histogram of times: eight to a power of two, from 32 ns to 18 minutes; longer ones
 * share the last cell.
 *
 * Pure functions, any thread.
 */
#pragma once

#include <stdint.h>

#include "log_linear.h"

enum {
    TIME_UNIT_SHIFT = 5,
    TIME_BITS = 3,
    TIME_RANGE = 35,
    TIME_CELLS = LOG_LINEAR_CELLS(TIME_BITS, TIME_RANGE),
};

static inline uint32_t time_cell(uint64_t ns)
{
    uint64_t units = ns >> TIME_UNIT_SHIFT;
    return units >> TIME_RANGE ? TIME_CELLS - 1 : log_linear_cell(units, TIME_BITS);
}
/* The largest time that falls into the cell, in ns. */
static inline uint64_t time_cell_top(uint32_t cell)
{
    return ((log_linear_cell_top(cell, TIME_BITS) + 1) << TIME_UNIT_SHIFT) - 1;
}
