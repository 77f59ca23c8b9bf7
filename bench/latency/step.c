/* SPDX-License-Identifier: Apache-2.0 */
/* step and turn: an actor that works, tells the client, and sends itself the next step.
 *
 * step: n steps of the same length, in rounds, once for each length. Lateness: from the end of the
 * work, a time stamp in what is sent, to the record in the client's ring. The very first of a
 * length is counted apart (`first_us`): the service knows nothing yet of the kind, which nothing
 * else has used. With several lengths a last line, duration_us=all, has all of them together. A
 * detached actor that sleeps is the ticker.
 *
 * turn: a kind that is quick n - 1 times and then slow once, in rounds. part=before: what the last
 * hundred quick ones before a slow one have sent; part=slow: what the slow ones have sent;
 * part=other: all else.
 *
 * The ruler is a bare thread that works as long and writes a line, in each round behind the actor.
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
                      const struct histogram *times, const struct histogram *rulers)
{
    const struct options *options = session->options;
    uint32_t rounds = options->rounds;
    uint64_t n = 0;

    for (uint32_t i = 0; i < rounds; i++)
        n += times[i].count;
    printf("bench=latency_%s duration_us=%s work=%s place=%s workers=%u n=%" PRIu64 " rounds=%u",
           options->name, duration, options->sleeps ? "sleep" : "busy",
           options->detached ? "detached" : "queue", session->workers, n, rounds);
    report_rounds("", times, rounds);
    if (first_ns != 0)
        printf(" first_us=%.3f", (double)first_ns / 1000.0);
    if (rulers[0].count != 0)
        report_rounds("ruler_", rulers, rounds);
    report_end(session);
}

/* One round of a length, and behind it the ruler's. *first_ns: how late the very first was. */
static int step_round(struct session *session, uint64_t us, struct histogram *times,
                      struct histogram *ruler, uint64_t *first_ns)
{
    const struct options *options = session->options;
    uint64_t n = step_number(options, us), late_ns = 0;
    int r = step_start(session, us, n + 1);

    for (uint64_t number = 0; number <= n && r == 0; number++) {
        r = step_take(session, &number, &late_ns);
        if (number != 0)
            histogram_add(times, late_ns);
        else if (*first_ns == 0)
            *first_ns = late_ns;
    }
    if (r == 0 && options->n_cpus != 0)
        r = rulers_work(options, us * 1000, n, 1, ruler);
    return r;
}

int measure_step(struct session *session)
{
    static struct histogram all[OPTIONS_ROUNDS_MAX], all_rulers[OPTIONS_ROUNDS_MAX];
    static struct histogram times[OPTIONS_ROUNDS_MAX], rulers[OPTIONS_ROUNDS_MAX];
    const struct options *options = session->options;
    int r = 0;

    for (uint32_t i = 0; i < options->n_us && r == 0; i++) {
        uint64_t first_ns = 0;
        char duration[24];
        memset(times, 0, sizeof(times));
        memset(rulers, 0, sizeof(rulers));
        for (uint32_t round = 0; round < options->rounds && r == 0; round++) {
            r = step_round(session, options->us[i], &times[round], &rulers[round], &first_ns);
            histogram_merge(&all[round], &times[round]);
            histogram_merge(&all_rulers[round], &rulers[round]);
        }
        if (r != 0)
            break;
        snprintf(duration, sizeof(duration), "%" PRIu64, options->us[i]);
        step_line(session, duration, first_ns, times, rulers);
    }
    if (r == 0 && options->n_us > 1)
        step_line(session, "all", 0, all, all_rulers);
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
