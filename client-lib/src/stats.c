/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the statistics segment (stats_layout.S1 to stats_layout.S4): a read-only mapping and
 * names.
 *
 * Which counters there are is the segment's to say (stats_layout.S3); this library's own list gives
 * documentation, tells gauges from counters and knows the derived figures, which come last and only
 * when the segment has both of their counters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <odeon/stats.h>

#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"
#include "proto/stats_layout.h"

struct known_stat {
    const char *name, *doc, *numerator, *denominator;
    enum odeon_stats_kind kind;
};

static const struct known_stat known[] = {
#define STAT(name, doc)       { #name, doc, NULL, NULL, ODEON_STATS_COUNTER },
#define STAT_GAUGE(name, doc) { #name, doc, NULL, NULL, ODEON_STATS_GAUGE },
#define STAT_DERIVED(name, numerator, denominator, doc)                                            \
    { #name, doc, #numerator, #denominator, ODEON_STATS_DERIVED },
#include "proto/stats.def"
};

/* The first release's struct ends here. */
#define SERVICE_SIZE_FIRST                                                                         \
    (offsetof(struct odeon_stats_service, recovery_last_ns) + sizeof(uint64_t))

enum { KNOWN_N = sizeof(known) / sizeof(known[0]) };

struct derived {
    const struct known_stat *known;
    uint32_t numerator, denominator; /* indexes in the segment */
};

struct odeon_stats {
    const struct stats_header *header;
    size_t size;
    uint32_t n_stats, worker_offset, worker_size, n_blocks; /* copies that were checked */
    uint32_t n_derived;
    char names[STATS_SLOTS][STATS_STAT_NAME];
    const struct known_stat *of[STATS_SLOTS]; /* NULL: newer than this library */
    struct derived derived[KNOWN_N];
};

static const struct known_stat *stats_find_known(const char *name)
{
    for (size_t i = 0; i < KNOWN_N; i++)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

static bool stats_find_slot(const struct odeon_stats *stats, const char *name, uint32_t *ret_slot)
{
    for (uint32_t i = 0; i < stats->n_stats; i++)
        if (strcmp(stats->names[i], name) == 0) {
            *ret_slot = i;
            return true;
        }
    return false;
}

static void stats_take_names(struct odeon_stats *stats)
{
    for (uint32_t i = 0; i < stats->n_stats; i++) {
        memcpy(stats->names[i], stats->header->names[i], STATS_STAT_NAME - 1);
        stats->of[i] = stats_find_known(stats->names[i]);
    }
    for (size_t i = 0; i < KNOWN_N; i++) {
        struct derived *derived = &stats->derived[stats->n_derived];

        if (known[i].kind != ODEON_STATS_DERIVED ||
            !stats_find_slot(stats, known[i].numerator, &derived->numerator) ||
            !stats_find_slot(stats, known[i].denominator, &derived->denominator))
            continue;
        derived->known = &known[i];
        stats->n_derived++;
    }
}

/* Sizes may be larger than ours (a newer service of the same version appends), never smaller. */
static int stats_check_header(struct odeon_stats *stats, const char *path)
{
    const struct stats_header *header = stats->header;

    /* stats_layout.S4: the magic was stored last with release; all else is there once it is seen */
    if (atomic_load_explicit(&header->magic, memory_order_acquire) != STATS_MAGIC)
        return error_set(-EPROTO, "%s is not a statistics segment, or is just being made", path);
    if (header->version != STATS_VERSION)
        return error_set(-EPROTO,
                         "%s has statistics of version %u, this library (%s) reads version %d: use "
                         "those of one release",
                         path, header->version, ODEON_VERSION, STATS_VERSION);
    stats->n_stats = header->n_stats;
    stats->worker_offset = header->worker_offset;
    stats->worker_size = header->worker_size;
    stats->n_blocks = header->workers_max + 1;
    if (header->header_size < sizeof(*header) || stats->n_stats > STATS_SLOTS ||
        stats->worker_size < sizeof(struct stats_worker) ||
        stats->worker_size % alignof(struct stats_worker) != 0 ||
        stats->worker_offset < header->header_size ||
        stats->worker_offset % alignof(struct stats_worker) != 0 || stats->n_blocks == 0 ||
        stats->worker_offset + (uint64_t)stats->worker_size * stats->n_blocks > stats->size)
        return error_set(
            -EPROTO, "%s: the statistics segment's header contradicts itself or the file's size",
            path);
    return 0;
}

static int stats_map_file(struct odeon_stats *stats, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    int result = 0;

    if (fd < 0)
        return errno == ENOENT
                   ? error_set(
                         -ENOENT,
                         "no statistics at %s: no service has run here, or ODEON_STATS is needed",
                         path)
                   : error_set(-errno, "cannot open %s: %s", path, error_describe(-errno));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size < sizeof(struct stats_header)) {
        result = error_set(-EPROTO, "%s is not a statistics segment: no regular file, or too short",
                           path);
    } else {
        void *mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);

        if (mapping == MAP_FAILED)
            result = error_set(-errno, "cannot map %s: %s", path, error_describe(-errno));
        else {
            stats->header = mapping;
            stats->size = (size_t)status.st_size;
        }
    }
    close(fd);
    return result;
}

