/* SPDX-License-Identifier: Apache-2.0 */
/* What `odeonctl stats` shows: snapshots of the statistics segment, and which figure is called
 * what.
 *
 * Owned by the command, one thread.
 *
 * stats_view.V1  A snapshot keeps nothing of the segment: it may be compared with one of a segment
 *     that was made anew.
 * stats_view.V2  Figures are found by name; those of a newer service are shown, too, under "Other".
 */
#pragma once

#include <odeon/stats.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;

enum { STATS_NAME = 64, STATS_WORKERS_SANE = 1024, STATS_FIGURES_SANE = 1024 };

struct snapshot_figure {
    char name[STATS_NAME];
    const char *doc; /* of the library, or "" */
    enum odeon_stats_kind kind;
};

struct snapshot {
    struct odeon_stats_service service;
    bool down;            /* the executor does not run */
    bool supervisor_down; /* nor does the supervisor */
    uint64_t taken_ns;    /* CLOCK_MONOTONIC */
    size_t n;             /* figures */
    unsigned n_workers;   /* blocks: the workers' and the control thread's */
    struct snapshot_figure *figures;
    double *values; /* [(n_workers + 1) * n]: of all together, then of each */
    int *cpus;      /* [n_workers], -1: none */
};

/* Opens the segment that the options name; 0, or the exit code, after a message (none when
 * `quiet`). */
int stats_open(struct ctl *ctl, bool quiet, struct odeon_stats **ret);
/* 0, -ENOMEM, -EPROTO: the figures make no sense. */
int snapshot_take(struct odeon_stats *stats, bool workers, struct snapshot **ret);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* Index of a figure, snapshot->n: there is none. */
size_t snapshot_find(const struct snapshot *snapshot, const char *name);
/* `worker` < 0: all together.  0 when there is no such figure. */
double snapshot_value(const struct snapshot *snapshot, int worker, size_t figure);
/* Counts between two snapshots; when the segment was made anew between them, the whole new value;
 * of a worker that was not there before, 0. Derived figures: over that time alone. Gauges: the
 * value. */
double snapshot_difference(const struct snapshot *now, const struct snapshot *before, int worker,
                           size_t figure);

/* How a person calls it: the paper's name, or the figure's own. */
const char *stats_title(const char *name);

/* Groups in their order; the first is the paper's ten in the paper's order. */
struct stats_group {
    const char *title;
    const char *const *names; /* ends with NULL */
};
extern const struct stats_group stats_groups[];
extern const size_t stats_groups_n;
bool stats_is_grouped(const char *name);

/* "0", "17", "3.25" */
enum { STATS_VALUE_TEXT = 32 };
const char *stats_format_value(double value, char text[static STATS_VALUE_TEXT]);
/* "busy" for a value of the gauge `state`; NULL: not one that is known */
const char *stats_state_name(double value);
/* What it means that a service is down, "" when it is not. */
void stats_describe_down(const struct snapshot *snapshot, char *text, size_t size);

struct json;
void stats_json_service(struct json *json, const struct snapshot *snapshot);

/* stats --watch (ctl_stats_watch.c) */
int stats_watch(struct ctl *ctl, struct odeon_stats *stats, double seconds, uint64_t count);
