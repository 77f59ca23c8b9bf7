/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics file, read again and again: also while nothing runs, and when it is made anew.
 *
 * Owned by its caller, one thread. Nobody is asked, and nothing blocks.
 *
 * figures.F1  Counts of detached actors' threads and of workers that are no more (`rest`) only grow
 *     while the number of workers stays: the total is read before its parts, so that what is
 *     counted in between never makes it fall.
 * figures.F2  A file that cannot be read any more, or is another one, takes the former one's
 *     figures with it; one that has gone does not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <odeon/stats.h>

enum { FIGURES_NAME = 64 };

struct figure {
    char name[FIGURES_NAME];
    const char *doc; /* "": newer than this program, of a kind that is not known */
    enum odeon_stats_kind kind;
};

struct figures {
    const char *path;
    struct odeon_stats *stats; /* NULL: none could be read yet */
    dev_t device;
    ino_t inode;
    /* of the last look */
    struct odeon_stats_service service;
    bool executor_up, supervisor_up;
    unsigned n_workers; /* behind them comes the control thread */
    size_t n;
    struct figure *figures; /* [n] */
    double *values;         /* [n * (n_workers + 1)], a figure's together */
    double *rest;           /* [n] */
    int *cpus;              /* [n_workers], -1: bound to none */
    uint64_t looked_ns;     /* CLOCK_MONOTONIC */
};

/* `path` NULL: the default one; else it must live as long. */
void figures_init(struct figures *figures, const char *path);
void figures_fini(struct figures *figures);
/* 0; negative errno: there is nothing that can be shown, `odeon_error_text()` says why. */
int figures_look(struct figures *figures);
/* Index; figures->n: there is none of this name. */
size_t figures_find(const struct figures *figures, const char *name);
/* `worker` n_workers: the control thread's. */
double figures_value(const struct figures *figures, size_t figure, unsigned worker);
/* Over all of them, `rest` included. */
double figures_total(const struct figures *figures, size_t figure);
