/* SPDX-License-Identifier: Apache-2.0 */
/* Posts with options: what is urgent, correlated, traced, has a deadline, waits for room or is sent
 * later, in one. Who posts. */
#include "client-lib/src/post_with.h"

#include <errno.h>
#include <string.h>

#include "client-lib/src/awaited.h"
#include "client-lib/src/error.h"
#include "client-lib/src/options.h"
#include "client-lib/src/port_lock.h"
#include "client-lib/src/post.h"

enum { OPTIONS_LEAST = offsetof(struct odeon_post_options, trace) };

/* The word of PREFIX_AFTER. */
static uint64_t post_with_word(uint64_t delay_ns)
{
    bool by_boot_time = delay_ns & ODEON_BOOT_TIME_BIT_;
    struct timespec now;

    clock_gettime(by_boot_time ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec +
            (delay_ns & ~ODEON_BOOT_TIME_BIT_)) |
           (by_boot_time ? ENVELOPE_AFTER_BOOT : 0);
}

static int post_with_check_after(const struct odeon_port *port, uint64_t delay_ns)
{
    if ((delay_ns & ~ODEON_BOOT_TIME_BIT_) > ODEON_DELAY_MAX_NS)
        return error_set_literal(-ERANGE, "a message is to be sent in more than a hundred years");
    if (!(port->prefix & PREFIX_AFTER))
        return error_set_literal(-ENOSYS, "the service at which this port was opened sends nothing "
                                          "later: it is older than odeon_port_post_after()");
    return 0;
}

static int post_with_check_within(const struct odeon_post_options *o)
{
    if (o->within_ns < 0)
        return error_set_literal(-EINVAL, "a deadline is in the past: within_ns is below 0");
    if (o->correlation == 0)
        return error_set_literal(-EINVAL, "a deadline without a correlation id: nobody could tell "
                                          "whose outcome it is");
    if ((o->after_ns & ~ODEON_BOOT_TIME_BIT_) >= (uint64_t)o->within_ns)
        return error_set_literal(-EINVAL, "a message is to be sent when its deadline has passed");
    return 0;
}

int post_options_take(const char *call, const struct odeon_post_options *options,
                      struct odeon_post_options *ret)
{
    int result = options_take(call, options, OPTIONS_LEAST, sizeof(*ret), ret);

    if (result < 0)
        return result;
    if (ret->urgent > 1)
        return error_set(-EINVAL, "%s: options.urgent is %u, neither 0 nor 1", call, ret->urgent);
    if (ret->correlation & PORT_CORRELATION_CALL)
        return error_set_literal(-EINVAL, "a correlation id does not have its highest bit set: "
                                          "those are odeon_port_call()'s");
    if (ret->urgent && ret->after_ns)
        return error_set_literal(-EINVAL, "a message is urgent or sent later, not both");
    return 0;
}

static int post_with_check(const struct odeon_port *port, const struct odeon_post_options *o)
{
    int result = o->after_ns ? post_with_check_after(port, o->after_ns) : 0;

    if (result == 0 && o->trace && !(port->prefix & PREFIX_TRACE))
        result = error_set_literal(-ENOSYS, "the service at which this port was opened takes no "
                                            "trace's id: it is too old for that");
    if (result == 0 && o->within_ns != 0)
        result = post_with_check_within(o);
    return result;
}

/* As port_reserve(), with all that goes before the payload. */
static int post_with_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, size_t size,
                             const struct odeon_post_options *o, unsigned how, void **ret_payload)
{
    uint64_t id = o->correlation;
    int result = o->within_ns ? awaited_prepare(port, &id) : 0;

    if (result == 0)
        result = port_reserve(port, to, type, how, id, size, ret_payload);
    if (result < 0)
        return result;
    if (o->within_ns) /* awaited.A3 */
        awaited_begin(port, id, to, type, o->correlation,
                      (int64_t)(o->after_ns & ~ODEON_BOOT_TIME_BIT_), o->within_ns);
    if (o->trace)
        ((uint64_t *)*ret_payload)[o->after_ns ? -2 : -1] = o->trace;
    if (o->after_ns) /* the last of the optional words */
        ((uint64_t *)*ret_payload)[-1] = post_with_word(o->after_ns);
    return 0;
}

static unsigned post_with_how(const struct odeon_post_options *o)
{
    return (o->urgent ? POST_URGENT : 0u) | (o->correlation ? POST_CORRELATED : 0u) |
           (o->trace ? POST_TRACED : 0u) | (o->after_ns ? POST_AFTER : 0u);
}

/* Posts once. */
static int post_with_try(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, const struct odeon_post_options *o)
{
    void *payload = NULL;
    int result;

    port_lock(port);
    result = post_with_reserve(port, to, type, size, o, post_with_how(o), &payload);
    if (result == 0) {
        if (size > 0)
            memcpy(payload, data, size);
        port_publish(port);
    } else if (result != -EAGAIN || o->wait_ns == 0) {
        result = port_explain_full(port, result);
    }
    port_unlock(port);
    return result;
}

int post_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size,
              const struct odeon_post_options *o)
{
    uint64_t bytes = envelope_size(size + envelope_prefix_bytes(post_with_how(o) >> 8));
    int64_t deadline_ns = 0;
    int result = post_with_check(port, o);

    while (result == 0) {
        result = post_with_try(port, to, type, data, size, o);
        if (result != -EAGAIN || o->wait_ns == 0)
            return result;
        if (deadline_ns == 0) /* the clock is read only when it is needed */
            deadline_ns = deadline_after(o->wait_ns);
        result = port_wait_for_room(port, bytes, deadline_ns);
    }
    return result;
}

int odeon_port_post_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, const struct odeon_post_options *options)
{
    struct odeon_post_options o;
    int result = port_check_data(port, data, size);

    if (result == 0)
        result = post_options_take("odeon_port_post_with", options, &o);
    return result < 0 ? result : post_with(port, to, type, data, size, &o);
}

int odeon_port_post_after(struct odeon_port *port, odeon_ref to, uint32_t type,
                          uint64_t correlation, const void *data, size_t size, uint64_t delay_ns)
{
    const struct odeon_post_options options = { .struct_size = sizeof(options),
                                                .correlation = correlation,
                                                .after_ns = delay_ns ? delay_ns : 1 };

    return odeon_port_post_with(port, to, type, data, size, &options);
}

void *odeon_port_reserve_with(struct odeon_port *port, odeon_ref to, uint32_t type, size_t size,
                              const struct odeon_post_options *options)
{
    struct odeon_post_options o;
    void *payload = NULL;
    int result = port_check_alone(port);

    if (result == 0)
        result = post_options_take("odeon_port_reserve_with", options, &o);
    if (result == 0 && o.wait_ns != 0)
        result = error_set_literal(-EINVAL, "odeon_port_reserve_with: options.wait_ns is not 0: "
                                            "waiting would publish what is reserved");
    if (result == 0)
        result = post_with_check(port, &o);
    if (result == 0)
        result = post_with_reserve(port, to, type, size, &o, post_with_how(&o), &payload);
    if (result < 0)
        errno = -port_explain_full(port, result);
    return payload;
}
