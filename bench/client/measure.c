/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of odeon-bench.
 *
 * Those inside the service are timed by the service; those of a client are timed here, with both
 * sides awake: this thread spins. `wake` alone is about a worker that sleeps.
 */
#include "odeon_bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_POSTS = 5000000, DEFAULT_TRIPS = 200000, DEFAULT_WAKES = 2000, POST_RESERVE = 16 };

static int64_t measure_timeout_ns(const struct bench_options *options)
{
    return (int64_t)(options->timeout_s * 1000000000u);
}

static int measure_refused(const struct odeon_delivery *delivery)
{
    struct odeon_refusal refusal = { .reason = ODEON_REASON_NONE };
    if (delivery->size >= sizeof(refusal))
        memcpy(&refusal, delivery->data, sizeof(refusal));
    return bench_error(BENCH_FAILED, "the service refused a message (%s)",
                       odeon_reason_name(refusal.reason));
}

/* Waits for a delivery of the type; stops at a refusal. The caller releases. */
static int measure_wait_for(struct bench_session *session, uint32_t type, size_t size,
                            int64_t limit_ns, struct odeon_delivery *ret)
{
    for (;;) {
        int r = odeon_port_receive_wait(session->port, ret, limit_ns);
        if (r == 0 || r == -ETIMEDOUT)
            return bench_error(BENCH_FAILED, "no answer in time; more time with --timeout");
        if (r < 0)
            return bench_error(BENCH_FAILED, "%s", odeon_error_text());
        if (ret->type == type && ret->size >= size)
            return 0;
        if (ret->type == ODEON_MSG_REFUSAL)
            return measure_refused(ret);
        odeon_port_release(session->port);
    }
}

int bench_measure_driver(struct bench_session *session, const struct bench_options *options,
                         struct bench_figure *ret)
{
    char type[64] = "bench_";
    odeon_ref driver;
    struct odeon_delivery delivery;
    struct bench_result result;
    struct bench_run run = options->run;

    run.workers = session->workers;
    strncat(type, options->name, sizeof(type) - strlen(type) - 1);
    int r = bench_session_spawn(session, options, type, &driver);
    if (r != 0)
        return r;
    r = odeon_port_post_wait(session->port, driver, session->id_run, &run, sizeof(run),
                             measure_timeout_ns(options));
    if (r < 0)
        return bench_error(BENCH_FAILED, "cannot start %s: %s", type, odeon_error_text());
    r = measure_wait_for(session, session->id_result, sizeof(result), measure_timeout_ns(options),
                         &delivery);
    if (r != 0)
        return r;
    memcpy(&result, delivery.data, sizeof(result));
    odeon_port_release(session->port);
    if (result.error != 0)
        return bench_error(BENCH_FAILED, "%s: %.*s (error %" PRId64 ")", options->name,
                           (int)sizeof(result.what), result.what, result.error);
    *ret = (struct bench_figure){ .elapsed_ns = result.elapsed_ns,
                                  .beside_ns = result.beside_ns,
                                  .messages = result.messages };
    return 0;
}

