/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of a table have room side by side, and how wide they are.
 *
 * Plain functions, any thread.
 *
 * columns.C1  Together with a blank between each two they are never wider than what there is.
 */
#pragma once

#include "client-lib/ctl/top/table.h"

#include <stddef.h>

struct columns {
    size_t n;                         /* at least 1 where there is any width */
    size_t column[TABLE_COLUMNS_MAX]; /* of the table, in its order */
    unsigned width[TABLE_COLUMNS_MAX];
};

/* Columns are left out by their importance, the one that is sorted by right behind the first. What
 * is left of the width goes to texts, up to what their rows need. */
void columns_choose(const struct table_column *all, size_t n_all, size_t sort,
                    const struct table_row *const *rows, size_t n_rows, unsigned width,
                    struct columns *ret);
