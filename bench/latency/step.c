/* SPDX-License-Identifier: Apache-2.0 */
/* step and turn: an actor that works, tells the client, and sends itself the next step.
 *
 * step: n steps of the same length, once for each length. Lateness: from the end of the work, a
 * time stamp in what is sent, to the record in the client's ring. The first of a length is counted
 * apart (`first_us`): the service knows nothing yet of the kind, which nothing else has used. With
 * several lengths a last line, duration_us=all, has all of them together. A detached actor that
 * sleeps is the ticker.
 *
 * turn: a kind that is quick n - 1 times and then slow once, in rounds. part=before: what the last
 * hundred quick ones before a slow one have sent; part=slow: what the slow ones have sent;
 * part=other: all else.
 *
 * The ruler is a bare thread that works as long and writes a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "disturb.h"
#include "measure.h"
#include "rulers.h"
#include "session.h"
#include "work.h"

enum { STEP_LEAST = 20, STEP_MOST = 200000, STEP_BEFORE = 100, STEP_ROUNDS = 3 };

/* As many as the seconds allow. */
static uint64_t step_number(const struct options *options, uint64_t us)
{
    double n = options->seconds * 1e6 / (double)(us != 0 ? us : 1);

    if (options->n != 0)
        return options->n;
    return n < STEP_LEAST ? STEP_LEAST : n > STEP_MOST ? STEP_MOST : (uint64_t)n;
}

static int step_start(struct session *session, uint64_t us, uint64_t n)
{
    const struct options *options = session->options;
    struct latency_step step = { .client = odeon_port_ref(session->port),
                                 .n = n,
                                 .work_ns = us * 1000,
                                 .slow_ns = options->slow_us * 1000,
                                 .every = options->every,
                                 .sleeps = options->sleeps };
    odeon_ref actor;
    int r = session_spawn_kind(session, us, &actor);

    session_begin(session);
    if (r == 0 && odeon_port_post(session->port, actor, session->id_step, &step, sizeof(step)) < 0)
        r = session_error(SESSION_FAILED, "cannot post: %s", odeon_error_text());
    return r;
}

/* The next one, *number or later: a port that has no more room drops some. */
static int step_take(struct session *session, uint64_t *number, uint64_t *ret_late_ns)
{
    struct latency_done done = { .number = 0 };
    uint64_t now_ns = 0;
    int r = session_wait_done(session, &done, &now_ns);

    if (r == 0 && (done.number < *number ||
                   (done.number > *number && odeon_port_dropped(session->port) == 0)))
        r = session_error(SESSION_FAILED, "step %" PRIu64 " came in place of %" PRIu64, done.number,
                          *number);
    *number = done.number;
    *ret_late_ns = now_ns - done.ended_ns;
    return r;
}

static void step_line(struct session *session, const char *duration, uint64_t first_ns,
                      const struct histogram *times, const struct histogram *ruler)
{
    const struct options *options = session->options;

    printf("bench=latency_%s duration_us=%s work=%s place=%s workers=%u n=%" PRIu64, options->name,
           duration, options->sleeps ? "sleep" : "busy", options->detached ? "detached" : "queue",
           session->workers, times->count);
    report_times("", times);
    if (first_ns != 0)
        printf(" first_us=%.3f", (double)first_ns / 1000.0);
    if (ruler->count != 0)
        report_times("ruler_", ruler);
    report_end(session);
}

int measure_step(struct session *session)
{
    static struct histogram times, ruler, all, all_rulers;
    const struct options *options = session->options;
    int r = 0;

    for (uint32_t i = 0; i < options->n_us && r == 0; i++) {
        uint64_t n = step_number(options, options->us[i]), first_ns = 0, late_ns = 0;
        char duration[24];
        memset(&times, 0, sizeof(times));
        memset(&ruler, 0, sizeof(ruler));
        r = step_start(session, options->us[i], n + 1);
        for (uint64_t number = 0; number <= n && r == 0; number++) {
            r = step_take(session, &number, &late_ns);
            if (number == 0)
                first_ns = late_ns;
            else
                histogram_add(&times, late_ns);
        }
        if (r == 0 && options->n_cpus != 0)
            r = rulers_work(options, options->us[i] * 1000, n, 1, &ruler);
        if (r != 0)
            break;
        snprintf(duration, sizeof(duration), "%" PRIu64, options->us[i]);
        step_line(session, duration, first_ns, &times, &ruler);
        histogram_merge(&all, &times);
        histogram_merge(&all_rulers, &ruler);
    }
    if (r == 0 && options->n_us > 1)
        step_line(session, "all", 0, &all, &all_rulers);
    return r;
}

int measure_turn(struct session *session)
{
    enum { BEFORE, SLOW, OTHER, PARTS };
    static const char *const names[PARTS] = { "before", "slow", "other" };
    static struct histogram times[PARTS];
    const struct options *options = session->options;
    uint64_t every = options->every, late_ns = 0;
    uint64_t n = options->n != 0 ? options->n : every * STEP_ROUNDS;
    int r = step_start(session, options->us[0], n);

    for (uint64_t number = 0; number < n && r == 0; number++) {
        r = step_take(session, &number, &late_ns);
        uint64_t in_round = number % every;
        int part = in_round == every - 1                 ? SLOW
                   : in_round + 1 + STEP_BEFORE >= every ? BEFORE
                                                         : OTHER;
        histogram_add(&times[part], late_ns);
    }
    for (int part = 0; part < PARTS && r == 0; part++) {
        printf("bench=latency_turn part=%s duration_us=%" PRIu64 " slow_us=%" PRIu64
               " every=%" PRIu64 " workers=%u n=%" PRIu64,
               names[part], options->us[0], options->slow_us, every, session->workers,
               times[part].count);
        report_times("", &times[part]);
        report_end(session);
    }
    return r;
}