/* Publishes `count` posts; their room is reserved in pieces that fit any ring. */
static int measure_post_numbers(struct bench_session *session, odeon_ref sink, uint64_t from,
                                uint64_t count, uint64_t deadline_ns)
{
    for (uint64_t i = 0; i < count;) {
        struct bench_post *post =
            odeon_port_reserve(session->port, sink, session->id_post, sizeof(*post));
        if (post != NULL) {
            post->sequence = from + i++;
            continue;
        }
        if (errno != EAGAIN)
            return bench_error(BENCH_FAILED, "cannot post: %s", odeon_error_text());
        odeon_port_commit(session->port); /* what is reserved takes room, too */
        if (bench_now_ns() > deadline_ns)
            return bench_error(BENCH_FAILED, "the ring stays full; more time with --timeout");
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    odeon_port_commit(session->port);
    return 0;
}

int bench_measure_post(struct bench_session *session, const struct bench_options *options,
                       struct bench_figure *ret)
{
    uint64_t n = options->run.n != 0 ? options->run.n : DEFAULT_POSTS;
    uint64_t window = options->window != 0 ? options->window : POST_RESERVE;
    odeon_ref sink;
    struct odeon_delivery delivery;
    struct bench_sink_value value;

    int r = bench_session_spawn(session, options, "bench_sink", &sink);
    if (r != 0)
        return r;
    uint64_t begin_ns = bench_now_ns();
    uint64_t deadline_ns = begin_ns + options->timeout_s * 1000000000u;
    for (uint64_t sent = 0; sent < n && r == 0; sent += window)
        r = measure_post_numbers(session, sink, sent, n - sent < window ? n - sent : window,
                                 deadline_ns);
    if (r != 0)
        return r;
    r = odeon_port_call(session->port, sink, session->id_sink_get, NULL, 0,
                        measure_timeout_ns(options), &delivery);
    uint64_t elapsed_ns = bench_now_ns() - begin_ns;
    if (r != ODEON_CALL_REPLY)
        return r == ODEON_CALL_REFUSED
                   ? measure_refused(&delivery)
                   : bench_error(BENCH_FAILED, "the sink does not answer: %s", odeon_error_text());
    if (delivery.type != session->id_sink_value || delivery.size != sizeof(value))
        return bench_error(BENCH_FAILED, "the sink answers with message type %u of %u bytes",
                           delivery.type, delivery.size);
    memcpy(&value, delivery.data, sizeof(value));
    odeon_port_release(session->port);
    odeon_port_post_wait(session->port, sink, session->id_quit, NULL, 0,
                         measure_timeout_ns(options));
    if (value.count != n || value.out_of_order != 0)
        return bench_error(BENCH_FAILED,
                           "%" PRIu64 " posted, %" PRIu64 " counted, %" PRIu64 " out of order", n,
                           value.count, value.out_of_order);
    *ret = (struct bench_figure){ .elapsed_ns = elapsed_ns, .messages = n };
    return 0;
}

static int measure_compare_times(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void measure_figure_from_times(uint32_t *times, uint64_t n, uint64_t elapsed_ns,
                                      struct bench_figure *ret)
{
    qsort(times, n, sizeof(times[0]), measure_compare_times);
    *ret = (struct bench_figure){
        .elapsed_ns = elapsed_ns,
        .messages = n,
        .p50_ns = times[n / 2],
        .p90_ns = times[n - 1 - n / 10],
        .p99_ns = times[n - 1 - n / 100],
        .max_ns = times[n - 1],
    };
}

/* One trip; spins for the answer. */
static int measure_round_trip(struct bench_session *session, odeon_ref echo, uint64_t number,
                              size_t size, uint64_t limit_ns)
{
    const struct bench_wide post = { .sequence = number, .last = number };
    uint32_t type = size == sizeof(post) ? session->id_wide : session->id_post;
    struct bench_wide answer = { .last = number };
    struct odeon_delivery delivery;

    int r = odeon_port_post(session->port, echo, type, &post, size);
    if (r < 0)
        return bench_error(BENCH_FAILED, "cannot post: %s", odeon_error_text());
    uint64_t deadline_ns = 0;
    for (unsigned i = 1; (r = odeon_port_receive(session->port, &delivery)) == 0; i++) {
        if (i % 65536 != 0)
            continue;
        if (deadline_ns == 0)
            deadline_ns = bench_now_ns() + limit_ns;
        else if (bench_now_ns() > deadline_ns)
            return bench_error(BENCH_FAILED, "no answer in time; more time with --timeout");
    }
    if (r < 0)
        return bench_error(BENCH_FAILED, "%s", odeon_error_text());
    if (delivery.type == ODEON_MSG_REFUSAL)
        return measure_refused(&delivery);
    if (delivery.type != type || delivery.size != size)
        return bench_error(BENCH_FAILED, "the echo answers with message type %u of %u bytes",
                           delivery.type, delivery.size);
    memcpy(&answer, delivery.data, size);
    odeon_port_release(session->port);
    return answer.sequence == number && answer.last == number
               ? 0
               : bench_error(BENCH_FAILED, "an answer out of order");
}

int bench_measure_roundtrip(struct bench_session *session, const struct bench_options *options,
                            struct bench_figure *ret)
{
    uint64_t n = options->run.n != 0 ? options->run.n : DEFAULT_TRIPS;
    size_t size = options->payload != 0 ? options->payload : sizeof(struct bench_post);
    odeon_ref echo;

    int r = bench_session_spawn(session, options, "bench_echo", &echo);
    if (r != 0)
        return r;
    uint32_t *times = calloc(n, sizeof(times[0]));
    if (times == NULL)
        return bench_error(BENCH_FAILED, "no memory for %" PRIu64 " times", n);
    uint64_t warm_up = n / 10 + 1;
    for (uint64_t i = 0; i < warm_up && r == 0; i++)
        r = measure_round_trip(session, echo, i, size, options->timeout_s * 1000000000u);
    uint64_t begin_ns = bench_now_ns(), last_ns = begin_ns;
    for (uint64_t i = 0; i < n && r == 0; i++) {
        r = measure_round_trip(session, echo, warm_up + i, size, options->timeout_s * 1000000000u);
        uint64_t now_ns = bench_now_ns();
        times[i] = now_ns - last_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)(now_ns - last_ns);
        last_ns = now_ns;
    }
    if (r == 0) {
        measure_figure_from_times(times, n, last_ns - begin_ns, ret);
        odeon_port_post_wait(session->port, echo, session->id_quit, NULL, 0,
                             measure_timeout_ns(options));
    }
    free(times);
    return r;
}

/* One post to a worker that has had `pause_us` to go to sleep; the answer says how long it took. */
static int measure_wake_once(struct bench_session *session, const struct bench_options *options,
                             odeon_ref sleeper, uint32_t *ret_ns)
{
    struct odeon_delivery delivery;
    struct bench_woken woken;

    nanosleep(&(struct timespec){ .tv_sec = options->pause_us / 1000000,
                                  .tv_nsec = options->pause_us % 1000000 * 1000 },
              NULL);
    struct bench_wake wake = { .posted_ns = bench_now_ns() };
    int r = odeon_port_post(session->port, sleeper, session->id_wake, &wake, sizeof(wake));
    if (r < 0)
        return bench_error(BENCH_FAILED, "cannot post: %s", odeon_error_text());
    r = measure_wait_for(session, session->id_woken, sizeof(woken), measure_timeout_ns(options),
                         &delivery);
    if (r != 0)
        return r;
    memcpy(&woken, delivery.data, sizeof(woken));
    odeon_port_release(session->port);
    *ret_ns = woken.after_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)woken.after_ns;
    return 0;
}

int bench_measure_wake(struct bench_session *session, const struct bench_options *options,
                       struct bench_figure *ret)
{
    uint64_t n = options->run.n != 0 ? options->run.n : DEFAULT_WAKES, sum_ns = 0;
    odeon_ref sleeper;

    int r = bench_session_spawn(session, options, "bench_sleeper", &sleeper);
    if (r != 0)
        return r;
    uint32_t *times = calloc(n, sizeof(times[0]));
    if (times == NULL)
        return bench_error(BENCH_FAILED, "no memory for %" PRIu64 " times", n);
    for (uint64_t i = 0; i < n && r == 0; i++) {
        r = measure_wake_once(session, options, sleeper, &times[i]);
        sum_ns += times[i];
    }
    if (r == 0) {
        measure_figure_from_times(times, n, sum_ns, ret);
        odeon_port_post_wait(session->port, sleeper, session->id_quit, NULL, 0,
                             measure_timeout_ns(options));
    }
    free(times);
    return r;
}
