/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Requests under way at most: then sending waits, and the requests' times run. */
enum { PACE_UNDER_WAY = 1 << 16, PACE_BEFORE_BEGIN_NS = 1000000 };

struct pace_state {
    const struct pace *pace;
    const struct pace_transport *transport;
    struct pace_result *result;
    uint8_t missing[PACE_UNDER_WAY]; /* pieces, of the request whose number ends so */
};

/* Is there any use in going on? */
static bool pace_goes_on(const struct pace_state *state, uint64_t now_ns, uint64_t last_ns)
{
    const struct pace *pace = state->pace;
    const struct pace_result *result = state->result;
    uint64_t end_ns = pace_due_ns(pace, result->begin_ns, pace->n - 1) + pace->within_ns;

    return result->answered + result->refused < pace->n && now_ns < last_ns + pace->timeout_ns &&
           (pace->within_ns == 0 || now_ns < end_ns);
}

/* Sends what is due, as far as there is room. */
static int pace_send_due(struct pace_state *state, uint64_t now_ns)
{
    struct pace_result *result = state->result;
    uint64_t before = result->posted, due_ns;
    int r = 0;

    while (r == 0 && result->posted < state->pace->n &&
           result->posted - result->answered - result->refused < PACE_UNDER_WAY) {
        due_ns = pace_due_ns(state->pace, result->begin_ns, result->posted);
        if (due_ns > now_ns)
            break;
        r = state->transport->post(state->transport->context, due_ns, result->posted);
        if (r == 0)
            state->missing[result->posted++ % PACE_UNDER_WAY] = (uint8_t)state->pace->pieces;
    }
    if (result->posted != before || r == -EAGAIN)
        state->transport->commit(state->transport->context);
    return r == -EAGAIN ? 0 : r;
}

static void pace_answered(struct pace_state *state, uint64_t at_ns, uint64_t number,
                          uint64_t now_ns)
{
    struct pace_result *result = state->result;
    uint8_t *missing = &state->missing[number % PACE_UNDER_WAY];

    if (state->pace->pieces > 1 && --*missing != 0)
        return;
    result->answered++;
    result->end_ns = now_ns;
    if (at_ns >= pace_due_ns(state->pace, result->begin_ns, state->pace->warm_up))
        histogram_add(&result->times, now_ns - at_ns);
}

int pace_run(const struct pace *pace, const struct pace_transport *transport,
             struct pace_result *ret)
{
    static struct pace_state state;
    uint64_t now_ns = transport->now_ns(transport->context), last_ns = now_ns;
    int r = 0;

    memset(ret, 0, sizeof(*ret));
    state.pace = pace;
    state.transport = transport;
    state.result = ret;
    ret->begin_ns = now_ns + PACE_BEFORE_BEGIN_NS;
    while (r >= 0 && pace_goes_on(&state, now_ns, last_ns)) {
        uint64_t at_ns = 0, number = 0;
        r = transport->receive(transport->context, &at_ns, &number);
        now_ns = transport->now_ns(transport->context);
        if (r == 1)
            pace_answered(&state, at_ns, number, now_ns);
        else if (r == 2)
            ret->refused++;
        if (r > 0 || ret->posted == ret->answered + ret->refused)
            last_ns = now_ns;
        if (r >= 0)
            r = pace_send_due(&state, now_ns);
    }
    return r;
}
