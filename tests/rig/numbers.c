/* SPDX-License-Identifier: Apache-2.0 */
/* rig-numbers: a client that posts consecutive numbers through a relay to an echo, and counts what
 * comes back otherwise than once and in order. It is started before a disturbance and ended after
 * it; it is never started again.
 *
 *   rig-numbers PROGRESS [WINDOW [PATIENCE]]
 *
 * PROGRESS is a file that holds "POSTED RECEIVED" at any time, so that a test can tell that numbers
 * flow. At most WINDOW (256) are under way. SIGTERM: posts no more, waits for all that is under
 * way, prints one line
 *
 *   posted P, received R, missing M, repeated T, refused F
 *
 * and, as the checker of histories judges it (tests/history), ends with 0 if all are back, each
 * once, in order. What does not come within PATIENCE (300) seconds after the last arrival counts as
 * missing. Needs the plugin `probe`. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <odeon/client.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/history/history.h"
#include "tests/run/patience.h"
#include "tests/system/probe.h"

enum { LOOK_MS = 20, WINDOW_DEFAULT = 256 };

static volatile sig_atomic_t asked_to_end;

struct numbers {
    struct odeon_port *port;
    odeon_ref relay;
    uint32_t type;
    int progress_fd;
    int64_t patience_ns;
    uint64_t window, posted, received, refused;
    struct history *history;
};

static void on_term(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int complain(const char *what)
{
    fprintf(stderr, "rig-numbers: %s: %s\n", what, odeon_error_text());
    return -1;
}

static int begin(struct numbers *numbers)
{
    struct odeon_client *client;
    odeon_ref echo;

    if (odeon_client_connect(NULL, "rig-numbers", &client) < 0)
        return complain("connecting");
    if (odeon_message_id(client, odeon_message_of(probe_number), &numbers->type) < 0)
        return complain("message type");
    if (odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo) < 0 ||
        odeon_actor_spawn(client, "probe_relay", NULL, &echo, sizeof(echo), &numbers->relay) < 0)
        return complain("spawning");
    if (odeon_port_open(client, NULL, &numbers->port) < 0)
        return complain("opening a port");
    return 0;
}

/* One write of the same length: a reader never sees half of it. */
static void show_progress(const struct numbers *numbers)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "%020" PRIu64 " %020" PRIu64 "\n", numbers->posted,
                     numbers->received);

    if (pwrite(numbers->progress_fd, line, (size_t)n, 0) != n)
        perror("rig-numbers: progress");
}

static void take(struct numbers *numbers, const struct odeon_delivery *delivery)
{
    const struct probe_number *number = delivery->data;

    if (delivery->type != numbers->type || delivery->size != sizeof(*number)) {
        numbers->refused++;
        return;
    }
    numbers->received++;
    history_note(numbers->history, HISTORY_RUN, numbers->relay, numbers->relay, number->n);
}

/* How many were taken; negative: the port is at its end. */
static int take_all(struct numbers *numbers)
{
    struct odeon_delivery delivery;
    int n = 0, r = odeon_port_receive_wait(numbers->port, &delivery, (int64_t)LOOK_MS * 1000000);

    for (; r > 0; r = odeon_port_receive(numbers->port, &delivery)) {
        take(numbers, &delivery);
        n++;
    }
    odeon_port_release(numbers->port);
    if (r < 0 && r != -ETIMEDOUT)
        return complain("receiving");
    return n;
}

static int post_some(struct numbers *numbers)
{
    while (!asked_to_end && numbers->posted - numbers->received < numbers->window) {
        struct probe_number number = { .n = numbers->posted + 1 };
        int r;

        history_note(numbers->history, HISTORY_BEGUN, numbers->relay, numbers->relay, number.n);
        r = odeon_port_post(numbers->port, numbers->relay, numbers->type, &number, sizeof(number));

        if (r == -EAGAIN)
            return 0;
        if (r < 0)
            return complain("posting");
        history_note(numbers->history, HISTORY_SENT, numbers->relay, numbers->relay, number.n);
        numbers->posted++;
    }
    return 0;
}

static void run(struct numbers *numbers)
{
    int64_t last_ns = now_ns(), shown_ns = 0;

    while (!asked_to_end || numbers->received < numbers->posted) {
        int64_t now;
        int n = post_some(numbers) < 0 ? -1 : take_all(numbers);

        now = now_ns();
        if (n < 0)
            return;
        if (n > 0 || !asked_to_end)
            last_ns = now;
        else if (now - last_ns > numbers->patience_ns)
            return;
        if (now - shown_ns > (int64_t)LOOK_MS * 1000000) {
            show_progress(numbers);
            shown_ns = now;
        }
    }
}

int main(int argc, char **argv)
{
    struct numbers numbers = { .window = WINDOW_DEFAULT,
                               .patience_ns = (int64_t)PATIENCE_S * 1000000000,
                               .history = history_new() };
    struct history_verdict verdict;
    struct sigaction action = { .sa_handler = on_term };

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: rig-numbers PROGRESS [WINDOW [PATIENCE]]\n");
        return 2;
    }
    if (argc > 2)
        numbers.window = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        numbers.patience_ns = strtoll(argv[3], NULL, 10) * 1000000000;
    sigaction(SIGTERM, &action, NULL);
    numbers.progress_fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (numbers.progress_fd < 0) {
        perror(argv[1]);
        return 2;
    }
    if (begin(&numbers) < 0)
        return 1;
    run(&numbers);
    show_progress(&numbers);
    bool right = history_judge(numbers.history, &verdict);
    printf("posted %" PRIu64 ", received %" PRIu64 ", missing %" PRIu64 ", repeated %" PRIu64
           ", refused %" PRIu64 "\n",
           numbers.posted, numbers.received, verdict.wrong[HISTORY_LOST],
           verdict.wrong[HISTORY_DOUBLED], numbers.refused);
    if (!right)
        fprintf(stderr, "rig-numbers: %s\n", verdict.first);
    history_free(numbers.history);
    return numbers.posted > 0 && right && numbers.refused == 0 ? 0 : 1;
}
