/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/figures.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FIGURES_TRIES = 4 };

void figures_init(struct figures *figures, const char *path)
{
    *figures = (struct figures){ .path = path ? path : ODEON_STATS_DEFAULT };
}

static void figures_forget(struct figures *figures)
{
    free(figures->figures);
    free(figures->values);
    free(figures->cpus);
    figures->figures = NULL;
    figures->values = NULL;
    figures->cpus = NULL;
    figures->n = figures->n_workers = figures->n_blocks = 0;
    figures->stats = odeon_stats_close(figures->stats);
    figures->executor_up = figures->supervisor_up = false;
}

void figures_fini(struct figures *figures)
{
    figures_forget(figures);
}

static int figures_take_names(struct figures *figures)
{
    size_t n = odeon_stats_n(figures->stats), n_blocks = odeon_stats_n_blocks(figures->stats);

    figures->figures = calloc(n + 1, sizeof(*figures->figures));
    figures->values = calloc(n * n_blocks + 1, sizeof(*figures->values));
    figures->cpus = calloc(n_blocks + 1, sizeof(*figures->cpus));
    if (!figures->figures || !figures->values || !figures->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct figure *figure = &figures->figures[i];

        snprintf(figure->name, sizeof(figure->name), "%s", odeon_stats_name(figures->stats, i));
        figure->doc = odeon_stats_doc(figures->stats, i);
        figure->kind = odeon_stats_kind(figures->stats, i);
    }
    figures->n = n;
    figures->n_blocks = (unsigned)n_blocks;
    return 0;
}

/* The file is looked at before and behind: who replaces it meanwhile is noticed. */
static int figures_open(struct figures *figures)
{
    struct stat before, behind;
    int r = -EAGAIN;

    for (int i = 0; i < FIGURES_TRIES; i++) {
        figures_forget(figures);
        if (stat(figures->path, &before) < 0)
            memset(&before, 0, sizeof(before)); /* the next call says why */
        r = odeon_stats_open(figures->path, &figures->stats);
        if (r < 0)
            return r;
        if (stat(figures->path, &behind) == 0 && behind.st_dev == before.st_dev &&
            behind.st_ino == before.st_ino)
            break;
    }
    figures->device = before.st_dev;
    figures->inode = before.st_ino;
    r = figures_take_names(figures);
    if (r < 0)
        figures_forget(figures);
    return r;
}

/* figures.F2 */
static bool figures_is_same_file(const struct figures *figures)
{
    struct stat now;

    if (!figures->stats)
        return false;
    if (stat(figures->path, &now) < 0)
        return true;
    return now.st_dev == figures->device && now.st_ino == figures->inode;
}

static bool figures_process_is_gone(uint32_t pid)
{
    return pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

static void figures_judge(struct figures *figures)
{
    const struct odeon_stats_service *s = &figures->service;

    figures->supervisor_up =
        strcmp(s->state_name, "stopped") != 0 && !figures_process_is_gone(s->supervisor_pid);
    figures->executor_up = figures->supervisor_up && strcmp(s->state_name, "running") == 0 &&
                           !figures_process_is_gone(s->executor_pid);
}

/* figures.F1 */
static void figures_read(struct figures *figures)
{
    for (size_t i = 0; i < figures->n; i++)
        for (unsigned k = 0; k < figures->n_blocks; k++)
            figures->values[i * figures->n_blocks + k] =
                odeon_stats_block_value(figures->stats, k, i);
    for (unsigned k = 0; k < figures->n_workers; k++)
        figures->cpus[k] = odeon_stats_cpu(figures->stats, (int)k);
}

int figures_look(struct figures *figures)
{
    struct odeon_stats_service *service = &figures->service;
    struct timespec now;
    int r = 0;

    if (!figures_is_same_file(figures))
        r = figures_open(figures);
    *service = (struct odeon_stats_service){ .struct_size = sizeof(*service) };
    if (r == 0)
        r = odeon_stats_service(figures->stats, service);
    if (r < 0) {
        figures_forget(figures);
        return r;
    }
    figures->n_workers = service->workers; /* below n_blocks: the library sees to it */
    figures_read(figures);
    clock_gettime(CLOCK_MONOTONIC, &now);
    figures->looked_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    figures_judge(figures);
    return 0;
}

size_t figures_find(const struct figures *figures, const char *name)
{
    size_t i = 0;

    while (i < figures->n && strcmp(figures->figures[i].name, name) != 0)
        i++;
    return i;
}

double figures_of_block(const struct figures *figures, size_t figure, unsigned block)
{
    if (figure >= figures->n || block >= figures->n_blocks)
        return 0;
    return figures->values[figure * figures->n_blocks + block];
}

double figures_total(const struct figures *figures, size_t figure)
{
    double sum = 0;

    for (unsigned k = 0; k < figures->n_blocks; k++)
        sum += figures_of_block(figures, figure, k);
    return sum;
}
