/* SPDX-License-Identifier: Apache-2.0 */
/* burst: n requests at once, to --actors actors by turns; each takes as long as it is told and is
 * answered. Lateness: from the end of the work, a time stamp in the answer, to the record in the
 * client's ring. The ruler has as many bare threads as can work at the same time: one an actor, at
 * most one a worker.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "rulers.h"
#include "session.h"

enum { BURST_ACTORS_MAX = 256 };

static int burst_post(struct session *session, const odeon_ref *actors, uint64_t us, uint64_t n)
{
    const struct options *options = session->options;

    for (uint64_t i = 0; i < n; i++) {
        struct latency_request request = { .number = i,
                                           .work_ns = us * 1000,
                                           .sleeps = options->sleeps };
        struct latency_request *place = odeon_port_reserve(
            session->port, actors[i % options->actors], session->id_request, sizeof(request));
        if (place == NULL)
            return session_error(SESSION_FAILED, "%" PRIu64 " requests do not fit at once: %s", n,
                                 odeon_error_text());
        *place = request;
    }
    odeon_port_commit(session->port);
    return 0;
}

static int burst_run(struct session *session, const odeon_ref *actors, uint64_t us, uint64_t n,
                     struct histogram *times)
{
    struct latency_done done;
    uint64_t now_ns = 0;
    int r;

    session_begin(session);
    r = burst_post(session, actors, us, n);
    for (uint64_t i = 0; i < n && r == 0; i++) {
        r = session_wait_done(session, &done, &now_ns);
        histogram_add(times, now_ns - done.ended_ns);
    }
    return r;
}

static int burst_point(struct session *session, uint64_t us)
{
    static struct histogram times, ruler;
    const struct options *options = session->options;
    uint64_t n = options->n != 0 ? options->n : 1000;
    uint32_t threads = options->actors < session->workers ? options->actors : session->workers;
    odeon_ref actors[BURST_ACTORS_MAX];
    int r = 0;

    memset(&times, 0, sizeof(times));
    memset(&ruler, 0, sizeof(ruler));
    for (uint32_t i = 0; i < options->actors && r == 0; i++)
        r = session_spawn_kind(session, us, &actors[i]);
    if (r == 0)
        r = burst_run(session, actors, us, n, &times);
    if (r == 0 && options->n_cpus != 0)
        r = rulers_work(options, us * 1000, n, threads, &ruler);
    if (r != 0)
        return r;
    printf("bench=latency_burst duration_us=%" PRIu64 " work=%s actors=%u workers=%u n=%" PRIu64,
           us, options->sleeps ? "sleep" : "busy", options->actors, session->workers, times.count);
    report_times("", &times);
    if (ruler.count != 0)
        report_times("ruler_", &ruler);
    report_end(session);
    for (uint32_t i = 0; i < options->actors; i++)
        session_stop(session, actors[i]);
    return 0;
}

int measure_burst(struct session *session)
{
    int r = 0;

    if (session->options->actors > BURST_ACTORS_MAX)
        return session_error(SESSION_USAGE, "at most %d actors", BURST_ACTORS_MAX);
    for (uint32_t i = 0; i < session->options->n_us && r == 0; i++)
        r = burst_point(session, session->options->us[i]);
    return r;
}
