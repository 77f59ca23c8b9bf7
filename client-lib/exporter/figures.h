/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics file, read again and again: also while nothing runs, and when it is made anew.
 *
 * Owned by its caller, one thread. Nobody is asked, and nothing blocks.
 *
 * figures.F1  A count belongs to its block in the file, whose number stays whoever counts there: no
 *     count falls while the file lives, however many workers there are, and whatever has been read
 *     before.
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
    unsigned n_workers; /* the first of the blocks */
    unsigned n_blocks;  /* those of former workers and of detached actors, too; last, control */
    size_t n;
    struct figure *figures; /* [n] */
    double *values;         /* [n * n_blocks], a figure's together */
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
/* A worker's block has its number. */
double figures_of_block(const struct figures *figures, size_t figure, unsigned block);
/* Over all blocks. */
double figures_total(const struct figures *figures, size_t figure);
