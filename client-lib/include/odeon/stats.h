/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the statistics segment: without asking the service, also while it is down.
 *
 * A reader maps a file read-only, takes no lock and stalls nobody; no call but opening makes a
 * system call. One reader belongs to one thread at a time. Figures are read one by one while the
 * service goes on: two of them may be of slightly different moments. Counters only grow as long as
 * the file lives; a service that makes a new file is seen by opening again.
 */
#ifndef ODEON_STATS_H
#define ODEON_STATS_H

#include <odeon/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct odeon_stats;

/* $ODEON_STATS goes before it; else beside the socket */
#define ODEON_STATS_DEFAULT "/run/odeon/stats"

/* `path` NULL: $ODEON_STATS, else the file `stats` beside $ODEON_SOCKET, else the default.
 * -ENOENT: no service has run here; -EPROTO: not a statistics segment, or of another major
 * version. */
ODEON_API int odeon_stats_open(const char *path, struct odeon_stats **ret_stats);
ODEON_API struct odeon_stats *odeon_stats_close(struct odeon_stats *stats);

struct odeon_stats_service {
    uint32_t struct_size; /* set it to sizeof before the call */
    uint32_t workers, queues, throughput, executor_pid, supervisor_pid, clients, ports, plugins,
        state;
    uint64_t actors, executor_restarts, executor_started_ns, unreceived;
    char state_name[24];
    char stealing[32];
    /* what recovery found, in all and at the last start */
    uint64_t boots, recovered_running_handlers, recovered_unflushed_outboxes,
        recovered_armed_journals, recovered_held_locks, recovered_parked_batches,
        recovered_attached_batches, recovered_ports_attached, recovered_spawns_undone,
        recovered_redeliveries, recovered_faults, recovery_last_ns, recovered_states_undone;
    char steal_mode[16];
    uint64_t reconfigurations, reconfigure_last_ns,
        reconfigure_longest_ns; /* changes while workers ran; their pauses */
    /* The executor's last start, step by step (CLOCK_MONOTONIC; 0: not yet), and then
     * executor_started_ns: the former one's end was noticed, there is a process, its main() runs,
     * processors are known, the segment is mapped, checked, recovered, plugins are loaded. */
    uint64_t start_noticed_ns, start_forked_ns, start_entered_ns, start_placed_ns, start_mapped_ns,
        start_verified_ns, start_recovered_ns, start_loaded_ns;
    /* The executor's control thread: its longest turn in processor time since the executor was
     * ready, and what that was. */
    uint64_t control_turn_longest_ns;
    char control_turn_work[32];
};
/* -EINVAL: struct_size is not set. Works while the executor, or the whole service, is down: then it
 * shows how they ended. */
ODEON_API int odeon_stats_service(struct odeon_stats *stats,
                                  struct odeon_stats_service *ret_service);

/* Counters by index, in the segment's order.  n() includes derived figures, which come last. */
ODEON_API size_t odeon_stats_n(const struct odeon_stats *stats);
ODEON_API const char *odeon_stats_name(const struct odeon_stats *stats,
                                       size_t index); /* JSON name; NULL: no such index */
ODEON_API const char *odeon_stats_doc(const struct odeon_stats *stats,
                                      /* "" when this library is older than the service */
                                      size_t index);
enum odeon_stats_kind { ODEON_STATS_COUNTER, ODEON_STATS_GAUGE, ODEON_STATS_DERIVED };
ODEON_API enum odeon_stats_kind odeon_stats_kind(const struct odeon_stats *stats, size_t index);
/* Value for one worker id, or for all of them (worker < 0; gauges give 0). The control thread is
 * the id after the last worker. The sum includes workers that are no more. No such worker or index:
 * 0; a derived figure whose denominator is 0: 0. */
ODEON_API double odeon_stats_value(struct odeon_stats *stats, int worker, size_t index);
/* The same by blocks, whose numbers stay when the number of workers changes: a block for each
 * worker id, of workers that are no more, and of threads of detached actors, too; the last one is
 * the control thread's. No such block or index, or a derived figure: 0. */
ODEON_API size_t odeon_stats_n_blocks(const struct odeon_stats *stats);
ODEON_API double odeon_stats_block_value(const struct odeon_stats *stats, size_t block,
                                         size_t index);
/* The CPU that a worker is bound to; -1: none, or no such worker. */
ODEON_API int odeon_stats_cpu(struct odeon_stats *stats, int worker);

#ifdef __cplusplus
}
#endif

#endif
