/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements of odeon-latency share: what was asked for, the connection with its port,
 * and the line of results.
 *
 * Threads: one, which spins for what it receives; the bare threads (rulers.c) and the one that
 * disturbs (disturb.c) have memory of their own.
 */
#pragma once

#include <stdint.h>

#include <odeon/admin.h>
#include <odeon/client.h>

#include "histogram.h"
#include "latency.h"

enum { OPTIONS_LIST_MAX = 16, OPTIONS_CPUS_MAX = 16, OPTIONS_ROUNDS_MAX = 15 };

struct options {
    const char *name, *socket, *plugin;
    uint64_t us[OPTIONS_LIST_MAX]; /* durations of handlers */
    uint32_t n_us;
    uint64_t rates[OPTIONS_LIST_MAX];
    uint32_t n_rates;
    uint64_t n;       /* messages, 0: as many as fit into the seconds */
    double seconds;   /* of one point, of one round of it */
    uint32_t rounds;  /* step: how often each length is measured */
    uint64_t slow_us; /* step: every `every`-th handler takes so long */
    uint64_t every;
    uint32_t actors, payload, sleeps, detached;
    uint64_t timeout_s;  /* of silence */
    double within_s;     /* crowd: what is not answered so long after the last call is lost */
    uint32_t flood_uid;  /* crowd: the flood's user; 0: ours */
    int cold;            /* crowd: 1: the calls begin with the flood */
    const char *disturb; /* NULL, "kill", "reconfigure" */
    const char *set;     /* of reconfigure: KEY=A,B */
    uint64_t period_ms;
    int cpus[OPTIONS_CPUS_MAX]; /* of the bare threads */
    uint32_t n_cpus;            /* 0: no ruler */
    uint32_t park;              /* 1: a bare thread with nothing to do sleeps */
};

/* The longest time without anything received after each disturbance. */
struct gaps {
    struct histogram times;
    uint64_t events, last_ns, longest_ns;
    uint32_t open; /* 1: longest_ns is that of a disturbance */
};

struct session {
    const struct options *options;
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t workers;
    uint32_t id_step, id_request, id_done, id_small, id_large, id_ask, id_answer, id_arm;
    uint64_t refused; /* refusals received */
    struct gaps gaps;
};

enum session_exit {
    SESSION_DONE = 0,
    SESSION_FAILED = 1,
    SESSION_USAGE = 2,
    SESSION_UNREACHABLE = 3
};

/* Those that return int: 0, or an enum session_exit after having said why on stderr. */

int session_open(struct session *session, const struct options *options);
void session_close(struct session *session);
/* Makes an actor, loading the plugin first if the service does not know it. */
int session_spawn(struct session *session, const char *type, const void *args, size_t args_size,
                  odeon_ref *ret_ref);
/* The actor type for handlers of that length (latency.h). */
int session_spawn_kind(struct session *session, uint64_t us, odeon_ref *ret_ref);
void session_stop(struct session *session, odeon_ref actor);

/* Looks once for a delivery; notes gaps and refusals. 1: one has come, at *ret_now_ns, and stays
 * until session_release(); 0: none, and the time was not looked at; or a negative errno. */
int session_look(struct session *session, struct odeon_delivery *ret, uint64_t *ret_now_ns);
void session_release(struct session *session);
/* Spins until a delivery of type latency_done has come; 0: *ret is it. */
int session_wait_done(struct session *session, struct latency_done *ret, uint64_t *ret_now_ns);
/* A point begins: takes what has come in the meantime, which nobody waits for any more, and forgets
 * about gaps. */
void session_begin(struct session *session);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int session_error(int code, const char *format, ...); /* prints, returns `code` */

/* ---- lines: bench=latency_NAME key=value ... ---- */

/* Prints " PREFIXp50_us=… … PREFIXmost_us=…". */
void report_times(const char *prefix, const struct histogram *times);
/* The same of several rounds, 1 to OPTIONS_ROUNDS_MAX: of each quantile the median of the rounds',
 * and the largest time of all. A machine that stands still for 2 ms once in a second makes one
 * round's tail, and not the median. */
void report_rounds(const char *prefix, const struct histogram *times, uint32_t rounds);
/* Prints what there is to be said of disturbances and ends the line. */
void report_end(struct session *session);
