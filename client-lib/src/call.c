/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: a correlated post, and waiting for its reply while keeping what else arrives. The port's
 * owning thread. */
#include "client-lib/src/post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"
#include "client-lib/src/post_with.h"
#include "client-lib/src/receive.h"
#include "client-lib/src/release.h"
#include "client-lib/src/round_trip.h"

/* Bytes that calls set aside for a client that never receives. */
#define KEPT_BYTES_MAX ODEON_BACKLOG_BYTES_DEFAULT
/* How often a call looks whether deliveries have been dropped. */
#define CALL_SLICE_NS 1000000000

/* Room for a copy, with its payload; -ENOBUFS, -ENOMEM. */
static int call_find_room(const struct odeon_port *port, uint32_t size, struct port_kept **ret)
{
    if (port->kept_bytes > KEPT_BYTES_MAX)
        return -ENOBUFS;
    *ret = malloc(sizeof(**ret) + size);
    return *ret ? 0 : -ENOMEM;
}

/* Copies a delivery aside, for odeon_port_receive() to return later. */
static void call_keep(struct odeon_port *port, struct port_kept *kept,
                      const struct odeon_delivery *delivery, bool is_outcome)
{
    *kept = (struct port_kept){ .delivery = *delivery, .is_outcome = is_outcome };
    kept->delivery.data = kept + 1;
    memcpy(kept + 1, delivery->data, delivery->size);
    STAILQ_INSERT_TAIL(&port->kept, kept, link);
    PORT_SET(port->kept_bytes, port->kept_bytes + sizeof(*kept) + delivery->size);
}

/* What is not the call's: 0: kept, or dropped, since nobody waits for it any more; -ENOBUFS,
 * -ENOMEM: it should have been kept and could not be. */
static int call_set_aside(struct odeon_port *port, struct odeon_delivery *delivery)
{
    bool is_outcome = port_is_of_deadline(delivery);
    struct port_kept *kept;
    int result;

    if (port_is_late_call(delivery))
        return 0;
    result = call_find_room(port, delivery->size, &kept); /* before its post has its outcome */
    if (result < 0)
        return result;
    if (port_is_wanted(port, delivery))
        call_keep(port, kept, delivery, is_outcome);
    else
        free(kept);
    return 0;
}

/* What a delivery is to the call: its outcome, or -EAGAIN for something else, which has been set
 * aside; or why that could not be. */
static int call_judge(struct odeon_port *port, uint64_t correlation,
                      struct odeon_delivery *delivery)
{
    int result;

    if (delivery->correlation == correlation && delivery->type == MESSAGE_TYPE_REFUSAL)
        result = ODEON_CALL_REFUSED;
    else if (delivery->correlation == correlation && delivery->flags & 1)
        result = ODEON_CALL_REPLY;
    else {
        result = call_set_aside(port, delivery);
        if (result < 0)
            return result;
        port_give_back(port);
        return -EAGAIN;
    }
    port_lend(port);
    return result;
}

/* Takes what has arrived: an outcome, -EAGAIN: the reply is not among it, or an error. */
static int call_look_for_reply(struct odeon_port *port, uint64_t correlation,
                               struct odeon_delivery *ret_reply)
{
    uint64_t before = port->delivery_taken;
    int result;

    while ((result = port_take(port, ret_reply)) > 0) {
        result = call_judge(port, correlation, ret_reply);
        if (result == -ENOBUFS || result == -ENOMEM)
            PORT_SET(port->delivery_taken, before); /* stays in the ring */
        if (result != -EAGAIN)
            return result;
        before = port->delivery_taken;
    }
    return result < 0 ? result : -EAGAIN;
}

/* How a wait without an end is given one: what was dropped since the call began may be its reply,
 * which nobody sends again; it may also lie behind what has been taken now, and come. */
static int call_wait_in_slices(struct odeon_port *port, int64_t *deadline_ns, uint64_t dropped)
{
    int result;

    if (*deadline_ns != DEADLINE_NEVER)
        return port_wait_delivery(port, *deadline_ns, false);
    result = port_wait_delivery(port, deadline_after(CALL_SLICE_NS), false);
    if (result != 0)
        return result;
    if (odeon_port_dropped(port) != dropped)
        *deadline_ns =
            deadline_after(port->client ? client_timeout_ns(port->client) : CALL_SLICE_NS);
    return -EAGAIN;
}

