/* SPDX-License-Identifier: Apache-2.0 */
/* A seat: everything that belongs to one executor, whichever process sits in it at the time.
 *
 * The segment and the statistics, the ports, the plugins and the settings outlive executors; the
 * process, its connection and what is asked of it come and go. A seat knows of no other seat, and
 * tells those above it what happens through `ops`. Event loop thread only.
 *
 * Each part has one module that changes it: executor (executor_link), boot (boot), watchdog
 * (watchdog), load_timer and load_ended_ns (load_watch), drain (drain), ports (seat_ports,
 * port_table), waits (port_waits), plugins (plugin_store), settings (seat_settings), actors
 * (start_actors), memory (memory_count).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/actor_line.h"
#include "daemon/supervisor/backoff.h"
#include "daemon/supervisor/executor_link.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/memory_count.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/port_table.h"
#include "daemon/supervisor/port_waits.h"
#include "daemon/supervisor/rule_stops.h"
#include "daemon/supervisor/service.h"
#include "daemon/supervisor/setting_list.h"
#include "daemon/supervisor/stats_file.h"

struct seat;

struct seat_ops {
    void (*changed)(struct seat *seat);               /* what the status line shows */
    void (*further)(struct seat *seat);               /* its first start is, by one more step */
    void (*ready)(struct seat *seat);                 /* an executor has become ready */
    void (*ended)(struct seat *seat);                 /* drained or given up: the process is gone */
    void (*alive)(struct seat *seat);                 /* it gets on, or is about to (watchdog.h) */
    void (*fail)(struct seat *seat, const char *why); /* it cannot go on */
    void (*refuse)(struct seat *seat, const char *why); /* nor with what was kept (persist.R1) */
};

struct seat_boot {
    struct backoff backoff;
    uv_timer_t timer;
    uint64_t start_id;  /* of the Start that waits for its answer; 0: none */
    bool start_sent;    /* and the ports and plugins that it announces may follow */
    bool start_refused; /* by the executor that runs: what else it says means nothing, it ends */
    bool over_plugin;   /* the last one ended over one, which happens so often and no more */
    bool put_off;       /* the next start waits for its time, behind that or one that was ready */
    uint64_t ready_ns;  /* since when the executor is ready; 0: it is not */
    /* What every executor watches processors with (executor/topology_watch.h); -1: none. An inotify
     * instance takes the kernel 5 to 15 ms to end, which it would do in the middle of an executor's
     * end, before anybody hears of that. */
    int watch_fd;
    uint64_t restarts;
    uint32_t without; /* plugins that this executor has refused, and has to be told to do without */
    /* plugins that this executor has loaded, and that any has before the first was ready */
    uint32_t plugins, plugins_most;
    uint32_t starts_most; /* so far down the list a plugin's start has begun in any of those */
    uv_timer_t starts_timer;
    enum log_level told_level;   /* that the executor that runs logs down to */
    uint32_t boots;              /* of executors that became ready */
    struct line_waiter settling; /* the first one is, when what it was given is in the store */
    /* Why the last one that may have run a handler died is known: it was killed from here, or
     * stopped itself; or it was a former odeond's. */
    bool death_explained;
    struct rule_stops rule_stops;
};

struct seat_watchdog {
    bool withheld; /* and said so */
    uv_timer_t timer;
    uint64_t ping_id; /* not answered; 0: none */
    uint32_t boots;   /* starts of the executor at the last look */
};

struct seat_drain {
    uv_timer_t timer; /* the executor has had its time */
    uint64_t id;      /* of the command */
    uint64_t deadline_ns;
    bool drained, complete;
    uint64_t unreceived, running, untaken; /* the first is of all */
};

struct seat_actors {
    uint32_t round;                  /* of those that are asked for; 0: none has begun */
    bool asked;                      /* one, whose answer is not there */
    bool pending[ACTOR_LINES_MAX];   /* by the configuration's line */
    void (*done)(struct seat *seat); /* the start waits; NULL: it does not */
    void (*made)(void *userdata);    /* so does a reload */
    void *userdata;
};

struct seat {
    const struct service *service;
    const struct seat_ops *ops;
    void *userdata; /* of who made it */
    bool stopping;  /* it takes nothing new */
    bool given_up;  /* it has failed: what its executor says means nothing, and its end is all */
    char program[PATH_MAX];
    /* what the next executor is started with: the configuration's, and what was changed since */
    struct setting_list settings;
    struct stats_file stats;
    int segment_fd, observed_fd;
    struct executor_link executor;
    struct seat_boot boot;
    struct seat_watchdog watchdog;
    uv_timer_t load_timer;
    uint64_t load_ended_ns; /* when the last plugin that a client has asked for was answered */
    struct seat_drain drain;
    struct port_table ports;
    struct port_waits waits;
    struct plugin_store plugins;
    struct seat_actors actors;
    struct memory_count memory;
};

/* Without anything yet. */
void seat_init(struct seat *seat, const struct service *service, const struct seat_ops *ops,
               void *userdata);
/* Its handles are closed; the process has ended. */
void seat_fini(struct seat *seat);

/* What statistics and service manager show. */
void seat_set_state(struct seat *seat, enum service_state state);
enum service_state seat_get_state(const struct seat *seat);
const char *seat_state_name(enum service_state state);
void seat_update_counts(struct seat *seat);
