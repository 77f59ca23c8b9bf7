/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: the private side of each, and the table (port.h). */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "proto/bounds.h"
#include "proto/port_layout.h"

/* The private side of a port. Runner: the worker that holds its owner word; `lock`: its backlog's
 * lock. */
enum { STALLED_ON_BUDGET = 0x7fffffff };
enum port_state { PORT_FREE, PORT_PENDING, PORT_OPEN, PORT_DEAD };
struct port {
    /* control thread: FREE -> (before recovery PENDING ->) OPEN; runner under the lock: OPEN ->
     * DEAD; control thread: -> FREE */
    _Atomic uint32_t state;
    _Atomic uint32_t closing; /* control thread: drain, then close */
    uint32_t generation;
    uint64_t client;
    struct port_client *client_words;
    struct port_executor *executor_words;
    uint8_t *submission, *delivery; /* mapped twice in a row */
    uint64_t submission_bytes, delivery_bytes;
    int doorbell_fd, pipe_fd;
    /* {generation of its reference : 32, its user : 32}; control thread, when it opens. It stays
     * when the port has ended, until its number is another one's. */
    _Atomic uint64_t poster;
    uint64_t backlog_bytes;          /* control thread, before the port is open */
    _Atomic uint64_t granted;        /* control thread (port_rate.h) */
    _Atomic uint32_t rated;          /* control thread */
    bool may_not_stop;               /* control thread, before the port is open */
    uint32_t account;                /* likewise: its user's (budget.h) */
    uint32_t ended_why;              /* control thread: enum port_broken, once it has ended */
    alignas(64) uint32_t room_woken; /* runner: last room_wait that was answered */
    _Atomic uint32_t idle_polls;     /* its owner, running it or not; a thief that makes it hot */
    bool closing_seen;               /* runner */
    /* runner: queue + 1 that its next record waits for, or STALLED_ON_BUDGET; back to 0 by it, or
     * by whoever has made room */
    _Atomic uint32_t stalled_on;
    _Atomic uint32_t spent;    /* runner, back to 0 also by the control thread */
    _Atomic uint64_t taken;    /* runner: records */
    struct {                   /* loud.h */
        uint64_t since_tick;   /* runner */
        uint64_t tail, head;   /* runner: what its client had published, and taken, at the last */
        uint32_t idle;         /* runner */
        _Atomic uint32_t rang; /* who has heard it; back to 0 by the runner */
        _Atomic uint32_t loud; /* runner, back to 0 by the control thread */
    } bell;
    /* runner: what had been published when the client was found to be gone */
    uint64_t closing_tail;
    /* lock: the client's cursor as last believed; a hint for the poll */
    alignas(64) _Atomic uint64_t delivery_head;
    uint32_t delivery_woken; /* lock: last delivery_wait that was answered */
    _Atomic uint32_t broken; /* lock: enum port_broken; read by the runner */
    /* lock: 1: to be closed, since its client does not receive; the runner */
    _Atomic uint32_t slow;
    uint32_t overflow; /* enum port_overflow; control thread, before the port is open */
};

/* Ports that have ended and are not given back yet, by number; control thread (reap.h). */
struct port_reaper {
    uint64_t heard[ODEON_PORTS_MAX / 64]; /* the next ones to be looked at */
    uint64_t going[ODEON_PORTS_MAX / 64]; /* some worker in `late` may have a pointer into them */
    uint64_t gone[ODEON_PORTS_MAX / 64];  /* given back, and not told yet */
    uint64_t late[ODEON_WORKERS_MAX / 64];
    uint64_t passes[ODEON_WORKERS_MAX]; /* of each worker, behind the barrier of reap.RP4 */
};

/* Of the engine. */
struct port_table {
    struct port *table;
    struct port_reaper reaper;
    _Atomic uint32_t stopped;                                /* submission rings are left alone */
    alignas(64) _Atomic uint64_t open[ODEON_PORTS_MAX / 64]; /* a hint: where thieves look */
};

/* Of a worker: the ports that it polls. */
struct polled_ports {
    uint64_t hot[ODEON_PORTS_MAX / 64];
};
