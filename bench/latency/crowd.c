/* SPDX-License-Identifier: Apache-2.0 */
/* crowd: --actors actors that answer at once are called by turns, in open loop, beside as many that
 * another client floods with handlers of the first of --us (2 ms).
 *
 * Whether they have queues of their own is the service's setting: actors are dealt round its
 * queues, the flooded ones first. The flood keeps FLOOD_WAITING requests waiting for each of its
 * actors from before the first call until after the last. Lateness: from the time at which a call
 * was to be posted to its answer; calls that were refused or not answered in time (`lost`) are
 * counted, not timed. They have --within seconds after the last of them was due.
 *
 * Threads: the flood has a client, a port and a thread of its own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "calls.h"
#include "measure.h"
#include "work.h"

enum { FLOOD_WAITING = 100, FLOOD_BEFORE_NS = 200000000, FLOOD_PAUSE_NS = 1000000 };

static struct {
    struct session session;
    odeon_ref actors[CALLS_TARGETS_MAX];
    pthread_t thread;
    uint64_t done, refused;
    int started;
    _Atomic uint32_t stop; /* by crowd_flood_stop() */
} flood;

/* What has been answered, or refused, does not wait any more. */
static void crowd_flood_receive(void)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(flood.session.port, &delivery) > 0) {
        if (delivery.type == ODEON_MSG_REFUSAL)
            flood.refused++;
        else
            flood.done++;
        odeon_port_release(flood.session.port);
    }
}

static void *crowd_flood(void *argument)
{
    const struct options *options = flood.session.options;
    const struct latency_request request = { .work_ns = options->us[0] * 1000,
                                             .sleeps = options->sleeps };
    uint64_t posted = 0, most = (uint64_t)options->actors * FLOOD_WAITING;

    while (!atomic_load_explicit(&flood.stop, memory_order_relaxed)) {
        crowd_flood_receive();
        while (posted - flood.done - flood.refused < most &&
               odeon_port_post(flood.session.port, flood.actors[posted % options->actors],
                               flood.session.id_request, &request, sizeof(request)) == 0)
            posted++;
        work_pause_ns(FLOOD_PAUSE_NS);
    }
    return argument;
}

static int crowd_flood_start(const struct options *options)
{
    int r = session_open(&flood.session, options);

    for (uint32_t i = 0; i < options->actors && r == 0; i++)
        r = session_spawn_kind(&flood.session, options->us[0], &flood.actors[i]);
    if (r == 0 && pthread_create(&flood.thread, NULL, crowd_flood, NULL) != 0)
        r = session_error(SESSION_FAILED, "no thread for the flood");
    flood.started = r == 0;
    return r;
}

static void crowd_flood_stop(void)
{
    atomic_store_explicit(&flood.stop, 1, memory_order_relaxed);
    if (flood.started)
        pthread_join(flood.thread, NULL);
    session_close(&flood.session);
}

int measure_crowd(struct session *session)
{
    static struct pace_result result;
    const struct options *options = session->options;
    struct calls calls = { .session = session, .kind = CALLS_SMALL, .n_targets = options->actors };
    int r = 0;

    if (options->actors > CALLS_TARGETS_MAX)
        return session_error(SESSION_USAGE, "at most %d actors", CALLS_TARGETS_MAX);
    r = crowd_flood_start(options);
    for (uint32_t i = 0; i < options->actors && r == 0; i++)
        r = session_spawn(session, "latency_echo", NULL, 0, &calls.targets[i]);
    if (r == 0) {
        struct pace pace = calls_pace(options, options->rates[0], 0);
        pace.within_ns = (uint64_t)(options->within_s * 1e9);
        work_pause_ns(FLOOD_BEFORE_NS);
        r = calls_run(&calls, &pace, &result);
    }
    crowd_flood_stop();
    if (r != 0)
        return r;
    printf("bench=latency_crowd duration_us=%llu actors=%u workers=%u rate=%llu",
           (unsigned long long)options->us[0], options->actors, session->workers,
           (unsigned long long)options->rates[0]);
    calls_report(&result);
    report_times("", &result.times);
    printf(" flood_done=%llu flood_refused=%llu", (unsigned long long)flood.done,
           (unsigned long long)flood.refused);
    report_end(session);
    return 0;
}
