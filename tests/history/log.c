/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of histories: a file that is mapped, a head and records. A record counts once it is whole:
 * the count is stored behind it, so that a writer may be killed between any two instructions. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/history/history.h"

#define LOG_MAGIC UINT64_C(0x31676f6c74736968) /* "histlog1" */

struct log_head {
    uint64_t magic, capacity;
    _Atomic uint64_t count;    /* release by the one writer; behind the record that it counts */
    _Atomic uint64_t overflow; /* that had no room */
};

struct history_log {
    struct log_head *head;
    struct history_record *records;
    size_t size;
};

static size_t log_size(uint64_t capacity)
{
    return sizeof(struct log_head) + capacity * sizeof(struct history_record);
}

static int log_map(struct history_log *log, const char *path, int flags, int protection,
                   uint64_t capacity)
{
    struct stat st;
    int fd = open(path, flags | O_CLOEXEC, 0600), r = 0;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 ||
        (st.st_size == 0 && capacity && ftruncate(fd, (off_t)log_size(capacity)) < 0) ||
        fstat(fd, &st) < 0)
        r = -errno;
    else if ((size_t)st.st_size < sizeof(struct log_head))
        r = -EBADMSG;
    log->size = (size_t)st.st_size;
    log->head = r ? MAP_FAILED : mmap(NULL, log->size, protection, MAP_SHARED, fd, 0);
    if (r == 0 && log->head == MAP_FAILED)
        r = -errno;
    close(fd);
    if (r)
        return r;
    log->records = (struct history_record *)(log->head + 1);
    if (log->head->magic == 0 && capacity) {
        log->head->capacity = capacity;
        log->head->magic = LOG_MAGIC;
    }
    if (log->head->magic == LOG_MAGIC && log->size == log_size(log->head->capacity) &&
        log->head->count <= log->head->capacity)
        return 0;
    munmap(log->head, log->size);
    return -EBADMSG;
}

struct history_log *history_log_open(const char *path, uint64_t capacity)
{
    struct history_log *log = calloc(1, sizeof(*log));
    int r = log ? log_map(log, path, O_RDWR | O_CREAT, PROT_READ | PROT_WRITE, capacity) : -ENOMEM;
    if (r == 0)
        return log;
    free(log);
    errno = -r;
    return NULL;
}

struct history_log *history_log_close(struct history_log *log)
{
    if (log)
        munmap(log->head, log->size);
    free(log);
    return NULL;
}

void history_log_note(struct history_log *log, const struct history_record *record)
{
    uint64_t n = atomic_load_explicit(&log->head->count, memory_order_relaxed);
    if (n == log->head->capacity) {
        atomic_fetch_add(&log->head->overflow, 1);
        return;
    }
    log->records[n] = *record;
    atomic_store_explicit(&log->head->count, n + 1, memory_order_release);
}

uint64_t history_log_records(const struct history_log *log, const struct history_record **ret)
{
    *ret = log->records;
    return atomic_load_explicit(&log->head->count, memory_order_acquire);
}

int history_add_log(struct history *history, const char *path)
{
    struct history_log log = { .head = NULL };
    int r = log_map(&log, path, O_RDONLY, PROT_READ, 0);
    if (r < 0)
        return r;
    uint64_t n = atomic_load_explicit(&log.head->count, memory_order_acquire);
    for (uint64_t i = 0; i < n; i++)
        history_add(history, &log.records[i]);
    if (atomic_load(&log.head->overflow))
        history_add(history, &(struct history_record){ .kind = 0 }); /* damage: it was too small */
    munmap(log.head, log.size);
    return 0;
}
