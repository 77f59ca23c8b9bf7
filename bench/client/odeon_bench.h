/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of odeon-bench share. One thread; the connection and the port are made once and
 * used by every run. */
#ifndef ODEON_BENCH_H
#define ODEON_BENCH_H

#include <stdint.h>

#include <odeon/client.h>

#include "../plugins/bench.h"

enum { BENCH_PAUSE_US = 1000 };

struct bench_options {
    const char *name, *socket, *plugin;
    struct bench_run run;
    uint32_t runs;
    uint32_t window;    /* posts of `post` that are published together */
    uint32_t payload;   /* of `roundtrip`, bytes: 8 or 64 */
    uint32_t pause_us;  /* of `wake`, before each post */
    uint64_t timeout_s; /* of one run */
};

struct bench_session {
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t workers;
    uint32_t id_run, id_result, id_post, id_wide, id_sink_get, id_sink_value, id_quit, id_wake,
        id_woken;
};

/* One figure, or an error that has been printed. */
struct bench_figure {
    uint64_t elapsed_ns, messages;
    uint64_t beside_ns; /* of as many messages that went another way; 0: there were none */
    uint64_t p50_ns, p90_ns, p99_ns, max_ns; /* 0: not measured */
};

enum bench_exit { BENCH_DONE = 0, BENCH_FAILED = 1, BENCH_USAGE = 2, BENCH_UNREACHABLE = 3 };

/* All return 0, or an exit code after having said why on stderr. */
int bench_session_open(struct bench_session *session, const struct bench_options *options);
void bench_session_close(struct bench_session *session);
/* Spawns an actor of the type, loading the plugin first if the service does not know it. */
int bench_session_spawn(struct bench_session *session, const struct bench_options *options,
                        const char *type, odeon_ref *ret_ref);

/* A benchmark that runs inside the service: starts its driver and waits for the result. */
int bench_measure_driver(struct bench_session *session, const struct bench_options *options,
                         struct bench_figure *ret);
/* One-way posts to a counting actor; elapsed until the actor has counted the last one. */
int bench_measure_post(struct bench_session *session, const struct bench_options *options,
                       struct bench_figure *ret);
/* Round trips client -> actor -> client, one at a time. */
int bench_measure_roundtrip(struct bench_session *session, const struct bench_options *options,
                            struct bench_figure *ret);

/* From a post to the beginning of its behaviour, each post after a pause in which the worker goes
 * to sleep. */
int bench_measure_wake(struct bench_session *session, const struct bench_options *options,
                       struct bench_figure *ret);

uint64_t bench_now_ns(void);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int bench_error(int code, const char *format, ...); /* prints, returns `code` */

#endif
