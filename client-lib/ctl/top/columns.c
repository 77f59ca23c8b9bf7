/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns have room (columns.h). */
#include "client-lib/ctl/top/columns.h"
#include "client-lib/ctl/top/clean.h"

#include <string.h>

enum { COLUMNS_TEXT_MIN = 8, COLUMNS_BAR_MIN = 10, COLUMNS_BAR_MAX = 30 };

/* What one needs at least to be of use; figures need what their widest takes. */
static unsigned columns_need(const struct table_column *column)
{
    static const unsigned need[] = {
        [TABLE_TEXT] = COLUMNS_TEXT_MIN,
        [TABLE_COUNT] = 7,
        [TABLE_RATE] = 6,
        [TABLE_SHARE] = 7,
        [TABLE_TIME] = 7,
        [TABLE_DURATION] = 9,
        [TABLE_BYTES] = 9,
        [TABLE_BAR] = COLUMNS_BAR_MIN,
    };
    unsigned title = (unsigned)strlen(column->title);

    return title > need[column->unit] ? title : need[column->unit];
}

/* What its rows would fill. */
static unsigned columns_want(const struct table_column *column, size_t index,
                             const struct table_row *const *rows, size_t n_rows)
{
    unsigned want = columns_need(column);

    if (column->unit == TABLE_BAR)
        return COLUMNS_BAR_MAX;
    for (size_t i = 0; column->unit == TABLE_TEXT && i < n_rows; i++) {
        char text[TABLE_CELL_TEXT];
        unsigned width;

        if (!rows[i]->cell[index].text)
            continue;
        width = clean_width(clean_text(rows[i]->cell[index].text, text, sizeof(text)));
        if (width > want)
            want = width;
    }
    return want;
}

/* The one that is sorted by comes right behind the most important. */
static unsigned columns_rank(const struct table_column *all, size_t index, size_t sort)
{
    return index == sort && all[index].importance > 0 ? 1 : 2 * all[index].importance;
}

/* The next one by rank; of equals the left one. n_all: there is none. */
static size_t columns_next(const struct table_column *all, size_t n_all, size_t sort,
                           const bool *taken)
{
    size_t best = n_all;

    for (size_t i = 0; i < n_all; i++)
        if (!taken[i] &&
            (best == n_all || columns_rank(all, i, sort) < columns_rank(all, best, sort)))
            best = i;
    return best;
}

/* In the table's order. */
static void columns_insert(struct columns *columns, size_t index, unsigned width)
{
    size_t at = columns->n++;

    for (; at && columns->column[at - 1] > index; at--) {
        columns->column[at] = columns->column[at - 1];
        columns->width[at] = columns->width[at - 1];
    }
    columns->column[at] = index;
    columns->width[at] = width;
}

void columns_choose(const struct table_column *all, size_t n_all, size_t sort,
                    const struct table_row *const *rows, size_t n_rows, unsigned width,
                    struct columns *ret)
{
    bool taken[TABLE_COLUMNS_MAX] = { false };
    unsigned used = 0;

    *ret = (struct columns){ 0 };
    for (size_t k = 0; k < n_all; k++) {
        size_t index = columns_next(all, n_all, sort, taken);
        unsigned need = columns_need(&all[index]), blank = ret->n ? 1 : 0;

        taken[index] = true;
        if (!ret->n && need > width)
            need = width;
        if (need == 0 || used + blank + need > width)
            break; /* nor are those shown that matter less */
        columns_insert(ret, index, need);
        used += blank + need;
    }
    for (size_t i = 0; i < ret->n; i++) {
        unsigned want = columns_want(&all[ret->column[i]], ret->column[i], rows, n_rows);
        unsigned more = want > ret->width[i] ? want - ret->width[i] : 0;

        if (more > width - used)
            more = width - used;
        ret->width[i] += more;
        used += more;
    }
}