/* $ODEON_STATS, else `stats` beside $ODEON_SOCKET, else the default. */
static const char *stats_default_path(char *buffer, size_t size)
{
    const char *path = secure_getenv("ODEON_STATS"), *socket = secure_getenv("ODEON_SOCKET"),
               *slash;

    if (path && *path)
        return path;
    if (!socket || !*socket)
        return ODEON_STATS_DEFAULT;
    slash = strrchr(socket, '/');
    snprintf(buffer, size, "%.*sstats", slash ? (int)(slash - socket + 1) : 0, socket);
    return buffer;
}

int odeon_stats_open(const char *path, struct odeon_stats **ret_stats)
{
    WITHOUT_CANCELLATION;

    struct odeon_stats *stats;
    char buffer[4096];
    int result;

    if (!ret_stats)
        return error_set_literal(-EINVAL, "odeon_stats_open: no place for the reader");
    *ret_stats = NULL;
    if (!path)
        path = stats_default_path(buffer, sizeof(buffer));
    stats = calloc(1, sizeof(*stats));
    if (!stats)
        return error_set_literal(-ENOMEM, "no memory for statistics");
    result = stats_map_file(stats, path);
    if (result == 0)
        result = stats_check_header(stats, path);
    if (result < 0) {
        odeon_stats_close(stats);
        return result;
    }
    stats_take_names(stats);
    *ret_stats = stats;
    return 0;
}

struct odeon_stats *odeon_stats_close(struct odeon_stats *stats)
{
    if (stats && stats->header)
        munmap((void *)(uintptr_t)stats->header, stats->size);
    free(stats);
    return NULL;
}

size_t odeon_stats_n(const struct odeon_stats *stats)
{
    return stats ? (size_t)stats->n_stats + stats->n_derived : 0;
}

static const struct known_stat *stats_known_of(const struct odeon_stats *stats, size_t index)
{
    if (index >= odeon_stats_n(stats))
        return NULL;
    return index < stats->n_stats ? stats->of[index] : stats->derived[index - stats->n_stats].known;
}

const char *odeon_stats_name(const struct odeon_stats *stats, size_t index)
{
    if (index >= odeon_stats_n(stats))
        return NULL;
    return index < stats->n_stats ? stats->names[index]
                                  : stats->derived[index - stats->n_stats].known->name;
}

const char *odeon_stats_doc(const struct odeon_stats *stats, size_t index)
{
    const struct known_stat *stat = stats_known_of(stats, index);

    return stat ? stat->doc : "";
}

