/* SPDX-License-Identifier: Apache-2.0 */
/* See honest.h. */
#include "tests/siege/honest.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/history/history.h"
#include "tests/siege/siege.h"
#include "tests/siege/slices.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, CALLERS = 2, WINDOW = 32, CALLS_A_VISIT = 4 };

struct honest *honest_make(void)
{
    struct honest *h =
        mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(h != MAP_FAILED);
    return h;
}

/* ---- in its process */

static void __attribute__((format(printf, 2, 3))) wrong(struct honest *h, const char *format, ...)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    va_list args;

    pthread_mutex_lock(&mutex);
    if (!atomic_load(&h->is_wrong)) {
        va_start(args, format);
        vsnprintf(h->wrong, sizeof(h->wrong), format, args);
        va_end(args);
        atomic_store(&h->is_wrong, true);
    }
    pthread_mutex_unlock(&mutex);
}

static bool goes_on(const struct honest *h)
{
    return !atomic_load(&h->stop) && !atomic_load(&h->is_wrong);
}

static void rest(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

struct line {
    struct odeon_client *client;
    struct odeon_port *port;
};

static bool line_open(struct honest *h, struct line *line)
{
    const struct odeon_port_options options = { .struct_size = sizeof(options),
                                                .submission_bytes = RING,
                                                .delivery_bytes = RING };

    *line = (struct line){ NULL, NULL };
    if (odeon_client_connect(h->service->socket, "honest", &line->client) == 0 &&
        odeon_port_open(line->client, &options, &line->port) == 0)
        return true;
    wrong(h, "connecting, or opening a port: %s", odeon_error_text());
    return false;
}

static void line_close(struct line *line)
{
    odeon_port_close(line->port);
    odeon_client_disconnect(line->client);
}

static bool call(struct honest *h, struct odeon_port *port, uint64_t n)
{
    const struct probe_number number = { .n = n };
    struct odeon_delivery answer;
    int r = odeon_port_call(port, h->echo, h->number_type, &number, sizeof(number),
                            SECONDS(PATIENCE_S), &answer);
    bool right = r == ODEON_CALL_REPLY && ((const struct probe_number *)answer.data)->n == n;

    if (!right)
        wrong(h, "call %llu ended with %d: %.100s", (unsigned long long)n, r,
              r < 0 ? odeon_error_text() : "refused, or another answer");
    odeon_port_release(port);
    return right;
}

static unsigned step_of(uint64_t ns)
{
    unsigned octave = ns < HONEST_STEPS ? 5 : 63 - (unsigned)__builtin_clzll(ns);

    return octave * HONEST_STEPS + (unsigned)(ns >> (octave - 5) & (HONEST_STEPS - 1));
}

static void *call_again_and_again(void *userdata)
{
    struct honest *h = userdata;
    struct line line;

    if (line_open(h, &line))
        for (uint64_t n = 1; goes_on(h); n++) {
            int64_t began = time_ns();

            if (!call(h, line.port, n))
                break;
            atomic_fetch_add(&h->times[step_of((uint64_t)(time_ns() - began))], 1);
            atomic_fetch_add(&h->calls, 1);
            rest(200000); /* as a client that has something else to do */
        }
    line_close(&line);
    return NULL;
}

static void *visit_again_and_again(void *userdata)
{
    struct honest *h = userdata;

    while (goes_on(h)) {
        struct line line;

        if (line_open(h, &line))
            for (uint64_t n = 1; n <= CALLS_A_VISIT && call(h, line.port, n); n++)
                ;
        line_close(&line);
        atomic_fetch_add(&h->visits, 1);
        rest(10000000);
    }
    return NULL;
}

/* Posts a window of numbers, and takes them all. */
static bool send_round(struct honest *h, struct odeon_port *port, struct history *history,
                       uint64_t *last)
{
    struct odeon_delivery delivery;

    for (int i = 0; i < WINDOW; i++) {
        const struct probe_number number = { .n = ++*last };

        history_note(history, HISTORY_BEGUN, h->relay, h->relay, number.n);
        if (odeon_port_post_wait(port, h->relay, h->number_type, &number, sizeof(number),
                                 SECONDS(PATIENCE_S)) < 0) {
            wrong(h, "posting number %llu: %s", (unsigned long long)number.n, odeon_error_text());
            return false;
        }
        history_note(history, HISTORY_SENT, h->relay, h->relay, number.n);
    }
    for (int i = 0; i < WINDOW; i++) {
        if (odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)) != 1 ||
            delivery.type != h->number_type) {
            wrong(h, "of the numbers up to %llu, %d have come back, and then none, or a refusal",
                  (unsigned long long)*last, i);
            return false;
        }
        history_note(history, HISTORY_RUN, h->relay, h->relay,
                     ((const struct probe_number *)delivery.data)->n);
        odeon_port_release(port);
    }
    return history_is_right(history);
}

static void *number_again_and_again(void *userdata)
{
    struct honest *h = userdata;
    struct history *history = history_new();
    struct history_verdict verdict;
    struct line line;
    uint64_t last = 0;

    if (line_open(h, &line))
        while (goes_on(h) && send_round(h, line.port, history, &last)) {
            atomic_store(&h->numbers, last);
            rest(1000000);
        }
    if (!history_judge(history, &verdict))
        wrong(h, "%llu numbers were posted, %llu have come back: %s",
              (unsigned long long)verdict.sent, (unsigned long long)verdict.run, verdict.first);
    history_free(history);
    line_close(&line);
    return NULL;
}

static void __attribute__((noreturn)) live(struct honest *h, pid_t parent)
{
    pthread_t threads[CALLERS + 2];
    int n = 0;

    slices_enter_user(innocent.uid);
    if (!user_become(innocent) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    for (int i = 0; i < CALLERS; i++)
        n += pthread_create(&threads[n], NULL, call_again_and_again, h) == 0;
    n += pthread_create(&threads[n], NULL, visit_again_and_again, h) == 0;
    n += pthread_create(&threads[n], NULL, number_again_and_again, h) == 0;
    if (n != CALLERS + 2)
        wrong(h, "a thread could not be started");
    while (n > 0)
        pthread_join(threads[--n], NULL);
    _exit(0);
}

/* ---- in the test's */

void honest_begin(struct honest *h)
{
    pid_t parent = getpid(), pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        live(h, parent);
    h->pid = pid;
}

void honest_expect_right(const struct honest *h)
{
    if (atomic_load(&h->is_wrong))
        fail_msg("an honest client: %s", h->wrong);
}

void honest_end(struct honest *h)
{
    int status = -1;

    atomic_store(&h->stop, true);
    assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
    h->pid = 0;
    honest_expect_right(h);
    assert_int_equal(status, 0);
}

void honest_copy_times(const struct honest *h, uint64_t *ret_times)
{
    for (unsigned i = 0; i < HONEST_TIMES; i++)
        ret_times[i] = atomic_load(&h->times[i]);
}

double honest_quantile_us(const struct honest *h, const uint64_t *before, double part)
{
    uint64_t now[HONEST_TIMES], n = 0, seen = 0;
    unsigned i = 0;

    honest_copy_times(h, now);
    for (unsigned k = 0; k < HONEST_TIMES; k++)
        n += now[k] - before[k];
    for (; i < HONEST_TIMES - 1; i++) {
        seen += now[i] - before[i];
        if ((double)seen >= part * (double)n)
            break;
    }
    return (double)((HONEST_STEPS + i % HONEST_STEPS + 1) *
                    (UINT64_C(1) << (i / HONEST_STEPS - 5))) /
           1e3;
}
