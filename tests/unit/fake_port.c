/* SPDX-License-Identifier: Apache-2.0 */
/* What is posted through a port of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

int odeon_port_post_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, const struct odeon_post_options *options)
{
    (void)port, (void)type, (void)data, (void)size;
    fake.to = to;
    fake.trace = options->trace;
    return fake.call_result;
}

int odeon_port_call_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, int64_t timeout_ns, const struct odeon_post_options *options,
                         struct odeon_delivery *ret_reply)
{
    static struct odeon_refusal refusal;

    (void)port, (void)type, (void)data, (void)size;
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
