/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/topology/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int rows_compare(int a, int b)
{
    return (a > b) - (a < b);
}

/* rows.TR2 */
static int rows_compare_rows(const void *one, const void *other)
{
    const struct topology_row *a = one, *b = other;
    const int keys[][2] = {
        { a->cpu == ROWS_NONE, b->cpu == ROWS_NONE },
        { a->place.node, b->place.node },
        { a->place.l3, b->place.l3 },
        { a->place.l2, b->place.l2 },
        { a->place.core, b->place.core },
        { a->cpu, b->cpu },
        { a->worker, b->worker },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return rows_compare(keys[i][0], keys[i][1]);
    return 0;
}

static bool rows_is_online(int cpu)
{
    return topology_find(cpu).core >= 0;
}

static unsigned rows_workers(const struct snapshot *s)
{
    return s->service.workers < s->n_workers ? s->service.workers : s->n_workers;
}

static void rows_add_worker(struct rows *rows, const struct snapshot *s, unsigned worker)
{
    int cpu = s->cpus[worker] >= 0 && rows_is_online(s->cpus[worker]) ? s->cpus[worker] : ROWS_NONE;

    rows->row[rows->n++] = (struct topology_row){
        .cpu = cpu,
        .worker = (int)worker,
        .place = topology_find(cpu),
        .state = stats_state_name(snapshot_value(s, (int)worker, snapshot_find(s, "state"))),
    };
}

static bool rows_has_cpu(const struct rows *rows, int cpu)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].cpu == cpu)
            return true;
    return false;
}

int rows_make(const struct snapshot *snapshot, struct rows *ret_rows)
{
    unsigned workers = rows_workers(snapshot);
    int cpus = topology_cpus();
    struct rows rows = { .row = calloc(workers + (size_t)cpus + 1, sizeof(*rows.row)) };

    if (!rows.row)
        return -ENOMEM;
    for (unsigned i = 0; i < workers; i++)
        rows_add_worker(&rows, snapshot, i);
    for (int cpu = 0; cpu < cpus; cpu++)
        if (rows_is_online(cpu) && !rows_has_cpu(&rows, cpu))
            rows.row[rows.n++] = (struct topology_row){ .cpu = cpu,
                                                        .worker = ROWS_NONE,
                                                        .place = topology_find(cpu) };
    qsort(rows.row, rows.n, sizeof(*rows.row), rows_compare_rows);
    *ret_rows = rows;
    return 0;
}

void rows_free(struct rows *rows)
{
    free(rows->row);
    *rows = (struct rows){ 0 };
}

void rows_count_queue(struct rows *rows, const struct odeon_queue_info *queue)
{
    if (strcmp(queue->kind, "ordinary") != 0 && strcmp(queue->kind, "pinned") != 0)
        return;
    for (size_t i = 0; i < rows->n; i++) {
        struct topology_row *row = &rows->row[i];

        if (row->worker != (int)queue->home)
            continue;
        row->queues++;
        row->actors += queue->actors;
        row->bytes += queue->bytes + queue->urgent_bytes;
    }
}
