/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. */
#include "tests/system/numbers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/probe.h"

static void __attribute__((format(printf, 2, 3)))
wrong(struct numbers *numbers, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(numbers->wrong, sizeof(numbers->wrong), format, args);
    va_end(args);
}

/* False: something is wrong. */
static bool take(struct numbers *numbers, uint64_t *received, int64_t timeout_ns)
{
    struct odeon_delivery delivery;
    int r = odeon_port_receive_wait(numbers->port, &delivery, timeout_ns);

    for (; r > 0; r = odeon_port_receive(numbers->port, &delivery)) {
        const struct probe_number *number = delivery.data;

        if (delivery.type != numbers->type || delivery.size != sizeof(*number)) {
            const struct odeon_refusal *refusal = delivery.data;

            wrong(numbers,
                  "a delivery of type %u, %u bytes (a refusal's reason: %u) behind number %llu",
                  delivery.type, delivery.size,
                  delivery.type == ODEON_MSG_REFUSAL ? (unsigned)refusal->reason : 0U,
                  (unsigned long long)*received);
            return false;
        }
        history_note(numbers->history, HISTORY_RUN, numbers->relay, numbers->relay, number->n);
        if (!history_is_right(numbers->history))
            return false; /* numbers_finish() says what it is */
        ++*received;
    }
    odeon_port_release(numbers->port);
    atomic_store(&numbers->received, *received);
    if (r < 0 && r != -ETIMEDOUT)
        wrong(numbers, "receiving: %s", odeon_error_text());
    return r >= 0 || r == -ETIMEDOUT;
}

/* Posts up to the window.  False: something is wrong. */
static bool post(struct numbers *numbers, uint64_t *posted, uint64_t received)
{
    while (*posted - received < numbers->window && !atomic_load(&numbers->stop)) {
        struct probe_number number = { .n = *posted + 1 };
        int r;

        history_note(numbers->history, HISTORY_BEGUN, numbers->relay, numbers->relay, number.n);
        r = odeon_port_post(numbers->port, numbers->relay, numbers->type, &number, sizeof(number));
        if (r == -EAGAIN)
            break;
        if (r < 0) {
            wrong(numbers, "posting: %s", odeon_error_text());
            return false;
        }
        history_note(numbers->history, HISTORY_SENT, numbers->relay, numbers->relay, number.n);
        atomic_store(&numbers->posted, ++*posted);
    }
    return true;
}

/* Until all is back behind the stop; not longer than a while without any: then something is
 * lost. */
static void post_and_receive(struct numbers *numbers)
{
    uint64_t posted = 0, received = 0, last = 0;
    int64_t since = time_ns();

    while (!atomic_load(&numbers->stop) || received < posted) {
        if (!post(numbers, &posted, received) || !take(numbers, &received, MILLISECONDS(5)))
            return;
        if (received != last || !atomic_load(&numbers->stop))
            since = time_ns();
        last = received;
        if (time_ns() - since > SECONDS(PATIENCE_S))
            return;
    }
}

static void *run(void *userdata)
{
    struct numbers *numbers = userdata;

    post_and_receive(numbers);
    atomic_store(&numbers->done, true);
    return NULL;
}

void numbers_start(struct numbers *numbers, const struct service *service, uint64_t window)
{
    odeon_ref echo;

    *numbers = (struct numbers){ .service = service,
                                 .window = window ? window : 64,
                                 .history = history_new() };
    numbers->client = service_connect(service, "numbers");
    numbers->type = message_id(numbers->client, odeon_message_of(probe_number));
    echo = spawn(numbers->client, "probe_echo", NULL, NULL, 0);
    numbers->relay = spawn(numbers->client, "probe_relay", NULL, &echo, sizeof(echo));
    numbers->port = port_open_or_fail(numbers->client, 1 << 16, 1 << 16, false);
    assert_int_equal(pthread_create(&numbers->thread, NULL, run, numbers), 0);
}

void numbers_wait(struct numbers *numbers, uint64_t more)
{
    uint64_t target = atomic_load(&numbers->received) + more;

    if (!wait_until(atomic_load(&numbers->received) >= target || atomic_load(&numbers->done)))
        fail_msg("the numbers stand still: %llu of %llu are back",
                 (unsigned long long)atomic_load(&numbers->received),
                 (unsigned long long)atomic_load(&numbers->posted));
}

void numbers_finish(struct numbers *numbers)
{
    struct history_verdict verdict;

    atomic_store(&numbers->stop, true);
    /* what it waits for ends: nothing that is lost */
    assert_int_equal(pthread_join(numbers->thread, NULL), 0);
    if (numbers->wrong[0])
        fail_msg("%s", numbers->wrong);
    if (!history_judge(numbers->history, &verdict))
        fail_msg("%llu numbers were posted, %llu have come back: %s",
                 (unsigned long long)verdict.sent, (unsigned long long)verdict.run, verdict.first);
    assert_int_equal(verdict.run, atomic_load(&numbers->received));
    numbers->history = history_free(numbers->history);
    odeon_port_close(numbers->port);
    odeon_client_disconnect(numbers->client);
}
