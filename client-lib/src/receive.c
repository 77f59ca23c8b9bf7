/* SPDX-License-Identifier: Apache-2.0 */
/* The delivery ring: taking, waiting. The receiving thread alone; port.h has the
 * invariants (port.L2 to port.L5). */
#include "client-lib/src/receive.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/awaited.h"
#include "client-lib/src/error.h"
#include "client-lib/src/port_distrust.h"
#include "client-lib/src/port_explain.h"
#include "client-lib/src/release.h"
#include "client-lib/src/request.h"

int port_look_for_delivery(struct odeon_port *port)
{
    uint64_t tail;

    if (port->delivery_taken != port->delivery_tail)
        return 1;
    /* port_layout.P2 for the other direction: read of the records that the executor's release of
     * its tail
     *    published */
    tail = atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire);
    if (tail == port->delivery_tail)
        return 0;
    if (tail - port->delivery_released > port->delivery_size ||
        tail - port->delivery_tail > port->delivery_size || (tail & 7) != 0)
        return port_distrust_tail(port);
    port->delivery_tail = tail;
    port->seen_ns = 0;
    return 1;
}

int port_take(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    const uint8_t *record = port->delivery + (port->delivery_taken & (port->delivery_size - 1));
    uint64_t left;
    struct envelope envelope;
    int result = port_look_for_delivery(port);

    if (result <= 0)
        return result;
    left = port->delivery_tail - port->delivery_taken;
    if (left - sizeof(envelope) > port->delivery_size) /* less than a header, or behind the tail */
        return port_distrust_record(port, record, "rule port.L5 is broken: a delivery is cut off");
    memcpy(&envelope, record, sizeof(envelope));
    if (envelope.type == MESSAGE_TYPE_NONE || !envelope_prefix_fits(&envelope) ||
        envelope_record_size(&envelope) > left)
        return port_distrust_record(port, record,
                                    "rule port.L5 is broken: a delivery's header is impossible");
    *ret_delivery = (struct odeon_delivery){
        .from = envelope.from,
        .type = envelope.type,
        .size = envelope_payload_size(&envelope),
        .flags = envelope.flags & ENVELOPE_REPLY ? 1 : 0,
        /* by the copy of the header: the one in the ring may be another by now */
        .data = envelope_payload_behind((const struct envelope *)record, envelope.prefix),
    };
    if (envelope.prefix & PREFIX_CORRELATION) /* the first word */
        memcpy(&ret_delivery->correlation,
               envelope_payload_behind((const struct envelope *)record, 0),
               sizeof(ret_delivery->correlation));
    if (envelope.type == MESSAGE_TYPE_REFUSAL) {
        if (ret_delivery->size < sizeof(struct refusal))
            return port_distrust_record(port, record,
                                        "rule port.L5 is broken: a refusal is cut off");
        memcpy(&ret_delivery->correlation,
               &((const struct refusal *)ret_delivery->data)->correlation, sizeof(uint64_t));
    }
    PORT_SET(port->delivery_taken, port->delivery_taken + envelope_record_size(&envelope));
    return 1;
}

/* Its id is one of the library's own. */
static bool receive_is_ours(const struct odeon_delivery *delivery)
{
    return delivery->correlation & PORT_CORRELATION_CALL &&
           (delivery->flags & 1 || delivery->type == MESSAGE_TYPE_REFUSAL);
}

bool port_is_late_call(const struct odeon_delivery *delivery)
{
    return receive_is_ours(delivery) && !(delivery->correlation & PORT_CORRELATION_AWAITED);
}

bool port_is_of_deadline(const struct odeon_delivery *delivery)
{
    return receive_is_ours(delivery) && delivery->correlation & PORT_CORRELATION_AWAITED;
}

bool port_is_wanted(struct odeon_port *port, struct odeon_delivery *delivery)
{
    return !receive_is_ours(delivery) || awaited_settle(port, delivery);
}

static struct port_kept *receive_take_kept(struct odeon_port *port)
{
    struct port_kept *kept = STAILQ_FIRST(&port->kept);

