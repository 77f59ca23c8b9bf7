/* SPDX-License-Identifier: Apache-2.0 */
/* What can be configured of an executor: one table of keys with default, range and documentation.
 *
 * Owned by the executor's process, touched by its control thread only.
 *
 * settings.S1  A struct settings that has passed settings_check() is within every range of the
 *     table.
 * settings.S2  A refused key or value leaves the settings as they were.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/explain.h"
#include "daemon/executor/memory_policy.h"

enum { SETTINGS_AFFINITY_MAX = 512, SETTINGS_DETACHED_MAX = 64 };

struct settings {
    uint64_t workers;
    uint64_t workers_max;
    uint64_t queues_per_worker;
    uint64_t actors;
    uint64_t limit_bytes;
    uint64_t outbox_bytes;
    uint64_t backlog_bytes;
    uint64_t dead_letter_bytes;
    uint64_t waiting_bytes, quota_waiting_bytes, quota_waiting_ms;
    uint64_t durable_bytes;
    uint64_t timers, timer_bytes, stash;
    uint64_t throughput;
    uint64_t attempts, suspect_deaths;
    uint64_t steal_sources;
    uint64_t spin_us;
    uint64_t moderate_sleeps, moderate_us, relaxed_us;
    uint64_t detached;
    uint64_t stall_warn_ms, stall_kill_ms;
    uint64_t quarantine_crashes, quarantine_window_s;
    uint64_t quota_actors, quota_posts;
    enum steal_policy_id stealing;
    enum steal_mode steal_mode;
    enum memory_policy memory;
    bool packing, smt;
    char affinity[SETTINGS_AFFINITY_MAX]; /* "auto", "none", or a list as in cpu_list.h */
    uint64_t address_bytes;               /* not a setting: the segment may have so many */
};

/* What a start finds. */
struct settings_machine {
    unsigned cores, threads; /* that may be used */
    uint64_t address_bytes;  /* address_space_for_segment() */
    uint64_t memory_bytes;   /* memory_limit_for_service() */
    const int *segment_fd;   /* whose sizes stay if it has been used; NULL: there is none */
};

struct setting_pair {
    const char *key;
    const char *value;
};

/* Defaults; `default_workers` is what the machine suggests. */
void settings_init(struct settings *settings, unsigned default_workers);
/* Sets one key.  -EINVAL: unknown key, or a value that cannot be read; -ERANGE: out of range. */
int settings_parse(struct settings *settings, const char *key, const char *value,
                   struct explain *explain);
/* All that a start was given, over the defaults of a machine. A segment that has been used keeps
 * its sizes (settings_sizes.h); else those that nobody has given shrink until it fits the machine.
 * Then settings_check(); errors as there and settings_parse(). */
int settings_read_start(struct settings *settings, const struct setting_pair *pairs, size_t n_pairs,
                        const struct settings_machine *machine, struct explain *explain);
/* What no single key can tell: -ERANGE. */
int settings_check(const struct settings *settings, struct explain *explain);
/* The key itself, for the life of the process; NULL: there is none. */
const char *settings_get_key(const char *key);
/* Whether there is such a key and it can be changed while workers run (settings_change.h). */
bool settings_is_live(const char *key);

/* The engine's numbers; what is not a number (CPUs, binding, host) is left zero. */
void settings_get_config(const struct settings *settings, struct engine_config *ret_config);
/* The same, only what can be changed while workers run. */
void settings_update_config(const struct settings *settings, struct engine_config *config);

/* One row of the table with its current value; `index` from 0, -ENOENT behind the last. */
struct setting_view {
    const char *key;
    const char *doc;
    bool live;
    char value[SETTINGS_AFFINITY_MAX];
};
int settings_show(const struct settings *settings, unsigned index, struct setting_view *ret_view);
