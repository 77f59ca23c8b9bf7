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

static void stats_file_import(struct stats_header *to, int former);

static void stats_file_fill_header(struct stats_header *header, int former)
{
    header->version = STATS_VERSION;
    header->header_size = sizeof(struct stats_header);
    header->worker_size = sizeof(struct stats_worker);
    header->n_stats = STAT_N;
    header->worker_offset = STATS_WORKER_OFFSET;
    header->workers_max = ODEON_WORKERS_MAX;
    for (unsigned i = 0; i < STAT_N; i++)
        snprintf(header->names[i], STATS_STAT_NAME, "%s", stat_names[i]);
    stats_file_import(header, former);
    atomic_store_explicit(&header->supervisor_pid, (uint32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&header->service_state, SERVICE_STARTING, memory_order_relaxed);
    /* stats_layout.S4: read with acquire by whoever maps the file */
    atomic_store_explicit(&header->magic, STATS_MAGIC, memory_order_release);
}

/* stats_layout.S3: by name.  Blocks of workers lie where the former file says. */
static void stats_file_import_counters(struct stats_header *to, const struct stats_header *from,
                                       size_t size)
{
    unsigned n_from = from->n_stats < STATS_SLOTS ? from->n_stats : STATS_SLOTS;

    for (unsigned i = 0; i < STAT_N; i++)
        for (unsigned k = 0; k < n_from; k++) {
            if (strncmp(to->names[i], from->names[k], STATS_STAT_NAME) != 0)
                continue;
            for (uint64_t w = 0; w <= ODEON_WORKERS_MAX && w <= from->workers_max; w++) {
                uint64_t at = from->worker_offset + w * from->worker_size;
                const struct stats_worker *old =
                    (const struct stats_worker *)((const char *)from + at);
                struct stats_worker *new =
                    (struct stats_worker *)((char *)to + STATS_WORKER_OFFSET) + w;

                if (at + (k + 1) * sizeof(uint64_t) <= size)
                    atomic_store_explicit(
                        &new->value[i], atomic_load_explicit(&old->value[k], memory_order_relaxed),
                        memory_order_relaxed);
            }
        }
}

/* What else counts over all executors of a segment.  Only of the same version: these have no
 * names. */
static void stats_file_import_header(struct stats_header *to, const struct stats_header *from)
{
    if (from->version != STATS_VERSION)
        return;
    atomic_store(&to->executor_restarts, atomic_load(&from->executor_restarts));
    atomic_store(&to->reconfigurations, atomic_load(&from->reconfigurations));
    atomic_store(&to->pause_last_ns, atomic_load(&from->pause_last_ns));
    atomic_store(&to->pause_longest_ns, atomic_load(&from->pause_longest_ns));
    memcpy(&to->recovery_last, &from->recovery_last, sizeof(to->recovery_last));
    memcpy(&to->recovery_total, &from->recovery_total, sizeof(to->recovery_total));
}

/* Figures are not worth a failure: what cannot be read begins at zero. */
static void stats_file_import(struct stats_header *to, int former)
{
    struct stats_header *from;
    struct stat st;

    if (former < 0 || fstat(former, &st) < 0 || (uint64_t)st.st_size < sizeof(struct stats_header))
        return;
    from = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, former, 0);
    if (from == MAP_FAILED)
        return;
    if (atomic_load_explicit(&from->magic, memory_order_acquire) == STATS_MAGIC) {
        stats_file_import_counters(to, from, (size_t)st.st_size);
        stats_file_import_header(to, from);
    }
    munmap(from, (size_t)st.st_size);
}

static int stats_file_fill_file(struct stats_file *file, int former)
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
    stats_file_fill_header(file->header, former);
    return 0;
}

int stats_file_make(struct stats_file *file, const char *path, int former)
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
    r = stats_file_fill_file(file, former);
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
    const struct stats_worker *blocks =
        (const struct stats_worker *)((const char *)file->header + STATS_WORKER_OFFSET);
    uint64_t created = 0, ended = 0;

    for (unsigned i = 0; i <= ODEON_WORKERS_MAX; i++) {
        created +=
            atomic_load_explicit(&blocks[i].value[STAT_actors_created], memory_order_relaxed);
        ended += atomic_load_explicit(&blocks[i].value[STAT_actors_ended], memory_order_relaxed);
    }
    return created > ended ? created - ended : 0;
}

void stats_file_count(struct stats_file *file, enum stat_index stat)
{
    struct stats_worker *blocks =
        (struct stats_worker *)((char *)file->header + STATS_WORKER_OFFSET);
    _Atomic uint64_t *value = &blocks[STATS_CONTROL_BLOCK].value[stat];

    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

uint64_t stats_file_count_of(const struct stats_file *file, enum stat_index stat)
{
    const struct stats_worker *blocks =
        (const struct stats_worker *)((const char *)file->header + STATS_WORKER_OFFSET);

    return atomic_load_explicit(&blocks[STATS_CONTROL_BLOCK].value[stat], memory_order_relaxed);
}

void stats_file_fini(struct stats_file *file)
{
    if (file->header)
        munmap(file->header, STATS_SEGMENT_SIZE);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct stats_file){ .fd = -1 };
}
