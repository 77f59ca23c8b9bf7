/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/src/observe_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/src/error.h"

#define OBSERVE_LATE_NS UINT64_C(3000000000) /* a window that ended before is of the past */
enum { OBSERVE_TRIES = 4 };                  /* at a window that is being written */

static bool observe_file_read(const struct observe_file *file, void *to, size_t bytes, uint64_t at)
{
    return pread(file->fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* observe_file.OF1 */
static int observe_file_check(struct observe_file *file)
{
    struct observed_header *header = malloc(sizeof(*header));
    struct stat st;
    int r = 0;

    if (!header)
        return error_set_literal(-ENOMEM, "no memory to read what actors do");
    if (fstat(file->fd, &st) < 0 || !observe_file_read(file, header, sizeof(*header), 0) ||
        header->magic != OBSERVED_MAGIC)
        r = error_set_literal(-EPROTO, "what the service handed out is no file of what actors do");
    else if (header->version != OBSERVED_VERSION ||
             header->worker_size < sizeof(struct observed_worker) ||
             header->type_size != sizeof(struct observed_type) ||
             header->types_max != ODEON_ACTOR_TYPES_MAX ||
             header->types_offset != offsetof(struct observed_worker, types) ||
             header->trace_offset != offsetof(struct observed_worker, trace) ||
             header->live_offset != offsetof(struct observed_worker, live) ||
             header->workers_offset < sizeof(*header) ||
             header->workers_offset + (uint64_t)header->worker_size * header->n_workers >
                 (uint64_t)st.st_size)
        r = error_set(-EPROTO,
                      "the service's file of what actors do has version %u or sizes that this "
                      "library does not know, version %d is its own: use those of one release",
                      header->version, OBSERVED_VERSION);
    file->size = r == 0 ? (uint64_t)st.st_size : 0;
    file->n_workers = header->n_workers;
    file->worker_size = header->worker_size;
    file->workers_offset = header->workers_offset;
    file->types_offset = header->types_offset;
    file->types_max = header->types_max;
    file->trace_offset = header->trace_offset;
    file->live_offset = header->live_offset;
    free(header);
    return r;
}

int observe_file_open(struct observe_file *file, int fd)
{
    int r;

    *file = (struct observe_file){ .fd = fd };
    r = observe_file_check(file);
    if (r < 0) {
        close(fd);
        file->fd = -1;
    }
    return r;
}

void observe_file_forget(struct observe_file *look)
{
    free(look->names);
    free(look->types);
    free(look->windows);
    look->names = NULL;
    look->types = NULL;
    look->windows = NULL;
    look->n_types = look->n_windows = 0;
}

static void observe_file_add_type(struct observe_type *to, const struct observed_type *from)
{
    to->messages += from->messages;
    to->run_ns += from->run_ns;
    to->sends += from->sends;
    to->waited += from->waited;
    to->wait_ns += from->wait_ns;
    to->timed += from->timed;
    to->samples += from->samples;
    to->sampled += from->sampled;
    to->failed += from->failed;
    for (uint32_t i = 0; i < TIME_CELLS; i++) {
        to->run[i] += from->run[i];
        to->wait[i] += from->wait[i];
    }
}

/* observed_layout.V3 */
static bool observe_file_read_window(const struct observe_file *file, uint64_t at,
                                     struct observed_window *ret)
{
    for (int i = 0; i < OBSERVE_TRIES; i++) {
        uint64_t turns;

        if (!observe_file_read(file, ret, sizeof(*ret), at))
            return false;
        if (observe_file_read(file, &turns, sizeof(turns), at) && turns == ret->turns &&
            turns % 2 == 0)
            return true;
    }
    return false;
}

/* Of the worker whose part begins at `at`. */
static void observe_file_look_windows(struct observe_file *look, uint64_t at)
{
    struct observe_window *of = &look->windows[look->n_windows];
    uint64_t begin = look->looked_ns;

    *of = (struct observe_window){ 0 };
    for (int i = 0; i < 2; i++) {
        struct observed_window *window = &of->window[i];

        of->is_late[i] =
            observe_file_read_window(look, at + (uint64_t)i * sizeof(*window), window) &&
            window->last_ns && window->last_ns + OBSERVE_LATE_NS > look->looked_ns;
        if (of->is_late[i] && window->begin_ns < begin)
            begin = window->begin_ns;
    }
    of->span_ns = look->looked_ns - begin;
    look->n_windows += of->is_late[0] || of->is_late[1];
}

/* The next offset at or behind `at` where there is anything; the file's size: nowhere. */
static uint64_t observe_file_next(const struct observe_file *file, uint64_t at)
{
    off_t next = lseek(file->fd, (off_t)at, SEEK_DATA);

    return next < 0 ? (errno == ENXIO ? file->size : at) : (uint64_t)next;
}

static void observe_file_look_types(struct observe_file *look, uint64_t at)
{
    uint64_t end = at + (uint64_t)look->n_types * sizeof(struct observed_type);
    struct observed_type block;

    for (uint64_t data = observe_file_next(look, at); data < end;
         data = observe_file_next(look, data)) {
        uint64_t id = (data - at) / sizeof(block);

        data = at + id * sizeof(block);
        if (!observe_file_read(look, &block, sizeof(block), data))
            return;
        observe_file_add_type(&look->types[id], &block);
        data += sizeof(block);
    }
}

static void observe_file_look_live(struct observe_file *look, uint64_t at)
{
    uint64_t live[ODEON_ACTOR_TYPES_MAX];

    if (observe_file_next(look, at) >= at + sizeof(live) ||
        !observe_file_read(look, live, sizeof(live), at))
        return;
    for (uint32_t id = 0; id < look->n_types; id++)
        look->types[id].live += live[id];
}

static void observe_file_look_workers(struct observe_file *look)
{
    uint64_t first = look->workers_offset,
             end = first + (uint64_t)look->n_workers * look->worker_size;

    for (uint64_t at = observe_file_next(look, first); at < end; at = observe_file_next(look, at)) {
        uint64_t worker = first + (at - first) / look->worker_size * look->worker_size;

        observe_file_look_windows(look, worker);
        observe_file_look_types(look, worker + look->types_offset);
        observe_file_look_live(look, worker + look->live_offset);
        at = worker + look->worker_size;
    }
    /* workers are read one behind the other: who was spawned by one that has been read, and ended
     * by the next, is in the sum the wrong way round */
    for (uint32_t id = 0; id < look->n_types; id++)
        if ((int64_t)look->types[id].live < 0)
            look->types[id].live = 0;
}

/* observed_layout.V4 */
static bool observe_file_look_names(struct observe_file *look)
{
    uint32_t n = 0;

    if (!observe_file_read(look, &n, sizeof(n), offsetof(struct observed_header, n_types)))
        return false;
    look->n_types = n < look->types_max ? n : look->types_max;
    look->names = calloc(look->n_types + 1, sizeof(*look->names));
    look->types = calloc(look->n_types + 1, sizeof(*look->types));
    /* Room for as many workers as there may ever be, most of it never touched: cleared, each look
     * would take ten megabytes where an allocator has had it before. */
    look->windows = malloc((look->n_workers + 1) * sizeof(*look->windows));
    if (!look->names || !look->types || !look->windows)
        return false;
    for (uint32_t id = 0; id < look->n_types; id++) {
        struct observe_name *name = &look->names[id];

        static_assert(sizeof(*name) == sizeof(struct observed_name), "the same names");
        if (!observe_file_read(look, name, sizeof(*name),
                               offsetof(struct observed_header, names) + id * sizeof(*name)))
            return false;
        name->type[ODEON_NAME_MAX] = name->plugin[ODEON_NAME_MAX] = '\0';
    }
    return true;
}

int observe_file_look(const struct observe_file *file, struct observe_file *ret)
{
    struct timespec now;

    *ret = *file;
    ret->names = NULL;
    ret->types = NULL;
    ret->windows = NULL;
    ret->n_types = ret->n_windows = 0;
    if (!observe_file_look_names(ret)) {
        observe_file_forget(ret);
        return error_set_literal(-ENOMEM, "no memory for what actors do");
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    ret->looked_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    observe_file_look_workers(ret);
    return 0;
}

uint32_t observe_file_next_worker(const struct observe_file *file, uint32_t worker)
{
    uint64_t first = file->workers_offset,
             end = first + (uint64_t)file->n_workers * file->worker_size,
             at = observe_file_next(file, first + (uint64_t)worker * file->worker_size);

    return at < end ? (uint32_t)((at - first) / file->worker_size) : file->n_workers;
}

/* observed_layout.V5.  `n` has been read before the records, and `later` behind them: what the
 * writer may have begun to write over meanwhile does not count. */
uint32_t observe_file_trace(const struct observe_file *file, uint32_t worker, uint64_t *after,
                            struct observed_record ret[OBSERVED_RECORDS], uint64_t *ret_lost)
{
    static const size_t record = sizeof(struct observed_record);
    uint64_t at = file->workers_offset + (uint64_t)worker * file->worker_size + file->trace_offset,
             records = at + offsetof(struct observed_trace, record), n = 0, later = 0, first, kept;
    uint32_t until, from;

    *ret_lost = 0;
    if (worker >= file->n_workers || !observe_file_read(file, &n, sizeof(n), at) || n <= *after)
        return 0;
    first = *after + 1;
    if (n - first >= OBSERVED_RECORDS)
        first = n - OBSERVED_RECORDS + 1;
    from = (uint32_t)(first % OBSERVED_RECORDS);
    until = (uint32_t)(n % OBSERVED_RECORDS) + 1;
    kept = n - first + 1;
    if (from < until) {
        if (!observe_file_read(file, ret, kept * record, records + from * record))
            return 0;
    } else if (!observe_file_read(file, ret, (OBSERVED_RECORDS - from) * record,
                                  records + from * record) ||
               !observe_file_read(file, ret + OBSERVED_RECORDS - from, until * record, records)) {
        return 0;
    }
    if (!observe_file_read(file, &later, sizeof(later), at))
        return 0;
    if (later >= first + OBSERVED_RECORDS - 1) {
        uint64_t gone = later - (first + OBSERVED_RECORDS - 1) + 1;

        gone = gone < kept ? gone : kept;
        memmove(ret, ret + gone, (kept - gone) * record);
        kept -= gone;
        first += gone;
    }
    *ret_lost = first - (*after + 1);
    *after = n;
    return (uint32_t)kept;
}
