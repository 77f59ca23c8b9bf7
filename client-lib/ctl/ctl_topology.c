/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl topology: the processors of this machine, and which workers run on them. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/topology/picture.h"
#include "client-lib/ctl/topology/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int topology_count_page(struct ctl *ctl, void *userdata, const struct odeon_list *list)
{
    struct rows *rows = userdata;

    (void)ctl;
    for (size_t i = 0; i < list->n; i++)
        rows_count_queue(rows, &((const struct odeon_queue_info *)list->rows)[i]);
    return 0;
}

static struct cell topology_number(int number)
{
    return number < 0 ? CELL_NONE : CELL_NUMBER((uint64_t)number);
}

static void topology_add_row(struct listing *list, const struct topology_row *row)
{
    bool worker = row->worker != ROWS_NONE;

    listing_add(list,
                (struct cell[]){ topology_number(row->place.node), topology_number(row->place.l3),
                                 topology_number(row->place.l2), topology_number(row->place.core),
                                 topology_number(row->cpu), topology_number(row->worker),
                                 row->state ? CELL_TEXT(row->state) : CELL_NONE,
                                 worker ? CELL_NUMBER(row->queues) : CELL_NONE,
                                 worker ? CELL_NUMBER(row->actors) : CELL_NONE,
                                 worker ? CELL_NUMBER(row->bytes) : CELL_NONE });
}

static int topology_print(struct ctl *ctl, const struct rows *rows)
{
    static const struct column columns[] = {
        { "NODE", "node", true },    { "L3", "l3", true },         { "L2", "l2", true },
        { "CORE", "core", true },    { "CPU", "cpu", true },       { "WORKER", "worker", true },
        { "STATE", "state", false }, { "QUEUES", "queues", true }, { "ACTORS", "actors", true },
        { "BYTES", "bytes", true },
    };
    struct listing list;

    listing_begin(&list, ctl, "topology", columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < rows->n; i++)
        topology_add_row(&list, &rows->row[i]);
    return listing_end(&list, false, 0);
}

static int topology_draw(struct ctl *ctl, const struct rows *rows, const char *path)
{
    FILE *out = fopen(path, "we");
    bool failed;

    if (!out)
        return ctl_fail(ctl, CTL_REFUSED, "cannot write %s: %s", path, strerror(errno));
    picture_write(out, rows);
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return ctl_fail(ctl, CTL_REFUSED, "cannot write %s: %s", path, strerror(errno));
    return CTL_DONE;
}

/* The rows of what runs now; 0, or the exit code, after a message. */
static int topology_look(struct ctl *ctl, struct rows *ret_rows)
{
    const struct listing_source queues = { .what = "cannot list the queues",
                                           .fetch = odeon_queue_list,
                                           .row_size = sizeof(struct odeon_queue_info) };
    struct odeon_stats *stats = NULL;
    struct snapshot *snapshot = NULL;
    int code = stats_open(ctl, false, &stats), r;

    if (code)
        return code;
    r = snapshot_take(stats, true, &snapshot);
    odeon_stats_close(stats);
    if (r == 0)
        r = rows_make(snapshot, ret_rows);
    snapshot_free(snapshot);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot say where workers run");
    code = listing_walk(ctl, &queues, 0, topology_count_page, ret_rows);
    if (code)
        rows_free(ret_rows);
    return code;
}

int ctl_topology(struct ctl *ctl)
{
    const char *path = ctl->option[OPTION_SVG];
    struct rows rows;
    int code = ctl_connect(ctl);

    if (code == 0)
        code = topology_look(ctl, &rows);
    if (code)
        return code;
    code = path ? topology_draw(ctl, &rows, path) : topology_print(ctl, &rows);
    rows_free(&rows);
    return code;
}
