/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl queue: the message queues and where they are. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "ordinary", "pinned", "follow", "aside", "detached" };

enum queue_sort { QUEUE_BY_BYTES, QUEUE_BY_WAIT, QUEUE_BY_ACTORS, QUEUE_BY_N };
static const char *const queue_sorts[QUEUE_BY_N] = { "bytes", "wait", "actors" };

static const struct column queue_columns[] = {
    { "ID", "id", true },
    { "KIND", "kind", false },
    { "HOME", "home", true },
    { "OWNER", "owner", true },
    { "BYTES", "bytes", true },
    { "URGENT", "urgent_bytes", true },
    { "ACTORS", "actors", true },
    { "RETIRING", "retiring", false },
    { "OLDEST WAITS", "oldest_ns", true },
    { "FOR", "oldest_to", true },
    { "NAME", "oldest_name", false },
    { "TYPE", "oldest_type", false },
};
enum { QUEUE_COLUMNS = sizeof(queue_columns) / sizeof(queue_columns[0]) };

static void queue_add(struct listing *listing, const void *row)
{
    const struct odeon_queue_info *q = row;
    char age[OUTPUT_DURATION_TEXT];

    listing_add(listing,
                (struct cell[]){
                    CELL_NUMBER(q->id), CELL_TEXT(q->kind), CELL_NUMBER(q->home),
                    CELL_NUMBER(q->owner), CELL_NUMBER(q->bytes), CELL_NUMBER(q->urgent_bytes),
                    CELL_NUMBER(q->actors), CELL_FLAG(q->retiring != 0),
                    q->oldest_ns
                        ? CELL_SHOWN(q->oldest_ns, output_format_duration(q->oldest_ns, age))
                        : CELL_NONE,
                    CELL_REF(q->oldest_to), CELL_TEXT(q->oldest_name), CELL_TEXT(q->oldest_type) });
}

static bool queue_is_busy(const struct ctl *ctl, const void *row)
{
    const struct odeon_queue_info *q = row;

    (void)ctl;
    return q->bytes || q->urgent_bytes;
}

static uint64_t queue_after(const void *row)
{
    return (uint64_t)((const struct odeon_queue_info *)row)->id + 1;
}

/* ---- sorted: all of them are looked at first ---- */

enum { QUEUE_TEXT = 64 }; /* of a name, with its end */

/* Its texts are its own: a page's are gone with the page. */
struct queue_row {
    struct odeon_queue_info info;
    char kind[QUEUE_TEXT], name[QUEUE_TEXT], type[QUEUE_TEXT];
};
struct queue_rows {
    struct queue_row *list;
    size_t n;
};

static void queue_copy(struct queue_row *to, const struct odeon_queue_info *from)
{
    to->info = *from;
    snprintf(to->kind, sizeof(to->kind), "%s", from->kind);
    snprintf(to->name, sizeof(to->name), "%s", from->oldest_name);
    snprintf(to->type, sizeof(to->type), "%s", from->oldest_type);
}

static int queue_keep_page(struct ctl *ctl, void *userdata, const struct odeon_list *list)
{
    const struct odeon_queue_info *from = list->rows;
    struct queue_rows *rows = userdata;
    struct queue_row *more = realloc(rows->list, (rows->n + list->n + 1) * sizeof(*more));

    if (!more)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot sort the queues: no memory. Free memory and try again");
    rows->list = more;
    for (size_t i = 0; i < list->n; i++)
        if (!ctl->option[OPTION_BUSY] || queue_is_busy(ctl, &from[i]))
            queue_copy(&rows->list[rows->n++], &from[i]);
    return 0;
}

static uint64_t queue_key(const struct odeon_queue_info *q, enum queue_sort by)
{
    return by == QUEUE_BY_BYTES  ? q->bytes + q->urgent_bytes
           : by == QUEUE_BY_WAIT ? q->oldest_ns
                                 : q->actors;
}

/* Equal ones as they stood. */
static int queue_compare(const void *a, const void *b, void *by)
{
    const struct odeon_queue_info *one = &((const struct queue_row *)a)->info,
                                  *other = &((const struct queue_row *)b)->info;
    uint64_t key = queue_key(one, *(const enum queue_sort *)by),
             than = queue_key(other, *(const enum queue_sort *)by);

    return key != than ? (key < than) - (key > than)
                       : (one->id > other->id) - (one->id < other->id);
}

static int queue_print_sorted(struct ctl *ctl, struct queue_rows *rows, enum queue_sort by)
{
    struct listing listing;

    if (rows->n)
        qsort_r(rows->list, rows->n, sizeof(*rows->list), queue_compare, &by);
    listing_begin(&listing, ctl, "queues", queue_columns, QUEUE_COLUMNS);
    for (size_t i = 0; i < rows->n && i < ctl->limit; i++) {
        struct queue_row *row = &rows->list[i];

        row->info.kind = row->kind;
        row->info.oldest_name = row->name;
        row->info.oldest_type = row->type;
        queue_add(&listing, &row->info);
    }
    return listing_end_sorted(&listing, rows->n > ctl->limit);
}

static int queue_list_sorted(struct ctl *ctl, const struct listing_source *source,
                             enum queue_sort by)
{
    struct queue_rows rows = { 0 };
    int code = ctl_connect(ctl);

    if (!code)
        code = listing_walk(ctl, source, ctl->after, queue_keep_page, &rows);
    if (!code)
        code = queue_print_sorted(ctl, &rows, by);
    free(rows.list);
    return code;
}

/* ---- the command ---- */

static int queue_parse(struct ctl *ctl, enum queue_sort *ret_by)
{
    const char *kind = ctl->option[OPTION_KIND], *sort = ctl->option[OPTION_SORT];
    bool known = !kind;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !known; i++)
        known = !strcmp(kind, kinds[i]);
    if (!known)
        return ctl_fail(
            ctl, CTL_USAGE,
            "--kind: '%s' is no kind of queue. Write ordinary, pinned, follow, aside or detached",
            kind);
    *ret_by = QUEUE_BY_BYTES;
    while (sort && *ret_by < QUEUE_BY_N && strcmp(sort, queue_sorts[*ret_by]) != 0)
        ++*ret_by;
    if (*ret_by == QUEUE_BY_N)
        return ctl_fail(ctl, CTL_USAGE,
                        "--sort: '%s' is no figure to sort queues by. Write bytes, wait or actors",
                        sort);
    return 0;
}

int ctl_queue_list(struct ctl *ctl)
{
    struct listing_source source = { .what = "cannot list the queues",
                                     .fetch = odeon_queue_list,
                                     .filter = ctl->option[OPTION_KIND],
                                     .row_size = sizeof(struct odeon_queue_info),
                                     .add = queue_add };
    enum queue_sort by;
    int code = queue_parse(ctl, &by);

    if (code)
        return code;
    if (ctl->option[OPTION_SORT])
        return queue_list_sorted(ctl, &source, by);
    if (ctl->option[OPTION_BUSY]) {
        source.wants = queue_is_busy;
        source.after = queue_after;
    }
    return listing_fetch(ctl, "queues", queue_columns, QUEUE_COLUMNS, &source);
}
