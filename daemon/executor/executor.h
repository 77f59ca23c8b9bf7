/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's process: its parts, and the order in which executor_run.h and start.h bring them
 * to life.
 *
 * One control thread runs the event loop and owns everything here; workers see the engine, the host
 * table and the topology's plan.
 *
 * States, in this order only:
 *     WAITING    for Start
 *     PORTS      Start has come; `awaited_ports` PortAdd commands follow before recovery
 *     PLUGINS    recovered; `awaited_plugins` PluginLoad requests follow before workers start, and
 *                a word for each of `refused_plugins`: to go on without it is for odeond to decide,
 *                and until then nothing is run, as what waits for its actors would be refused; no
 *                plugin's start either (plugin.L4)
 *     RUNNING    Report.ready has been sent
 *     STOPPING   drained for good; the loop is about to end
 *
 * executor.X1  The supervisor's end is ours: end of file on the control socket ends the process at
 *     once, mid-message if need be. Recovery is what starts mean here, so there is nothing to save.
 *
 * executor.X2  One executor at a time has the segment: it holds a record lock on the segment's file
 *     from before it looks at it to its end.  A lock of the process, not of the open file: a child
 *     that a plugin forks does not have it, and whoever waits for it learns who holds it.  It ends
 *     when any descriptor of the file is closed: segment_fd is the only one, and stays open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/actor_quota.h"
#include "daemon/executor/control.h"
#include "daemon/executor/host.h"
#include "daemon/executor/loud_ports_state.h"
#include "daemon/executor/plugin.h"
#include "daemon/executor/post_rate_state.h"
#include "daemon/executor/settings.h"
#include "daemon/executor/settings_change.h"
#include "daemon/executor/topology.h"
#include "daemon/executor/topology_watch.h"
#include "daemon/executor/turns_state.h"
#include "daemon/executor/unbegun_state.h"
#include "proto/stats_layout.h"

enum executor_state {
    EXECUTOR_WAITING,
    EXECUTOR_PORTS,
    EXECUTOR_PLUGINS,
    EXECUTOR_RUNNING,
    EXECUTOR_STOPPING
};

/* A port that goes: the command to answer when it has gone. */
struct executor_removal {
    uint32_t port, generation;
    uint64_t command;
    bool asked;  /* the engine knows */
    bool active; /* the entry is in use */
};

/* Says who answers a request: not yet, ask again (command_later.h). */
enum { EXECUTOR_LATER = 1 };

/* Who has asked for what is being answered. */
struct executor_asker {
    uint64_t client; /* 0: the supervisor itself */
    uint32_t uid;
    bool bound;        /* by its user's quotas */
    bool may_register; /* new names and message types */
};

/* How far the one change of settings has come that is under way (reconfigure.h). */
enum reconfiguring { RECONFIGURING_NONE, RECONFIGURING_ASKED, RECONFIGURING_MADE };

struct executor {
    uv_loop_t loop;
    struct control *control;
    enum executor_state state;
    int exit_status;

    struct settings settings, defaults; /* in force; what nobody sets on this machine */
    struct topology *topology;
    struct topology_watch topology_watch;
    int watch_fd;            /* for the topology's changes, odeond's; -1: none */
    bool places_asked;       /* the engine is about to be told where workers are */
    bool places_open;        /* this timer is in use */
    uv_timer_t places_timer; /* until it is tried again */
    int segment_fd;          /* executor.X2; -1: none yet */
    struct engine *engine;
    struct host *host;
    struct plugin_registry *plugins;
    struct stats_header *stats; /* NULL: none */
    struct engine_recovery recovery;

    uint64_t moves[ODEON_WORKERS_MAX]; /* of each worker, at the supervisor's last ping */
    struct executor_asker asker;
    bool is_first;   /* nobody who came before waits for an answer that needs all workers */
    bool later_ends; /* who would have to wait is refused: the executor is about to stop */
    struct command_later *later;
    uv_timer_t later_timer; /* while there are some */
    enum reconfiguring reconfiguring;
    struct settings_change change; /* that has been made, while workers go on */

    uint64_t entered_ns; /* when main() began */
    uint64_t start_command;
    uint32_t awaited_ports, awaited_plugins, started_plugins, refused_plugins;
    uint32_t plugin_places[ODEON_PLUGINS_MAX]; /* in odeond's list, of those that it has loaded */

    struct turns turns;
    uv_poll_t events, stalls, timers;
    bool events_open, stalls_open, timers_open;
    struct executor_removal removals[ODEON_PORTS_MAX];
    uv_timer_t again_timer; /* while ports that have ended wait for a worker's next look */
    unsigned again_ms;
    struct post_rate post_rate;
    struct loud_ports loud_ports;
    struct unbegun_types unbegun;
    uint64_t over_told_ns; /* when it was last said that somebody posts more than may wait */
    struct actor_quota actor_quota;

    uv_timer_t widen_timer; /* once, when the start is over */
    uv_timer_t drain_timer;
    bool draining, drain_stop;
    unsigned drain_quiet; /* looks in a row that have found nothing under way */
    uint64_t drain_command, drain_deadline_ns;
};

/* Shows readers of the statistics how far the start has come, and when that was. */
void executor_publish_step(struct executor *executor, enum start_step step, uint64_t when_ns);
/* Answers a command with an error. */
void executor_report_error(struct executor *executor, uint64_t command, int error,
                           const char *text);
/* Shows how workers steal to readers of the statistics. */
void executor_publish_mode(struct executor *executor);
/* Which plugin, by its place in odeond's list, runs code of its own before the workers do; 0: none.
 * Should it be the end of the process, odeond knows by whom. */
void executor_publish_loading(struct executor *executor, uint32_t place);
/* Shows the number of loaded plugins to readers of the statistics. */
void executor_publish_plugins(struct executor *executor);
