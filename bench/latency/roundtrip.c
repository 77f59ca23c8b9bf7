/* SPDX-License-Identifier: Apache-2.0 */
/* roundtrip, fan and chain: client -> actors -> client in open loop (pace.h), a line for each rate.
 *
 * roundtrip: one actor that sends back what it gets, 8 or 64 bytes (--payload).
 * fan: an actor that asks --actors others at once, each of which answers the client; the time is
 * that of the last answer.
 * chain: through --actors actors, the last of which answers.
 *
 * With --park the rate should be so low that the worker goes to sleep in between: wake-ups from
 * idle.
 *
 * The ruler is a bare ring each way between two threads, at the same times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "measure.h"
#include "rulers.h"

static void roundtrip_line(struct calls *calls, const struct pace *pace,
                           const struct pace_result *result, const struct pace_result *ruler)
{
    const struct options *options = calls->session->options;

    printf("bench=latency_%s rate=%" PRIu64, options->park ? "idle" : options->name, pace->rate);
    if (calls->kind == CALLS_ASK)
        printf(" actors=%u", options->actors);
    else
        printf(" payload=%u", options->payload);
    printf(" workers=%u", calls->session->workers);
    calls_report(result);
    report_times("", &result->times);
    if (ruler->answered != 0)
        report_times("ruler_", &ruler->times);
    report_end(calls->session);
}

/* Once for each rate. Answers that never come are an error where nobody disturbs. */
static int roundtrip_rates(struct calls *calls, uint32_t pieces)
{
    static struct pace_result result, ruler;
    const struct options *options = calls->session->options;
    int r = 0;

    for (uint32_t i = 0; i < options->n_rates && r == 0; i++) {
        struct pace pace = calls_pace(options, options->rates[i], 1);
        pace.pieces = pieces;
        memset(&ruler, 0, sizeof(ruler));
        r = calls_run(calls, &pace, &result);
        if (r == 0 && options->n_cpus != 0)
            r = rulers_pace(options, &pace, &ruler);
        if (r == 0)
            roundtrip_line(calls, &pace, &result, &ruler);
        if (r == 0 && result.answered != pace.n)
            r = session_error(SESSION_FAILED,
                              "%" PRIu64 " of %" PRIu64 " requests were answered, %" PRIu64
                              " refused",
                              result.answered, pace.n, result.refused);
    }
    return r;
}

int measure_roundtrip(struct session *session)
{
    struct calls calls = { .session = session,
                           .kind = session->options->payload == sizeof(struct latency_large)
                                       ? CALLS_LARGE
                                       : CALLS_SMALL,
                           .n_targets = 1 };
    int r = session_spawn(session, "latency_echo", NULL, 0, &calls.targets[0]);

    if (r == 0)
        r = roundtrip_rates(&calls, 1);
    if (r == 0)
        session_stop(session, calls.targets[0]);
    return r;
}

static int roundtrip_through(struct session *session, uint32_t chain)
{
    struct calls calls = { .session = session, .kind = CALLS_ASK, .n_targets = 1 };
    struct latency_front_args args = { .actors = session->options->actors, .chain = chain };
    int r = session_spawn(session, "latency_front", &args, sizeof(args), &calls.targets[0]);

    return r == 0 ? roundtrip_rates(&calls, chain ? 1 : session->options->actors) : r;
}

int measure_fan(struct session *session)
{
    return roundtrip_through(session, 0);
}

int measure_chain(struct session *session)
{
    return roundtrip_through(session, 1);
}
