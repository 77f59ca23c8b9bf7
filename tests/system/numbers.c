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

static void __attribute__((format(printf, 2, 3))) wrong(struct numbers *numbers, const char *format, ...)
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
    int r = odeon_receive_wait(numbers->port, &delivery, timeout_ns);

    for (; r > 0; r = odeon_receive(numbers->port, &delivery)) {
        const struct probe_number *number = delivery.data;

        if (delivery.type != numbers->type || delivery.size != sizeof(*number)) {
            const struct odeon_refusal *refusal = delivery.data;

            wrong(numbers, "a delivery of type %u, %u bytes (a refusal's reason: %u) behind number %llu", delivery.type,
                  delivery.size, delivery.type == ODEON_MSG_REFUSAL ? (unsigned)refusal->reason : 0U,
                  (unsigned long long)*received);
            return false;
        }
        if (number->n != *received) {
            wrong(numbers, "number %llu came where %llu was next", (unsigned long long)number->n,
                  (unsigned long long)*received);
            return false;
        }
        ++*received;
    }
    odeon_release(numbers->port);
    atomic_store(&numbers->received, *received);
    if (r < 0 && r != -ETIMEDOUT)
        wrong(numbers, "receiving: %s", odeon_error_text());
    return r >= 0 || r == -ETIMEDOUT;
}

static void post_and_receive(struct numbers *numbers)
{
    uint64_t posted = 0, received = 0;

    while (!atomic_load(&numbers->stop) || received < posted) {
        while (posted - received < numbers->window && !atomic_load(&numbers->stop)) {
            struct probe_number number = { .n = posted };
            int r = odeon_post(numbers->port, numbers->relay, numbers->type, &number, sizeof(number));

            if (r == -EAGAIN)
                break;
            if (r < 0) {
                wrong(numbers, "posting: %s", odeon_error_text());
                return;
            }
            atomic_store(&numbers->posted, ++posted);
        }
        if (!take(numbers, &received, MILLISECONDS(5)))
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

    *numbers = (struct numbers){ .service = service, .window = window ? window : 64 };
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
        fail_msg("the numbers stand still: %llu of %llu are back", (unsigned long long)atomic_load(&numbers->received),
                 (unsigned long long)atomic_load(&numbers->posted));
}

void numbers_finish(struct numbers *numbers)
{
    uint64_t last = 0;
    int64_t since = time_ns();

    atomic_store(&numbers->stop, true);
    /* the thread ends by itself unless something is lost: then it waits for ever */
    while (!atomic_load(&numbers->done)) {
        uint64_t received = atomic_load(&numbers->received);

        if (received != last)
            since = time_ns();
        last = received;
        if (time_ns() - since > SECONDS(PATIENCE_S))
            fail_msg("lost: %llu numbers were posted, %llu have come back",
                     (unsigned long long)atomic_load(&numbers->posted), (unsigned long long)received);
        pause_briefly();
    }
    assert_int_equal(pthread_join(numbers->thread, NULL), 0);
    if (numbers->wrong[0])
        fail_msg("%s", numbers->wrong);
    assert_int_equal(atomic_load(&numbers->received), atomic_load(&numbers->posted));
    odeon_port_close(numbers->port);
    odeon_disconnect(numbers->client);
}
