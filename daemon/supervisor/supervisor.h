/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: everything that odeond has, and the order in which it comes to life.
 *
 * One thread, one event loop.  Who connects, what they may, and what outlives odeond are the
 * service's; what belongs to an executor is a seat's (seat.h). The parts below know only what they
 * are given: no file but supervisor.c sees this struct, nor how many seats there are.
 *
 * Start: what a former service has left with the service manager, runtime directory and lock, size
 * and memory of the engine segment, statistics file, copies of the configured plugins, control
 * socket, event loop, executor. End: the reverse.
 *
 * supervisor.V1  No plugin and no client memory is ever mapped here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/client.h"
#include "daemon/supervisor/departed.h"
#include "daemon/supervisor/listener.h"
#include "daemon/supervisor/notify.h"
#include "daemon/supervisor/options.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/reload.h"
#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/silence.h"

enum { SEATS = 1 };

struct supervisor {
    struct options options;
    struct config config; /* as last read */
    uv_loop_t loop;
    uv_signal_t signals[3];
    struct runtime runtime;
    struct listener listener;
    struct clients clients;
    struct accounts accounts;
    struct persist persist;
    struct silence silence;
    struct departed departed;
    struct notify notify;
    struct reload reload;
    struct service service; /* what seats see of the above */
    struct seat seats[SEATS];
    bool alive[SEATS];    /* since the manager's watchdog was fed last */
    uint64_t stopping_ns; /* since when; 0: it goes on */
    bool finished;
    int exit_status;
};

/* Runs until a signal or a failure ends it.  Takes `options`.  The exit status: 0 or 1.  SIGHUP,
 * which the caller has blocked, is let through as soon as it means a reload. */
int supervisor_run(struct options *options);

/* Tells the parts of each other; nothing is opened or started. */
void supervisor_wire(struct supervisor *supervisor);
