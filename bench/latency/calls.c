/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

static uint64_t calls_now(void *context)
{
    (void)context;
    return work_now_ns();
}

static int calls_post(void *context, uint64_t at_ns, uint64_t number)
{
    static const uint32_t sizes[] = { [CALLS_SMALL] = sizeof(struct latency_small),
                                      [CALLS_LARGE] = sizeof(struct latency_large),
                                      [CALLS_ASK] = sizeof(struct latency_ask) };
    const struct calls *calls = context;
    const struct session *session = calls->session;
    const uint32_t ids[] = { [CALLS_SMALL] = session->id_small,
                             [CALLS_LARGE] = session->id_large,
                             [CALLS_ASK] = session->id_ask };
    void *place = odeon_port_reserve(session->port, calls->targets[number % calls->n_targets],
                                     ids[calls->kind], sizes[calls->kind]);

    if (place == NULL)
        return errno == EAGAIN ? -EAGAIN : session_error(-EIO, "%s", odeon_error_text());
    if (calls->kind == CALLS_SMALL)
        *(struct latency_small *)place = (struct latency_small){ .at_ns = at_ns };
    else if (calls->kind == CALLS_LARGE)
        *(struct latency_large *)place = (struct latency_large){ .at_ns = at_ns };
    else
        *(struct latency_ask *)place = (struct latency_ask){
            .client = odeon_port_ref(session->port), .at_ns = at_ns, .number = number
        };
    return 0;
}

static void calls_commit(void *context)
{
    const struct calls *calls = context;
    odeon_port_commit(calls->session->port);
}

static int calls_receive(void *context, uint64_t *ret_at_ns, uint64_t *ret_number)
{
    struct session *session = ((struct calls *)context)->session;
    struct odeon_delivery delivery;
    uint64_t now_ns;
    int r = session_look(session, &delivery, &now_ns);

    if (r <= 0) {
        work_relax();
        return r;
    }
    if (delivery.type == ODEON_MSG_REFUSAL) {
        r = 2;
    } else if (delivery.type == session->id_answer) {
        struct latency_answer answer;
        memcpy(&answer, delivery.data, sizeof(answer));
        *ret_at_ns = answer.at_ns;
        *ret_number = answer.number;
    } else { /* an echo, small or large: both begin with the time */
        memcpy(ret_at_ns, delivery.data, sizeof(*ret_at_ns));
    }
    session_release(session);
    return r;
}

struct pace calls_pace(const struct options *options, uint64_t rate, int warm_up)
{
    double n = options->seconds * (double)rate;
    struct pace pace = { .rate = rate,
                         .n = options->n != 0 ? options->n
                              : n < 1         ? 1
                                              : (uint64_t)n,
                         .pieces = 1,
                         .timeout_ns = options->timeout_s * WORK_SECOND_NS };

    pace.warm_up = warm_up ? pace.n / 20 : 0;
    return pace;
}

int calls_run(struct calls *calls, const struct pace *pace, struct pace_result *ret)
{
    const struct pace_transport transport = { .context = calls,
                                              .now_ns = calls_now,
                                              .post = calls_post,
                                              .commit = calls_commit,
                                              .receive = calls_receive };

    session_begin(calls->session);
    return pace_run(pace, &transport, ret) < 0 ? SESSION_FAILED : 0;
}

void calls_report(const struct pace_result *result)
{
    double seconds = (double)(result->end_ns - result->begin_ns) / 1e9;

    printf(" n=%" PRIu64 " answered=%" PRIu64 " refused=%" PRIu64 " lost=%" PRIu64
           " per_second=%.0f",
           result->times.count, result->answered, result->refused,
           result->posted - result->answered - result->refused,
           result->answered != 0 ? (double)result->answered / seconds : 0.0);
}
