/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, of a library without a service (fake_odeon.h): always the same. */
#include "tests/unit/fake_odeon.h"

#include <time.h>

static uint64_t fake_looked_ns;

static uint64_t fake_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int odeon_observe_open(struct odeon_client *client, struct odeon_observer **ret)
{
    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    *ret = fake_alloc(1);
    fake_looked_ns = fake_now_ns();
    return 0;
}

struct odeon_observer *odeon_observe_close(struct odeon_observer *observer)
{
    odeon_result_free(observer);
    return NULL;
}

int odeon_observe_look(struct odeon_observer *observer, uint64_t *ret_ns)
{
    uint64_t now = fake_now_ns();

    (void)observer;
    if (ret_ns)
        *ret_ns = fake.by_clock ? now - fake_looked_ns : 500000000;
    fake_looked_ns = now;
    return 0;
}

int odeon_observe_types(struct odeon_observer *observer, int total, struct odeon_list **ret)
{
    struct odeon_type_figures *rows;

    (void)observer;
    *ret = fake_list(4, sizeof(*rows));
    rows = (*ret)->rows;
    rows[0] = (struct odeon_type_figures){ .type = "counter",
                                           .plugin = "counter",
                                           .messages = total ? 3000000 : 1000,
                                           .run_ns = 50000000,
                                           .sends = 20,
                                           .run_p50_ns = 31,
                                           .wait_p99_ns = 2500000 };
    rows[1] = (struct odeon_type_figures){
        .type = "slow", .plugin = "p", .messages = 4, .run_ns = 400000000, .timed = 4, .failed = 3
    };
    rows[2] = (struct odeon_type_figures){ .type = "quiet", .plugin = "p", .actors = 7 };
    rows[3] = (struct odeon_type_figures){
        .type = "heavy", .plugin = "p", .actors = 2, .state_bytes = 4096
    };
    return 0;
}

int odeon_observe_actors(struct odeon_observer *observer, enum odeon_observe_by by,
                         struct odeon_list **ret)
{
    struct odeon_actor_figures *rows;

    (void)observer;
    *ret = fake_list(2, sizeof(*rows));
    rows = (*ret)->rows;
    rows[0] = (struct odeon_actor_figures){
        .ref = FAKE_GONE, .type = "counter", .most = by == ODEON_BY_RUN ? 0.5 : 12345, .least = 0.25
    };
    rows[1] = (struct odeon_actor_figures){ .ref = FAKE_GONE + 1, .type = "slow" };
    return 0;
}

int odeon_observe_flows(struct odeon_observer *observer, struct odeon_list **ret)
{
    struct odeon_flow_figures *rows;

    (void)observer;
    *ret = fake_list(2, sizeof(*rows));
    rows = (*ret)->rows;
    rows[0] =
        (struct odeon_flow_figures){ .from = "port", .port = 3, .to = "counter", .most = 99.5 };
    rows[1] = (struct odeon_flow_figures){ .from = "counter", .to = "slow", .most = 1 };
    return 0;
}

int odeon_observe_traced(struct odeon_observer *observer, uint64_t *ret_lost,
                         struct odeon_list **ret)
{
    struct odeon_traced *rows;

    (void)observer;
    *ret_lost = 7;
    *ret = fake_list(3, sizeof(*rows));
    rows = (*ret)->rows;
    rows[0] = (struct odeon_traced){ .began_ns = UINT64_C(1700000000123456789),
                                     .to = FAKE_GONE,
                                     .from = FAKE_GONE + 1,
                                     .type = "counter",
                                     .from_type = "port",
                                     .message = 20,
                                     .worker = 1,
                                     .sends = 2,
                                     .run_ns = 31,
                                     .wait_ns = 2500000,
                                     .stands_for = 130 };
    rows[1] = (struct odeon_traced){ .began_ns = UINT64_C(1700000000200000000),
                                     .to = FAKE_GONE + 2,
                                     .type = "red\033[31m\302\233m\303\251",
                                     .from_type = "",
                                     .message = 1,
                                     .run_ns = 400000000,
                                     .at_least = fake.at_least,
                                     .wait_ns = UINT64_MAX };
    rows[2] = rows[1];
    rows[2].type = rows[2].from_type = "counter";
    rows[2].from = rows[0].to;
    rows[2].began_ns++;
    rows[2].reason = fake.reason;
    for (unsigned i = 0; i < 3; i++) {
        rows[i].trace = fake.traced[i];
        if (fake.of_types)
            rows[i].message = 20 + i;
    }
    return 0;
}
