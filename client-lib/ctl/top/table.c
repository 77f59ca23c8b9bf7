/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a view (table.h). */
#include "client-lib/ctl/top/table.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/top/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
    struct table *table = calloc(1, sizeof(*table));

    if (table) {
        table->columns = columns;
        table->n_columns = n_columns;
    }
    return table;
}

static void table_free_row(struct table_row *row)
{
    free(row->key);
    free(row->scope[0]);
    free(row->scope[1]);
    free(row->leads);
    for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++)
        free(row->cell[i].text);
}

struct table *table_free(struct table *table)
{
    if (!table)
        return NULL;
    for (size_t i = 0; i < table->n; i++)
        table_free_row(&table->rows[i]);
    free(table->rows);
    free(table);
    return NULL;
}

char *table_copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct table_row *table_add(struct table *table, const char *key)
{
    struct table_row *row;

    if (table->n == table->room) {
        size_t room = table->room ? table->room * 2 : 32;
        struct table_row *rows = realloc(table->rows, room * sizeof(*rows));

        if (!rows)
            return NULL;
        table->rows = rows;
        table->room = room;
    }
    row = &table->rows[table->n];
    *row = (struct table_row){ .key = table_copy(key) };
    if (!row->key)
        return NULL;
    for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++)
        row->cell[i].number = NAN;
    table->n++;
    return row;
}

static void table_number_text(enum table_unit unit, double number,
                              char text[static TABLE_CELL_TEXT])
{
    char buffer[TABLE_CELL_TEXT]; /* more than any of them takes */
    uint64_t whole = number > 0 ? (uint64_t)number : 0;
    const char *written = buffer;

    switch (unit) {
    case TABLE_RATE:
        snprintf(buffer, sizeof(buffer), "%s", figure_rate(number).text);
        break;
    case TABLE_SHARE:
        snprintf(buffer, sizeof(buffer), "%s", figure_share(number).text);
        break;
    case TABLE_TIME:
        snprintf(buffer, sizeof(buffer), "%s", figure_time(whole).text);
        break;
    case TABLE_DURATION:
        written = output_format_duration(whole, buffer);
        break;
    case TABLE_BYTES:
        written = output_format_bytes(whole, buffer);
        break;
    default:
        snprintf(buffer, sizeof(buffer), "%.0f", number);
        break;
    }
    snprintf(text, TABLE_CELL_TEXT, "%s", written);
}

void table_cell_text(const struct table *table, const struct table_row *row, size_t column,
                     char text[static TABLE_CELL_TEXT])
{
    const struct table_cell *cell = &row->cell[column];
    enum table_unit unit = table->columns[column].unit;

    if (unit == TABLE_BAR)
        text[0] = '\0';
    else if (unit == TABLE_TEXT ? !cell->text || !*cell->text : isnan(cell->number))
        snprintf(text, TABLE_CELL_TEXT, "-");
    else if (unit == TABLE_TEXT)
        snprintf(text, TABLE_CELL_TEXT, "%s", cell->text);
    else
        table_number_text(unit, cell->number, text);
}

static bool table_row_matches(const struct table *table, const struct table_row *row,
                              const struct table_order *order)
{
    char text[TABLE_CELL_TEXT];

    if (order->scope && (!row->scope[0] || strcmp(row->scope[0], order->scope) != 0) &&
        (!row->scope[1] || strcmp(row->scope[1], order->scope) != 0))
        return false;
    if (!order->filter || !*order->filter)
        return true;
    for (size_t i = 0; i < table->n_columns; i++) {
        table_cell_text(table, row, i, text);
        if (strcasestr(text, order->filter))
            return true;
    }
    return false;
}

struct table_sort {
    const struct table *table;
    const struct table_order *order;
};

/* What is not known is less than all that is. */
static int table_compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

static int table_compare(const void *a, const void *b, void *userdata)
{
    const struct table_row *one = *(const struct table_row *const *)a,
                           *other = *(const struct table_row *const *)b;
    const struct table_sort *sort = userdata;
    size_t column = sort->order->column;
    const struct table_cell *x = &one->cell[column], *y = &other->cell[column];
    int way = sort->table->columns[column].unit == TABLE_TEXT
                  ? strcmp(x->text ? x->text : "", y->text ? y->text : "")
                  : table_compare_numbers(x->number, y->number);

    if (sort->order->reversed)
        way = -way;
    return way ? way : strcmp(one->key, other->key); /* rows do not change places without a cause */
}

size_t table_choose(const struct table *table, const struct table_order *order,
                    const struct table_row **ret)
{
    struct table_sort sort = { .table = table, .order = order };
    size_t n = 0;

    for (size_t i = 0; i < table->n; i++)
        if (table_row_matches(table, &table->rows[i], order))
            ret[n++] = &table->rows[i];
    if (n > 1)
        qsort_r(ret, n, sizeof(ret[0]), table_compare, &sort);
    return n;
}