    STAILQ_REMOVE_HEAD(&port->kept, link);
    port_kept_return(port, kept);
    PORT_SET(port->kept_bytes, port->kept_bytes - sizeof(*kept) - kept->delivery.size);
    return kept;
}

/* The outcome of a post whose deadline has passed. Only asked where all of the ring that is known
 * of has been taken; what has come meanwhile goes first (awaited.A4). */
static bool __attribute__((noinline, cold))
receive_expired(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    if (awaited_expire(port, ret_delivery))
        return true;
    return awaited_is_due(port) && port_look_for_delivery(port) == 0 &&
           awaited_expire(port, ret_delivery);
}

static inline bool receive_awaits(const struct odeon_port *port)
{
    return atomic_load_explicit(&port->awaiting, memory_order_relaxed) != NULL;
}

/* As odeon_port_receive(), but 0 also for a closed port. */
static int receive(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    int result;

    if (!STAILQ_EMPTY(&port->kept)) { /* port.L4 */
        *ret_delivery = receive_take_kept(port)->delivery;
        return 1;
    }
    for (;;) {
        if (port->delivery_taken == port->delivery_tail && receive_awaits(port) &&
            receive_expired(port, ret_delivery))
            return 1;
        result = port_take(port, ret_delivery);
        if (result <= 0)
            return result;
        if (port_is_wanted(port, ret_delivery)) {
            port_lend(port);
            return 1;
        }
        port_give_back(port);
    }
}

static int receive_check_receive(const struct odeon_port *port,
                                 const struct odeon_delivery *ret_delivery)
{
    if (!port || !ret_delivery)
        return error_set_literal(-EINVAL, port ? "no place for the delivery" : "no port was given");
    return port_forked(port) ? port_explain_fork() : 0;
}

/* `result`: what who receives is told, which is the outcome of posts where it is an end. */
static inline int receive_tell(struct odeon_port *port, int result)
{
    if (result < 0 && !port->ended)
        awaited_end(port);
    return result;
}

int odeon_port_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    int result = receive_check_receive(port, ret_delivery);

    if (result < 0)
        return result;
    result = receive(port, ret_delivery);
    if (result == 0 && !port_open(port)) {
        /* what was delivered before the end is received before the end: look once more, after
         * having seen it */
        result = receive(port, ret_delivery);
        if (result == 0)
            result = port_explain(port);
    }
    return receive_tell(port, result);
}

static int receive_spin_for_delivery(struct odeon_port *port)
{
    int64_t end_ns = monotonic_ns() + WAIT_SPIN_NS;
    int result;

    do {
        for (int i = 0; i < 16; i++)
            cpu_relax();
        result = port_look_for_delivery(port);
    } while (result == 0 && monotonic_ns() < end_ns);
    return result;
}

/* Sleeps once, until the executor has delivered something, the deadline, or the slice's end;
 * `outcomes`: or until a post has a deadline before that. */
static int receive_sleep_for_delivery(struct odeon_port *port, int64_t deadline_ns,
                                      int64_t slice_ns, bool outcomes)
{
    uint32_t seen = atomic_load_explicit(&port->theirs->delivery_futex, memory_order_acquire);
    int result;

    /* port_layout.P4: set the word, full barrier, look again; the executor publishes its tail, full
     *     barrier,
     * looks at the word and then counts delivery_futex up.  `seen` was read before: a count that
     * goes up from here on lets the wait return at once. So it is with `sleeps_until` and
     * awaited_begin() in another thread, which counts nothing. */
    atomic_store_explicit(&port->mine->delivery_wait,
                          port_wait_word(&port->delivery_sequence, PORT_WAIT_FUTEX),
                          memory_order_relaxed);
    if (outcomes)
        atomic_store_explicit(&port->sleeps_until, deadline_ns, memory_order_relaxed);
    full_barrier();
    result = port_look_for_delivery(port);
    if (result == 0 && port_open(port) && !(outcomes && awaited_next_ns(port) < deadline_ns))
        futex_wait_shared(&port->theirs->delivery_futex, seen, deadline_ns, slice_ns);
    atomic_store_explicit(&port->mine->delivery_wait, PORT_WAIT_NONE, memory_order_relaxed);
    atomic_store_explicit(&port->sleeps_until, 0, memory_order_relaxed);
    return result == 0 ? port_look_for_delivery(port) : result;
}

