/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows and lists of properties, as tables (libsmartcols) or JSON, from one description.
 *
 * Owned by a command, one thread. A failure to print (no memory) shows as CTL_REFUSED from the _end
 * functions.
 *
 * output.O1  Rows are given out in blocks of LISTING_BLOCK, so that a list of a million rows needs
 *     no memory for a million.
 * output.O2  JSON names are stable; titles are for people and are not.
 */
#pragma once

#include "client-lib/ctl/json.h"

#include <odeon/admin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;
struct libscols_table;

enum cell_kind {
    CELL_KIND_NONE,
    CELL_KIND_TEXT,
    CELL_KIND_NUMBER,
    CELL_KIND_REAL,
    CELL_KIND_FLAG,
    CELL_KIND_LIST,
    CELL_KIND_OBJECT,
    CELL_KIND_REF
};

struct cell {
    enum cell_kind kind;
    const char *text; /* of a number: shown in a table instead of it; may be NULL */
    uint64_t number;
    double real;
    const char *const *items;
    size_t n_items;
    const char *members; /* of an object in JSON, without its braces */
};
#define CELL_NONE        ((struct cell){ .kind = CELL_KIND_NONE }) /* "-", null */
#define CELL_TEXT(t)     ((struct cell){ .kind = CELL_KIND_TEXT, .text = (t) })
#define CELL_NUMBER(n)   ((struct cell){ .kind = CELL_KIND_NUMBER, .number = (n) })
#define CELL_VERSION(v)  ((v) ? CELL_NUMBER(v) : CELL_NONE)
#define CELL_SHOWN(n, t) ((struct cell){ .kind = CELL_KIND_NUMBER, .number = (n), .text = (t) })
#define CELL_REAL(d, t)  ((struct cell){ .kind = CELL_KIND_REAL, .real = (d), .text = (t) })
#define CELL_FLAG(b)     ((struct cell){ .kind = CELL_KIND_FLAG, .number = (b) })
#define CELL_LIST(list, n)                                                                         \
    ((struct cell){ .kind = CELL_KIND_LIST, .items = (list), .n_items = (n) })
#define CELL_OBJECT(t, m) ((struct cell){ .kind = CELL_KIND_OBJECT, .text = (t), .members = (m) })
#define CELL_REF(r)       ((struct cell){ .kind = CELL_KIND_REF, .number = (r) })

struct column {
    const char *title; /* in capitals */
    const char *key;   /* JSON name */
    bool right;
};

enum { LISTING_BLOCK = 1024, LISTING_COLUMNS_MAX = 160 };

struct listing {
    struct ctl *ctl;
    const struct column *columns;
    size_t n_columns;
    struct libscols_table *table; /* the block that is being filled; NULL with JSON */
    size_t n_block;
    uint64_t n_rows;
    bool printed, failed;
    struct json *json;
    struct json document;
};

/* A document of its own, with the rows under `key`. */
void listing_begin(struct listing *listing, struct ctl *ctl, const char *key,
                   const struct column *columns, size_t n_columns);
void listing_add(struct listing *listing, const struct cell *cells);
/* A row with nothing but a heading in its first column; not in JSON. */
void listing_heading(struct listing *listing, const char *title);
/* 0, or the exit code, after a message.  `more`, `next`: what odeon_list says at its end. */
int listing_end(struct listing *listing, bool more, uint64_t next);
/* The same of rows in an order of odeonctl's own, of which --limit has cut some: no page goes on
 * behind them. */
int listing_end_sorted(struct listing *listing, bool more);

/* Fetches page after page, as --limit and --after say, and adds each row with `add`. */
struct listing_source {
    const char *what; /* "cannot list the actors" */
    int (*fetch)(struct odeon_client *client, const char *filter, uint64_t after, uint32_t rows,
                 struct odeon_list **ret);
    const char *filter;
    bool by_type; /* the filter is an actor type's name */
    size_t row_size;
    void (*add)(struct listing *listing, const void *row);
    /* Of rows that are looked through here, one by one: whether this one is to be added, and what
     * --after continues behind it with; both or neither. */
    bool (*wants)(const struct ctl *ctl, const void *row);
    uint64_t (*after)(const void *row);
};
/* Every page from `after` on, until `page` returns other than 0, an exit code. 0, or an exit code,
 * after a message. */
int listing_walk(struct ctl *ctl, const struct listing_source *source, uint64_t after,
                 int (*page)(struct ctl *ctl, void *userdata, const struct odeon_list *list),
                 void *userdata);
int listing_fetch(struct ctl *ctl, const char *key, const struct column *columns, size_t n_columns,
                  const struct listing_source *source);

/* Name and value, one a line; in JSON an object's members. */
struct properties {
    struct ctl *ctl;
    struct libscols_table *table;
    struct json *json;
    struct json document;
    bool failed;
};
void properties_begin(struct properties *properties, struct ctl *ctl, const char *key);
void properties_add(struct properties *properties, const char *title, const char *key,
                    struct cell cell);
int properties_end(struct properties *properties);

/* One cell as a member of an object or an array. */
void output_json_cell(struct json *json, const char *key, const struct cell *cell);
/* As shown in a table; to be freed; NULL: no memory. */
char *output_cell_text(const struct cell *cell);

/* "3 d 4 h", "5 min 6 s", "7.800 ms", "84 us" */
enum { OUTPUT_DURATION_TEXT = 32 };
const char *output_format_duration(uint64_t ns, char text[static OUTPUT_DURATION_TEXT]);
/* "7.5 GiB", "12.0 MiB", "4 KiB", "17 B" */
enum { OUTPUT_BYTES_TEXT = 32 };
const char *output_format_bytes(uint64_t bytes, char text[static OUTPUT_BYTES_TEXT]);
/* "2026-11-26T18:56:05.123Z", from nanoseconds since 1970 */
enum { OUTPUT_TIME_TEXT = 64 };
const char *output_format_time(uint64_t time_ns, char text[static OUTPUT_TIME_TEXT]);
/* What begins (`on`) and ends bold text: "" unless the output is a terminal that wants it. */
const char *output_bold(const struct ctl *ctl, bool on);