enum odeon_stats_kind odeon_stats_kind(const struct odeon_stats *stats, size_t index)
{
    const struct known_stat *stat = stats_known_of(stats, index);

    return stat ? stat->kind : ODEON_STATS_COUNTER;
}

/* A caller counts today's workers and the control thread behind them; that one's block is the last
 * of all. */
static uint32_t stats_block_of(const struct odeon_stats *stats, int worker)
{
    uint32_t workers = atomic_load_explicit(&stats->header->n_workers, memory_order_relaxed);

    return (uint32_t)worker == workers ? stats->n_blocks - 1 : (uint32_t)worker;
}

static const struct stats_worker *stats_worker_of(const struct odeon_stats *stats, uint32_t worker)
{
    return (const struct stats_worker *)((const char *)stats->header + stats->worker_offset +
                                         (size_t)worker * stats->worker_size);
}

/* One counter, relaxed: counters are independent of each other and of everything else
 * (stats_layout.S1). */
static uint64_t stats_count_in(const struct odeon_stats *stats, uint32_t block, uint32_t slot)
{
    return atomic_load_explicit(&stats_worker_of(stats, block)->value[slot], memory_order_relaxed);
}

static uint64_t stats_count_of(const struct odeon_stats *stats, int worker, uint32_t slot)
{
    uint64_t sum = 0;

    if (worker >= 0)
        return (uint32_t)worker < stats->n_blocks
                   ? stats_count_in(stats, stats_block_of(stats, worker), slot)
                   : 0;
    /* all blocks, not just those of today's workers: a total never falls when workers are taken
     * away */
    for (uint32_t i = 0; i < stats->n_blocks; i++)
        sum += stats_count_in(stats, i, slot);
    return sum;
}

double odeon_stats_value(struct odeon_stats *stats, int worker, size_t index)
{
    if (index >= odeon_stats_n(stats))
        return 0;
    if (index >= stats->n_stats) {
        const struct derived *derived = &stats->derived[index - stats->n_stats];
        uint64_t denominator = stats_count_of(stats, worker, derived->denominator);

        return denominator
                   ? (double)stats_count_of(stats, worker, derived->numerator) / (double)denominator
                   : 0;
    }
    if (worker < 0 && odeon_stats_kind(stats, index) == ODEON_STATS_GAUGE)
        return 0;
    return (double)stats_count_of(stats, worker, (uint32_t)index);
}

size_t odeon_stats_n_blocks(const struct odeon_stats *stats)
{
    return stats ? stats->n_blocks : 0;
}

double odeon_stats_block_value(const struct odeon_stats *stats, size_t block, size_t index)
{
    if (!stats || block >= stats->n_blocks || index >= stats->n_stats)
        return 0;
    return (double)stats_count_in(stats, (uint32_t)block, (uint32_t)index);
}

int odeon_stats_cpu(struct odeon_stats *stats, int worker)
{
    uint32_t cpu;

    if (!stats || worker < 0 || (uint32_t)worker >= stats->n_blocks)
        return -1;
    cpu = atomic_load_explicit(&stats_worker_of(stats, stats_block_of(stats, worker))->cpu,
                               memory_order_relaxed);
    return cpu > INT32_MAX ? -1 : (int)cpu;
}

