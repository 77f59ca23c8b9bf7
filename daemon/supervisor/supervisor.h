/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: everything that odeond has, and the order in which it comes to life.
 *
 * One thread, one event loop.  Parts talk through this struct; each file owns its part and says so.
 *
 * Start: what a former service has left with the service manager, runtime directory and lock, size
 * and memory of the engine segment, statistics file, copies of the configured plugins, control
 * socket, event loop, executor. End: the reverse.
 *
 * V1  No plugin and no client memory is ever mapped here.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/executor_link.h"
#include "daemon/supervisor/listener.h"
#include "daemon/supervisor/notify.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/port_table.h"
#include "daemon/supervisor/reload.h"
#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/shutdown.h"
#include "daemon/supervisor/stats_file.h"
#include "daemon/supervisor/watchdog.h"

struct supervisor {
    struct options options;
    struct config config; /* as last read */
    /* what the next executor is started with: the configuration's, and what was changed since */
    struct setting_list settings;
    char executor_path[PATH_MAX];
    uv_loop_t loop;
    uv_signal_t signals[3];
    struct runtime runtime;
    struct stats_file stats;
    int segment_fd;
    struct executor_link executor;
    struct boot boot;
    struct listener listener;
    struct clients clients;
    struct accounts accounts;
    struct port_table ports;
    struct plugin_store plugins;
    struct persist persist;
    struct notify notify;
    struct watchdog watchdog;
    struct reload reload;
    struct shutdown shutdown;
    bool stopping, finished;
    int exit_status;
    uint64_t started_ns;
};

/* Runs until a signal or a failure ends it.  Takes `options`.  The exit status: 0 or 1. */
int supervisor_run(struct options *options);

/* What statistics and service manager show. */
void supervisor_set_state(struct supervisor *supervisor, enum service_state state);
enum service_state supervisor_get_state(const struct supervisor *supervisor);
const char *supervisor_state_name(enum service_state state);
void supervisor_update_counts(struct supervisor *supervisor);
uint32_t supervisor_count_ports(const struct supervisor *supervisor); /* open ones */

/* Settings that an executor has accepted while it ran: the next one starts with them. Not those
 * that the answer (NULL: it lists none) says wait for the next start of the service: the segment
 * that executors share was made without them.
 */
void supervisor_note_settings(struct supervisor *supervisor, const Odeon__ExecutorSet *set,
                              const Odeon__Reconfigured *answer);
/* What an executor has chosen by itself at its start: later ones on the same segment are told. */
void supervisor_note_kept(struct supervisor *supervisor, const Odeon__Report *report);

void supervisor_stop_listening(struct supervisor *supervisor);
/* The loop ends; the executor must have ended. */
void supervisor_finish(struct supervisor *supervisor);
/* Cannot go on: logs `why`, kills the executor, ends with exit status 1. */
void supervisor_fail(struct supervisor *supervisor, const char *why);
