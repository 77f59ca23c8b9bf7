/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the rate limiter: odeon-rate FRONT KEY COST N
 * Asks N times whether the key may have so many tokens, and prints the answers. Where the service
 * is, $ODEON_SOCKET says. Exit status: 0: all of them were answered; 1: one was not; 2: usage; 3:
 * no service, or no such front. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <odeon/client.h>

#include "rate.h"

static int fail(const char *what)
{
    fprintf(stderr, "odeon-rate: %s: %s\n", what, odeon_error_text());
    return 3;
}

static void print_answer(const struct rate_answer *answer)
{
    static const char *const texts[] = {
        [RATE_ALLOWED] = "allowed",           [RATE_LIMITED] = "limited",
        [RATE_NEVER] = "more than the burst", [RATE_NO_KEY] = "no key",
        [RATE_NO_ROOM] = "too many keys",     [RATE_BUSY] = "busy",
    };

    printf("%s, %" PRIu32 " left, wait %" PRIu64 " ms\n",
           answer->outcome <= RATE_BUSY ? texts[answer->outcome] : "?", answer->left,
           answer->wait_ms);
}

/* One call. 0, or 1: it had no answer. */
static int take(struct odeon_port *port, odeon_ref front, uint32_t take_type, uint32_t answer_type,
                const struct rate_take *message)
{
    const int64_t patience_ns = INT64_C(60) * 1000000000;
    struct odeon_delivery reply;
    struct rate_answer answer;
    int outcome =
        odeon_port_call(port, front, take_type, message, sizeof(*message), patience_ns, &reply);

    if (outcome == ODEON_CALL_REPLY && reply.type == answer_type && reply.size == sizeof(answer)) {
        memcpy(&answer, reply.data, sizeof(answer));
        print_answer(&answer);
    } else {
        printf("no answer: %s\n", odeon_outcome_name(outcome));
        outcome = ODEON_CALL_REFUSED;
    }
    odeon_port_release(port);
    return outcome != ODEON_CALL_REPLY;
}

static int ask(struct odeon_client *client, const char *front_name, const struct rate_take *message,
               unsigned long n)
{
    struct odeon_port *port = NULL;
    uint32_t take_type, answer_type;
    odeon_ref front;
    int code = 0;

    if (odeon_actor_find(client, front_name, &front) < 0)
        return fail(front_name);
    if (odeon_message_id(client, odeon_message_of(rate_take), &take_type) < 0 ||
        odeon_message_id(client, odeon_message_of(rate_answer), &answer_type) < 0)
        return fail("message types");
    if (odeon_port_open(client, NULL, &port) < 0)
        return fail("port");
    for (unsigned long i = 0; i < n; i++)
        code |= take(port, front, take_type, answer_type, message);
    return code; /* disconnecting closes the port */
}

int main(int argc, char **argv)
{
    struct odeon_client *client = NULL;
    struct rate_take message = { 0 };
    int code;

    if (argc != 5 || strlen(argv[2]) >= sizeof(message.key)) {
        fputs("usage: odeon-rate FRONT KEY COST N\n", stderr);
        return 2;
    }
    strcpy(message.key, argv[2]);
    message.cost = (uint32_t)strtoul(argv[3], NULL, 10);
    if (odeon_client_connect(NULL, "odeon-rate", &client) < 0)
        return fail("connect");
    code = ask(client, argv[1], &message, strtoul(argv[4], NULL, 10));
    odeon_client_disconnect(client);
    return code;
}
