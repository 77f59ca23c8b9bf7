/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/observed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <odeon/client.h>

enum { OBSERVED_FIRST = 8, OBSERVED_STEP = 2 }; /* powers of two: 256 ns, and four times as much */
#define OBSERVED_AGAIN_NS UINT64_C(1000000000)

#define TOP(i) ((double)(UINT64_C(1) << (OBSERVED_FIRST + (i)*OBSERVED_STEP)) / 1e9)
const double observed_tops[OBSERVED_TOPS] = { TOP(0),  TOP(1),  TOP(2),  TOP(3),  TOP(4),
                                              TOP(5),  TOP(6),  TOP(7),  TOP(8),  TOP(9),
                                              TOP(10), TOP(11), TOP(12), TOP(13), TOP(14) };
#undef TOP

static uint64_t observed_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int observed_init(struct observed *observed, const char *socket)
{
    int r;

    *observed = (struct observed){ .socket = socket };
    r = odeon_helper_new(&observed->helper);
    snprintf(observed->why, sizeof(observed->why), "%s",
             r < 0 ? odeon_error_text() : "the service has not been asked yet");
    return r;
}

void observed_fini(struct observed *observed)
{
    observed->helper = odeon_helper_free(observed->helper);
    observed->observer = odeon_observe_close(observed->observer);
}

int observed_fd(const struct observed *observed)
{
    return observed->helper ? odeon_helper_fd(observed->helper) : -1;
}

void observed_dispatch(struct observed *observed)
{
    if (observed->helper)
        (void)odeon_helper_dispatch(observed->helper);
}

/* In the helper's thread. */
static int observed_ask(void *of)
{
    struct observed *observed = of;
    struct odeon_client *client = NULL;
    int r = odeon_client_connect(observed->socket, "odeon-exporter", &client);

    if (r == 0)
        r = odeon_observe_open(client, &observed->asked);
    odeon_client_disconnect(client);
    return r;
}

static void observed_answered(void *of, int result, const char *text)
{
    struct observed *observed = of;

    observed->asking = false;
    if (result < 0) {
        snprintf(observed->why, sizeof(observed->why), "%s", text);
        return;
    }
    odeon_observe_close(observed->observer);
    observed->observer = observed->asked;
    observed->asked = NULL;
    observed->of = observed->asked_for;
}

static void observed_begin_to_ask(struct observed *observed, uint32_t supervisor_pid)
{
    uint64_t now = observed_now_ns();

    if (!observed->helper || observed->asking ||
        (observed->asked_ns && now - observed->asked_ns < OBSERVED_AGAIN_NS))
        return;
    observed->asked_ns = now;
    observed->asked_for = supervisor_pid;
    observed->asking =
        odeon_helper_call(observed->helper, observed_ask, observed_answered, observed) == 0;
}

bool observed_look(struct observed *observed, uint32_t supervisor_pid)
{
    if (observed->observer && observed->of != supervisor_pid) /* what it shows has ended */
        observed->observer = odeon_observe_close(observed->observer);
    if (!observed->observer)
        observed_begin_to_ask(observed, supervisor_pid);
    if (!observed->observer)
        return false;
    if (odeon_observe_look(observed->observer, NULL) == 0)
        return true;
    snprintf(observed->why, sizeof(observed->why), "%s", odeon_error_text());
    return false;
}

bool observed_times(struct observed *observed, uint32_t id, enum odeon_observe_what what,
                    uint64_t counts[static OBSERVED_TOPS + 1])
{
    uint64_t below[OBSERVED_TOPS], sums[OBSERVED_TOPS + 1];

    for (unsigned i = 0; i < OBSERVED_TOPS; i++)
        below[i] = UINT64_C(1) << (OBSERVED_FIRST + i * OBSERVED_STEP);
    if (odeon_observe_times(observed->observer, id, what, below, OBSERVED_TOPS, sums) < 0)
        return false;
    for (unsigned i = 0; i <= OBSERVED_TOPS; i++)
        counts[i] = sums[i] - (i ? sums[i - 1] : 0);
    return true;
}
