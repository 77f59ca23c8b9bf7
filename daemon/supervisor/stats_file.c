/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics segment; the interface is in stats_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/supervisor/stats_file.h"

static const char *const stat_names[STAT_N] = {
#define STAT(name, doc)       #name,
#define STAT_GAUGE(name, doc) #name,
#include "proto/stats.def"
};

static void fill_header(struct stats_header *header)
{
    header->version = STATS_VERSION;
    header->header_size = sizeof(struct stats_header);
    header->worker_size = sizeof(struct stats_worker);
    header->n_stats = STAT_N;
    header->worker_offset = STATS_WORKER_OFFSET;
    header->workers_max = ODEON_WORKERS_MAX;
    for (unsigned i = 0; i < STAT_N; i++)
        snprintf(header->names[i], STATS_STAT_NAME, "%s", stat_names[i]);
    atomic_store_explicit(&header->supervisor_pid, (uint32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&header->service_state, SERVICE_STARTING, memory_order_relaxed);
    /* S4: read with acquire by whoever maps the file */
    atomic_store_explicit(&header->magic, STATS_MAGIC, memory_order_release);
}

static int fill_file(struct stats_file *file)
{
    int r;

    if (fchmod(file->fd, 0644) < 0) /* everybody may read, whatever the umask is */
        return -errno;
    /* Blocks now: a full file system must not become a SIGBUS later. */
    r = posix_fallocate(file->fd, 0, (off_t)STATS_SEGMENT_SIZE);
    if (r != 0)
        return -r;
    file->header = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (file->header == MAP_FAILED) {
        file->header = NULL;
        return -errno;
    }
    fill_header(file->header);
    return 0;
}

int stats_file_make(struct stats_file *file, const char *path)
{
    char temporary[4096];
    int r;

    *file = (struct stats_file){ .fd = -1 };
    if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary))
        return -ENAMETOOLONG;
    if (unlink(temporary) < 0 && errno != ENOENT)
        return -errno;
    file->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file->fd < 0)
        return -errno;
    r = fill_file(file);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(temporary);
        stats_file_fini(file);
    }
    return r;
}

uint64_t stats_file_count_actors(const struct stats_file *file)
{
    const struct stats_worker *blocks = (const struct stats_worker *)((const char *)file->header + STATS_WORKER_OFFSET);
    uint64_t created = 0, ended = 0;

    for (unsigned i = 0; i <= ODEON_WORKERS_MAX; i++) {
        created += atomic_load_explicit(&blocks[i].value[STAT_actors_created], memory_order_relaxed);
        ended += atomic_load_explicit(&blocks[i].value[STAT_actors_ended], memory_order_relaxed);
    }
    return created > ended ? created - ended : 0;
}

void stats_file_fini(struct stats_file *file)
{
    if (file->header)
        munmap(file->header, STATS_SEGMENT_SIZE);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct stats_file){ .fd = -1 };
}
