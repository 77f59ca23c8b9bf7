/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the counter: odeon-counter SOCKET PLUGIN NUMBER...
 * Makes a counter, sends it the numbers, asks for the sum, prints it and stops the counter. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <odeon/admin.h>

#include "counter.h"

static int fail(const char *what)
{
    fprintf(stderr, "odeon-counter: %s: %s\n", what, odeon_error_text());
    return 1;
}

/* A new counter; the plugin is loaded when the service does not know the type yet. */
static int make_counter(struct odeon_client *client, const char *plugin, odeon_ref *ret_counter)
{
    int r = odeon_actor_spawn(client, "counter", NULL, NULL, 0, ret_counter);
    if (r != -ENOENT)
        return r;
    r = odeon_plugin_load(client, plugin);
    return r < 0 ? r : odeon_actor_spawn(client, "counter", NULL, NULL, 0, ret_counter);
}

/* A post that was taken may still be refused, by a full queue for one. Its refusal is a delivery,
 * which comes before the answer of a call that was made later. */
static int look_for_refusals(struct odeon_port *port)
{
    struct odeon_delivery delivery;
    struct odeon_refusal refusal;
    int r;
    while ((r = odeon_port_receive(port, &delivery)) == 1) {
        if (delivery.type != ODEON_MSG_REFUSAL)
            continue;
        memcpy(&refusal, delivery.data, sizeof(refusal));
        fprintf(stderr, "odeon-counter: refused: %s\n", odeon_reason_name(refusal.reason));
        return 1;
    }
    return r < 0 ? fail("receive") : 0;
}

/* Posts the numbers, then calls: what one port sends to one actor arrives in order, so the sum
 * holds all of them, if none was refused. */
static int add_up(struct odeon_client *client, struct odeon_port *port, odeon_ref counter,
                  char **numbers)
{
    const int64_t patience_ns = 10000000000;
    uint32_t add, get, value;
    if (odeon_message_id(client, odeon_message_of(counter_add), &add) < 0 ||
        odeon_message_id(client, odeon_message_of(counter_get), &get) < 0 ||
        odeon_message_id(client, odeon_message_of(counter_value), &value) < 0)
        return fail("message types");

    for (; *numbers != NULL; numbers++) {
        const struct counter_add message = { .amount = strtoll(*numbers, NULL, 10), .weight = 1 };
        if (odeon_port_post_wait(port, counter, add, &message, sizeof(message), patience_ns) < 0)
            return fail("post");
    }

    struct odeon_delivery reply;
    int outcome = odeon_port_call(port, counter, get, NULL, 0, patience_ns, &reply);
    if (look_for_refusals(port))
        return 1;
    if (outcome != ODEON_CALL_REPLY || reply.type != value ||
        reply.size != sizeof(struct counter_value)) {
        fprintf(stderr, "odeon-counter: no answer: %s\n", odeon_outcome_name(outcome));
        return 1;
    }
    struct counter_value sum;
    memcpy(&sum, reply.data, sizeof(sum));
    odeon_port_release(port);
    printf("%" PRId64 "\n", sum.total);
    return 0;
}

/* It would outlive its client. While its queue is full nothing is sent to it, a stop neither. */
static int stop_counter(struct odeon_client *client, odeon_ref counter)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    int r = odeon_actor_stop(client, counter, ODEON_DELETE);
    for (int tries = 10000; r == -EAGAIN && tries > 0; tries--) {
        nanosleep(&pause, NULL);
        r = odeon_actor_stop(client, counter, ODEON_DELETE);
    }
    return r;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: odeon-counter SOCKET PLUGIN NUMBER...\n", stderr);
        return 2;
    }
    struct odeon_client *client = NULL;
    struct odeon_port *port = NULL;
    odeon_ref counter;
    int code;
    if (odeon_client_connect(argv[1], "odeon-counter", &client) < 0) {
        fail("connect");
        return 3;
    }
    if (make_counter(client, argv[2], &counter) < 0)
        code = fail("counter");
    else {
        code = odeon_port_open(client, NULL, &port) < 0 ? fail("port")
                                                        : add_up(client, port, counter, argv + 3);
        if (stop_counter(client, counter) < 0)
            code = fail("stop");
    }
    odeon_client_disconnect(client); /* closes the port, too */
    return code;
}