int port_wait_delivery(struct odeon_port *port, int64_t deadline_ns, bool outcomes)
{
    int64_t slice_ns = WAIT_SLICE_FIRST_NS, until_ns = deadline_ns;
    int result = receive_spin_for_delivery(port);

    while (result == 0) {
        if (!port_open(port))
            return (result = port_look_for_delivery(port)) == 0 ? port_explain(port) : result;
        if (outcomes && awaited_next_ns(port) < until_ns)
            until_ns = awaited_next_ns(port);
        if (until_ns != DEADLINE_NEVER && monotonic_ns() >= until_ns)
            return 0;
        result = receive_sleep_for_delivery(port, until_ns, slice_ns, outcomes);
        if (result == 0 && port->client)
            client_poll_events(port->client); /* is the service still there? */
        slice_ns = slice_ns * 2 > WAIT_SLICE_MAX_NS ? WAIT_SLICE_MAX_NS : slice_ns * 2;
    }
    return result;
}

int odeon_port_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery,
                            int64_t timeout_ns)
{
    int result = odeon_port_receive(port, ret_delivery);
    int64_t deadline_ns;

    if (result != 0 || timeout_ns == 0)
        return result;
    deadline_ns = deadline_after(timeout_ns);
    do {
        result = port_wait_delivery(port, deadline_ns, true);
        if (result >= 0)
            result = odeon_port_receive(port, ret_delivery); /* 0: it was a late reply */
        else
            result = receive_tell(port, result);
    } while (result == 0 && (deadline_ns == DEADLINE_NEVER || monotonic_ns() < deadline_ns));
    return result;
}

int odeon_port_receive_many(struct odeon_port *port, struct odeon_delivery *ret_deliveries,
                            size_t n)
{
    int result, got = 1;

    if (n == 0)
        return error_set_literal(-EINVAL, "odeon_port_receive_many: no place for a delivery");
    result = odeon_port_receive(port, ret_deliveries);
    if (result <= 0)
        return result;
    /* what is wrong with the one behind them is said when it is asked for */
    while ((size_t)got < n && got < INT_MAX && receive(port, &ret_deliveries[got]) > 0)
        got++;
    return got;
}

/* Outcomes that calls have copied aside. How many they were. */
static size_t receive_forget_kept(struct odeon_port *port, uint64_t correlation)
{
    struct port_kept *kept = STAILQ_FIRST(&port->kept), *next;
    size_t n = 0;

    for (; kept; kept = next) {
        next = STAILQ_NEXT(kept, link);
        if (!kept->is_outcome || kept->delivery.correlation != correlation)
            continue;
        STAILQ_REMOVE(&port->kept, kept, port_kept, link);
        PORT_SET(port->kept_bytes, port->kept_bytes - sizeof(*kept) - kept->delivery.size);
        free(kept);
        n++;
    }
    return n;
}

int odeon_port_forget(struct odeon_port *port, uint64_t correlation)
{
    if (!port)
        return error_set_literal(-EINVAL, "odeon_port_forget: no port was given");
    if (port_forked(port))
        return port_explain_fork();
    return (int)(awaited_forget(port, correlation) + receive_forget_kept(port, correlation));
}

int64_t odeon_port_timeout(struct odeon_port *port)
{
    int64_t next_ns, left_ns;

    if (!port || port_forked(port))
        return -1;
    next_ns = awaited_next_ns(port);
    if (next_ns == DEADLINE_NEVER)
        return -1;
    left_ns = next_ns - monotonic_ns();
    return left_ns > 0 ? left_ns : 0;
}
