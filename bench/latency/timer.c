/* SPDX-License-Identifier: Apache-2.0 */
/* timer: an actor has armed timers that are due --rate times a second, evenly spaced, before the
 * first of them is; each of them tells the client when it comes. Lateness: from the time for which
 * it was armed to the record in the client's ring. The ruler is a bare thread that sleeps until the
 * same times by a timerfd, and writes a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "rulers.h"
#include "session.h"
#include "work.h"

/* All are to be armed before the first is due: so long each, and as much again. */
enum { TIMER_ARMING_NS = 2000, TIMER_BEFORE_NS = 100 * 1000 * 1000 };

static int timer_run(struct session *session, uint64_t rate, uint64_t n, struct histogram *times)
{
    uint64_t period_ns = UINT64_C(1000000000) / rate, now_ns = 0;
    struct latency_arm arm = { .client = odeon_port_ref(session->port),
                               .first_ns = work_now_ns() + TIMER_BEFORE_NS + n * TIMER_ARMING_NS,
                               .period_ns = period_ns,
                               .n = n };
    struct latency_done done;
    odeon_ref actor;
    int r = session_spawn(session, "latency_timer", NULL, 0, &actor);

    session_begin(session);
    if (r == 0 && odeon_port_post(session->port, actor, session->id_arm, &arm, sizeof(arm)) < 0)
        r = session_error(SESSION_FAILED, "cannot post: %s", odeon_error_text());
    for (uint64_t i = 0; i < n && r == 0; i++) {
        r = session_wait_done(session, &done, &now_ns);
        if (r == 0 && done.ended_ns > now_ns)
            r = session_error(SESSION_FAILED, "timer %" PRIu64 " has come %" PRIu64 " ns early",
                              done.number, done.ended_ns - now_ns);
        histogram_add(times, now_ns - done.ended_ns);
    }
    session_stop(session, actor);
    return r;
}

static int timer_point(struct session *session, uint64_t rate)
{
    static struct histogram times, ruler;
    const struct options *options = session->options;
    uint64_t n = options->n != 0 ? options->n : (uint64_t)(options->seconds * (double)rate);
    int r;

    memset(&times, 0, sizeof(times));
    memset(&ruler, 0, sizeof(ruler));
    r = timer_run(session, rate, n, &times);
    if (r == 0 && options->n_cpus != 0)
        r = rulers_timer(options, rate, n, &ruler);
    if (r != 0)
        return r;
    printf("bench=latency_timer rate=%" PRIu64 " workers=%u n=%" PRIu64, rate, session->workers,
           times.count);
    report_times("", &times);
    if (ruler.count != 0)
        report_times("ruler_", &ruler);
    report_end(session);
    return 0;
}

int measure_timer(struct session *session)
{
    int r = 0;

    for (uint32_t i = 0; i < session->options->n_rates && r == 0; i++)
        r = timer_point(session, session->options->rates[i]);
    return r;
}