static int call_wait_for_reply(struct odeon_port *port, uint64_t correlation, int64_t deadline_ns,
                               uint64_t dropped, struct odeon_delivery *ret_reply)
{
    for (;;) {
        int result = call_look_for_reply(port, correlation, ret_reply);

        if (result == -EAGAIN) {
            result = call_wait_in_slices(port, &deadline_ns, dropped);
            if (result > 0 || result == -EAGAIN)
                continue;
            if (result == 0) {
                error_set_literal(-ETIMEDOUT, odeon_port_dropped(port) != dropped
                                                  ? "no reply came; deliveries were dropped since "
                                                    "the call began, and it may be one of them"
                                                  : "no reply came within the call's time");
                return ODEON_CALL_EXPIRED;
            }
        }
        if (result >= 0)
            return result;
        if (result == -ENOBUFS || result == -ENOMEM) {
            error_set(result,
                      "the call was given up: deliveries that wait for odeon_port_receive() "
                      "fill the memory that is "
                      "set aside for them");
            return ODEON_CALL_EXPIRED;
        }
        return ODEON_CALL_CLOSED; /* the text has been set by what closed it */
    }
}

static int call_post(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                     size_t size, int64_t timeout_ns, int64_t deadline_ns, uint64_t correlation,
                     const struct odeon_post_options *options)
{
    struct odeon_post_options o = *options;

    if (o.trace == 0)
        return port_post_until(port, to, type, POST_CORRELATED | (o.urgent ? POST_URGENT : 0u),
                               correlation, data, size, deadline_ns);
    o.correlation = correlation;
    o.wait_ns = timeout_ns == 0 ? 1 : timeout_ns; /* 0 would be a post, which says -EAGAIN */
    return post_with(port, to, type, data, size, &o);
}

static void call_count(struct odeon_port *port, int outcome, int64_t began_ns)
{
    if (outcome == ODEON_CALL_REPLY)
        round_trip_answered(port, began_ns);
    else if (outcome == ODEON_CALL_REFUSED)
        round_trip_refused(port);
    else if (outcome == ODEON_CALL_EXPIRED)
        round_trip_late(port);
}

static int call(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data, size_t size,
                int64_t timeout_ns, const struct odeon_post_options *options,
                struct odeon_delivery *ret_reply)
{
    int64_t began_ns, deadline_ns;
    uint64_t correlation, dropped;
    int result;

    if (!port || !ret_reply || (!data && size > 0))
        return error_set_literal(
            -EINVAL,
            "odeon_port_call: no port, no place for the reply, or a payload without address");
    result = port_check_alone(port);
    if (result < 0)
        return result;
    if (port->kept_bytes > KEPT_BYTES_MAX)
        return error_set_literal(-ENOBUFS, "deliveries that arrived during earlier calls wait: "
                                           "take them with odeon_port_receive() first");
    *ret_reply = (struct odeon_delivery){ 0 };
    correlation = PORT_CORRELATION_CALL | ++port->last_call;
    began_ns = monotonic_ns();
    deadline_ns = deadline_from(began_ns, timeout_ns);
    dropped = odeon_port_dropped(port);
    result = call_post(port, to, type, data, size, timeout_ns, deadline_ns, correlation, options);
    if (result < 0)
        return result;
    result = call_wait_for_reply(port, correlation, deadline_ns, dropped, ret_reply);
    call_count(port, result, began_ns);
    if (result != ODEON_CALL_REPLY && result != ODEON_CALL_REFUSED)
        *ret_reply = (struct odeon_delivery){ 0 };
    return result;
}

int odeon_port_call(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                    size_t size, int64_t timeout_ns, struct odeon_delivery *ret_reply)
{
    return call(port, to, type, data, size, timeout_ns, &(const struct odeon_post_options){ 0 },
                ret_reply);
}

int odeon_port_call_with(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, int64_t timeout_ns, const struct odeon_post_options *options,
                         struct odeon_delivery *ret_reply)
{
    struct odeon_post_options o;
    int result = post_options_take("odeon_port_call_with", options, &o);

    if (result < 0)
        return result;
    if (o.correlation || o.after_ns || o.wait_ns || o.within_ns)
        return error_set_literal(-EINVAL, "odeon_port_call_with: a call has its own id and its own "
                                          "time, and is sent now: of the options only urgent and "
                                          "trace can be set");
    return call(port, to, type, data, size, timeout_ns, &o, ret_reply);
}
