/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, and what goes through them, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options,
                    struct odeon_port **ret_port)
{
    (void)client, (void)options;
    if (fake.call_result < 0)
        return fake.call_result;
    *ret_port = fake_alloc(1);
    return 0;
}

struct odeon_port *odeon_port_close(struct odeon_port *port)
{
    odeon_result_free(port);
    return NULL;
}

odeon_ref odeon_port_ref(const struct odeon_port *port)
{
    (void)port;
    return actor_ref_make(3, 1);
}

int odeon_port_register(struct odeon_port *port, const char *name)
{
    (void)port;
    if (strcmp(name, "total") == 0)
        return -EEXIST;
    snprintf(fake.port_name, sizeof(fake.port_name), "%s", name);
    return 0;
}

int odeon_port_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    (void)port;
    if (fake.n_deliveries == 0)
        return fake.receive_result;
    fake.n_deliveries--;
    *ret_delivery = (struct odeon_delivery){ .from = actor_ref_make(7, 5),
                                             .type = fake.delivery_type,
                                             .size = (uint32_t)fake.delivery_size,
                                             .data = fake.delivery };
    return 1;
}

/* As if somebody pressed Ctrl-C, when nothing is to come. */
int odeon_port_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery,
                            int64_t timeout_ns)
{
    (void)timeout_ns;
    if (fake.n_deliveries == 0 && fake.receive_result == 0)
        raise(fake.signal);
    return odeon_port_receive(port, ret_delivery);
}

void odeon_port_release(struct odeon_port *port)
{
    (void)port;
}

uint64_t odeon_port_dropped(const struct odeon_port *port)
{
    (void)port;
    return fake.dropped;
}

int odeon_port_post_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, const struct odeon_post_options *options)
{
    (void)port, (void)data, (void)size;
    fake.to = to;
    fake.type = type;
    fake.trace = options->trace;
    return fake.call_result;
}

int odeon_port_call_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, int64_t timeout_ns, const struct odeon_post_options *options,
                         struct odeon_delivery *ret_reply)
{
    static struct odeon_refusal refusal;

    (void)port, (void)data, (void)size;
    fake.type = type;
    fake.call_timeout_ns = timeout_ns;
    fake.trace = options->trace;
    refusal = (struct odeon_refusal){ .to = to, .reason = ODEON_REASON_QUEUE_FULL };
    *ret_reply = (struct odeon_delivery){
        .from = to, .type = 40, .size = sizeof(fake.answer), .data = &fake.answer
    };
    if (fake.outcome == ODEON_CALL_REFUSED)
        ret_reply->data = &refusal;
    return fake.outcome;
}
