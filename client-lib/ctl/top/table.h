/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one view: figures and names in columns, which are sorted and chosen from here, and drawn
 * elsewhere.
 *
 * Owned by whoever has made it, one thread at a time.
 *
 * table.T1  A row has as many cells as its view has columns.
 * table.T2  A key tells a row from all others of its table, also in later looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum table_unit {
    TABLE_TEXT,     /* sorted as text, the least first */
    TABLE_COUNT,    /* "17" */
    TABLE_RATE,     /* a second, or a mean: "12.3 k" */
    TABLE_SHARE,    /* of 1: "42.0 %" */
    TABLE_TIME,     /* nanoseconds: "1.25 ms" */
    TABLE_DURATION, /* nanoseconds: "3 d 4 h" */
    TABLE_BYTES,    /* "7.5 GiB" */
    TABLE_BAR,      /* of 1, drawn */
};

struct table_column {
    const char *title; /* in capitals */
    enum table_unit unit;
    unsigned importance; /* 0 first: what is kept where there is no room for all */
};

struct table_cell {
    double number; /* NAN: there is none */
    char *text;    /* of TABLE_TEXT; NULL: there is none */
};

enum { TABLE_COLUMNS_MAX = 14 };
struct table_row {
    char *key;
    char *scope[2]; /* what it belongs to, where another view has led here; NULL: nothing */
    char *leads;    /* the scope that it leads to; NULL: nowhere */
    struct table_cell cell[TABLE_COLUMNS_MAX];
};

struct table {
    const struct table_column *columns;
    size_t n_columns;
    size_t n, room;
    struct table_row *rows;
};

/* NULL: no memory. */
struct table *table_new(const struct table_column *columns, size_t n_columns);
struct table *table_free(struct table *table); /* NULL is fine; returns it */
/* A row whose cells are all empty, for the caller to fill; NULL: no memory. Good until the next
 * one is added. */
struct table_row *table_add(struct table *table, const char *key);
/* A copy as a cell's text, or as a scope; without memory there is none. */
char *table_copy(const char *text);

/* How a cell is written, not cleaned; "-" where there is nothing. Of a bar: "". */
enum { TABLE_CELL_TEXT = 160 };
void table_cell_text(const struct table *table, const struct table_row *row, size_t column,
                     char text[static TABLE_CELL_TEXT]);

struct table_order {
    size_t column;
    bool reversed;      /* figures: the least first; texts: the greatest */
    const char *filter; /* rows with this in one of their cells, whatever the case; "": all */
    const char *scope;  /* rows that belong there; NULL: all */
};
/* Writes the rows that are chosen, in their order, to `ret`, which has room for table->n. Returns
 * how many they are. */
size_t table_choose(const struct table *table, const struct table_order *order,
                    const struct table_row **ret);