static const char *stats_state_name(uint32_t state)
{
    static const char *const names[] = {
        [SERVICE_STARTING] = "starting",
        [SERVICE_RECOVERING] = "recovering",
        [SERVICE_RUNNING] = "running",
        [SERVICE_DRAINING] = "draining",
        [SERVICE_EXECUTOR_DOWN] = "executor-down",
        [SERVICE_STOPPED] = "stopped",
    };

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void stats_fill_recovery(struct odeon_stats_service *service,
                                const struct stats_header *header)
{
    const struct stats_recovery *total = &header->recovery_total;

#define TOTAL(field) atomic_load_explicit(&total->field, memory_order_relaxed)
    service->boots = TOTAL(boots);
    service->recovered_running_handlers = TOTAL(running_handlers);
    service->recovered_unflushed_outboxes = TOTAL(unflushed_outboxes);
    service->recovered_armed_journals = TOTAL(armed_journals);
    service->recovered_held_locks = TOTAL(held_locks);
    service->recovered_parked_batches = TOTAL(parked_batches);
    service->recovered_attached_batches = TOTAL(attached_batches);
    service->recovered_ports_attached = TOTAL(ports_attached);
    service->recovered_spawns_undone = TOTAL(spawns_undone);
    service->recovered_states_undone = TOTAL(states_undone);
    service->recovered_redeliveries = TOTAL(redeliveries);
    service->recovered_faults = TOTAL(faults);
#undef TOTAL
    service->recovery_last_ns =
        atomic_load_explicit(&header->recovery_last.duration_ns, memory_order_relaxed);
}

int odeon_stats_service(struct odeon_stats *stats, struct odeon_stats_service *ret_service)
{
    struct odeon_stats_service service = { .struct_size = sizeof(service) };
    const struct stats_header *header;

    if (!stats || !ret_service)
        return error_set_literal(-EINVAL,
                                 "odeon_stats_service: no reader, or no place for the answer");
    /* the caller was compiled with an older header: it gets the fields that it knows */
    if (ret_service->struct_size < sizeof(service))
        service.struct_size = ret_service->struct_size;
    if (service.struct_size < SERVICE_SIZE_FIRST)
        return error_set(-EINVAL,
                         "odeon_stats_service: struct_size is %u, sizeof (struct "
                         "odeon_stats_service) was expected",
                         service.struct_size);
    header = stats->header;
#define NOW(field) atomic_load_explicit(&header->field, memory_order_relaxed)
    service.workers = NOW(n_workers);
    if (service.workers >= stats->n_blocks)
        service.workers = stats->n_blocks - 1;
    service.queues = NOW(n_queues);
    service.throughput = NOW(throughput);
    service.executor_pid = NOW(executor_pid);
    service.supervisor_pid = NOW(supervisor_pid);
    service.clients = NOW(n_clients);
    service.ports = NOW(n_ports);
    service.plugins = NOW(n_plugins);
    service.state = NOW(service_state);
    service.actors = stats_actors_live(header);
    service.executor_restarts = NOW(executor_restarts);
    service.executor_started_ns = NOW(executor_started_ns);
    service.unreceived = NOW(unreceived);
    service.reconfigurations = NOW(reconfigurations);
    service.reconfigure_last_ns = NOW(pause_last_ns);
    service.reconfigure_longest_ns = NOW(pause_longest_ns);
    service.start_noticed_ns = NOW(start_ns[START_NOTICED]);
    service.start_forked_ns = NOW(start_ns[START_FORKED]);
    service.start_entered_ns = NOW(start_ns[START_ENTERED]);
    service.start_placed_ns = NOW(start_ns[START_PLACED]);
    service.start_mapped_ns = NOW(start_ns[START_MAPPED]);
    service.start_verified_ns = NOW(start_ns[START_VERIFIED]);
    service.start_recovered_ns = NOW(start_ns[START_RECOVERED]);
    service.start_loaded_ns = NOW(start_ns[START_LOADED]);
    service.control_turn_longest_ns = NOW(control_turn_longest_ns);
#undef NOW
    snprintf(service.state_name, sizeof(service.state_name), "%s", stats_state_name(service.state));
    memcpy(service.stealing, header->stealing_name, sizeof(service.stealing) - 1);
    memcpy(service.steal_mode, header->steal_mode_name, sizeof(service.steal_mode) - 1);
    memcpy(service.control_turn_work, header->control_turn_work,
           sizeof(service.control_turn_work) - 1);
    stats_fill_recovery(&service, header);
    memcpy(ret_service, &service, service.struct_size);
    return 0;
}
