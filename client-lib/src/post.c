/* SPDX-License-Identifier: Apache-2.0 */
/* The submission ring: reserving, committing.  Who posts.
 *
 * odeon_port_post() costs: two looks whether the port is open, one comparison for room, the copy,
 * one release store, one full barrier and one look at need_wakeup. No allocation; no system call
 * unless the executor asked for the doorbell. */
#include "client-lib/src/post.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client-lib/src/error.h"
#include "client-lib/src/port_distrust.h"
#include "client-lib/src/port_explain.h"
#include "client-lib/src/port_lock.h"
#include "client-lib/src/request.h"

enum {
    /* this side does not know the receiver's actor type: the executor finds the behaviour */
    BEHAVIOUR_UNKNOWN = 255,
    POST_LOOK_NS = 10000000, /* between two looks for events */
    POST_TAKE_TURN = INT_MIN /* no error: several threads post through the port */
};

/* Reads the executor's cursor again. Acquire: read of what the executor released after it had
 * copied the records (port_layout.P1), so the bytes in front of it may be overwritten. */
static int post_refresh_head(struct odeon_port *port)
{
    uint64_t head = atomic_load_explicit(&port->theirs->submission_head, memory_order_acquire);

    /* port.L5: between what it was and what is published */
    if (head - port->submission_head > port->submission_published - port->submission_head)
        return port_distrust_head(port);
    port->submission_head = head;
    return 0;
}

/* 0: there is room for `bytes`; -EAGAIN without a text: who waits for room has not failed. */
static inline int post_find_room(struct odeon_port *port, uint64_t bytes)
{
    int result;

    if (port->submission_tail + bytes - port->submission_head <= port->submission_size)
        return 0;
    result = post_refresh_head(port);
    if (result < 0)
        return result;
    if (port->submission_tail + bytes - port->submission_head <= port->submission_size)
        return 0;
    return -EAGAIN;
}

static int __attribute__((cold))
post_explain_arguments(const struct odeon_port *port, uint32_t actors_max, odeon_ref to,
                       uint32_t type, size_t size)
{
    if (actors_max == 0)
        return POST_TAKE_TURN;
    if (type == 0 || type > UINT16_MAX)
        return error_set(-EINVAL, "%u is no message type: use the id from odeon_message_id()",
                         type);
    if (size > port->payload_max)
        return error_set(-EMSGSIZE, "a payload of %zu bytes: at most %u can be posted", size,
                         port->payload_max);
    if (actor_ref_generation(to) == 0 || actor_ref_slot(to) >= actors_max)
        return error_set(-ESRCH, "no actor can have the reference %#llx", (unsigned long long)to);
    return error_set(-EMSGSIZE,
                     "a payload of %zu bytes does not fit into the port's ring of %llu bytes: open "
                     "the port with a larger one",
                     size, (unsigned long long)port->submission_size);
}

/* `actors_max`: 0 (port.L6) is refused as a receiver beyond it would be, so that asking costs
 * nothing. */
static inline __attribute__((always_inline)) int
post_reserve(struct odeon_port *port, uint32_t actors_max, odeon_ref to, uint32_t type,
             unsigned how, uint64_t correlation, size_t size, void **ret_payload)
{
    uint64_t length = size + envelope_prefix_bytes(how >> 8);
    uint64_t bytes = envelope_size(length);
    struct envelope *record;
    int result;

    if (port_forked(port))
        return port_explain_fork();
    if (!port_open(port))
        return port_explain(port);
    /* `size` is compared first: only then do the sums above mean anything */
    if (size > port->payload_max || type - 1 >= UINT16_MAX || actor_ref_generation(to) == 0 ||
        actor_ref_slot(to) >= actors_max || bytes > port->submission_size)
        return post_explain_arguments(port, actors_max, to, type, size);
    result = post_find_room(port, bytes);
    if (result < 0)
        return result;
    record = (struct envelope *)(port->submission +
                                 (port->submission_tail & (port->submission_size - 1)));
    *record = (struct envelope){
        .to = to,
        .type = (uint16_t)type,
        .length = (uint16_t)length,
        .behaviour = BEHAVIOUR_UNKNOWN,
        .flags = (uint8_t)how,
        .prefix = (uint8_t)(how >> 8),
    };
    if (how & POST_CORRELATED)
        envelope_word_put(record, PREFIX_CORRELATION, correlation);
    *ret_payload = envelope_payload(record);
    port->submission_tail += bytes;
    return 0;
}

int port_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
                 uint64_t correlation, size_t size, void **ret_payload)
{
    return post_reserve(port, port->actors_max, to, type, how, correlation, size, ret_payload);
}

/* Is the service still there?  Asked where a system call is made anyway, or nothing can be posted:
 * where all of it was killed nobody has left a word in the port. */
static void post_look(struct odeon_port *port)
{
    struct timespec now;
    int64_t now_ns;

    if (!port->client)
        return;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (port->looked_ns && now_ns - port->looked_ns < POST_LOOK_NS)
        return;
    port->looked_ns = now_ns;
    client_poll_events(port->client);
}

static void __attribute__((noinline, cold)) post_ring(struct odeon_port *port)
{
    PORT_SET(port->n_doorbells, port->n_doorbells + 1);
    port_ring_doorbell(port);
    post_look(port);
}

static inline void post_publish(struct odeon_port *port)
{
    if (port->submission_tail == port->submission_published)
        return;
    port->submission_published = port->submission_tail;
    /* port_layout.P2: publish the records, read by the executor's acquire of the tail */
    atomic_store_explicit(&port->mine->submission_tail, port->submission_tail,
                          memory_order_release);
    /* port_layout.P4: the executor sets need_wakeup, full barrier, looks at the tail again.  Either
     *     it sees the
     * tail or this sees the word. */
    full_barrier();
    if (atomic_load_explicit(&port->theirs->need_wakeup, memory_order_relaxed) != 0)
        post_ring(port);
}

void port_publish(struct odeon_port *port)
{
    post_publish(port);
}

static int __attribute__((noinline, cold)) post_explain_room(struct odeon_port *port)
{
    PORT_SET(port->n_full, port->n_full + 1);
    post_look(port);
    return port_open(port) ? error_set_literal(-EAGAIN, "the port's submission ring is full")
                           : port_explain(port);
}

static inline int post_explain_full(struct odeon_port *port, int result)
{
    return result == -EAGAIN ? post_explain_room(port) : result;
}

int port_explain_full(struct odeon_port *port, int result)
{
    return post_explain_full(port, result);
}

/* As post(), but -EAGAIN has no text. */
static inline __attribute__((always_inline)) int
post_try(struct odeon_port *port, uint32_t actors_max, odeon_ref to, uint32_t type, unsigned how,
         uint64_t correlation, const void *data, size_t size)
{
    void *payload = NULL;
    int result = post_reserve(port, actors_max, to, type, how, correlation, size, &payload);

    if (result < 0)
        return result;
    if (size > 0)
        memcpy(payload, data, size);
    post_publish(port);
    return 0;
}

static int __attribute__((noinline, cold))
post_otherwise(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
               uint64_t correlation, const void *data, size_t size, int result)
{
    if (result != POST_TAKE_TURN)
        return post_explain_full(port, result);
    port_lock(port);
    result = post_try(port, port->actors_max, to, type, how, correlation, data, size);
    result = post_explain_full(port, result);
    port_unlock(port);
    return result;
}

static inline int post(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
                       uint64_t correlation, const void *data, size_t size)
{
    int result = post_try(port, port->actors_alone, to, type, how, correlation, data, size);

    if (result == 0)
        return 0;
    return post_otherwise(port, to, type, how, correlation, data, size, result);
}

int port_has_room(struct odeon_port *port, uint64_t bytes)
{
    int result = post_refresh_head(port);

    if (result < 0)
        return result;
    return port->submission_tail + bytes - port->submission_head <= port->submission_size;
}

int port_post_until(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
                    uint64_t correlation, const void *data, size_t size, int64_t deadline_ns)
{
    uint64_t bytes = envelope_size(size + envelope_prefix_bytes(how >> 8));
    int result;

    for (;;) {
        port_lock(port);
        result = post_try(port, port->actors_max, to, type, how, correlation, data, size);
        port_unlock(port);
        if (result != -EAGAIN)
            return result;
        result = port_wait_for_room(port, bytes, deadline_ns);
        if (result < 0)
            return result;
    }
}

static inline int post_check_data(const struct odeon_port *port, const void *data, size_t size)
{
    if (port && (data || size == 0))
        return 0;
    return error_set_literal(-EINVAL,
                             port ? "a payload has a size but no address" : "no port was given");
}

int port_check_alone(const struct odeon_port *port)
{
    if (!port)
        return error_set_literal(-EINVAL, "no port was given");
    if (port->shared)
        return error_set_literal(-ENOTSUP, "several threads post through this port: what is "
                                           "reserved would be published by another one, and a "
                                           "call would take what is for who receives");
    return 0;
}

int port_check_data(const struct odeon_port *port, const void *data, size_t size)
{
    return post_check_data(port, data, size);
}

int odeon_port_post(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                    size_t size)
{
    int result = post_check_data(port, data, size);

    return result < 0 ? result : post(port, to, type, 0, 0, data, size);
}

int odeon_port_post_wait(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, int64_t timeout_ns)
{
    int result = post_check_data(port, data, size);

    if (result == 0)
        result = post_try(port, port->actors_alone, to, type, 0, 0, data, size);
    /* the clock is read only when it is needed */
    return result != -EAGAIN && result != POST_TAKE_TURN
               ? result
               : port_post_until(port, to, type, 0, 0, data, size, deadline_after(timeout_ns));
}

int odeon_port_post_correlated(struct odeon_port *port, odeon_ref to, uint32_t type,
                               uint64_t correlation, const void *data, size_t size)
{
    int result = post_check_data(port, data, size);

    if (result < 0)
        return result;
    if (correlation == 0 || correlation & PORT_CORRELATION_CALL)
        return error_set_literal(-EINVAL, "a correlation id is neither 0 nor has its highest bit "
                                          "set: those are odeon_port_call()'s");
    return post(port, to, type, POST_CORRELATED, correlation, data, size);
}

int odeon_port_answer(struct odeon_port *port, const struct odeon_delivery *question, uint32_t type,
                      const void *data, size_t size)
{
    int result = post_check_data(port, data, size);

    if (result < 0)
        return result;
    if (!question || question->correlation == 0 || question->flags & 1 ||
        question->type == MESSAGE_TYPE_REFUSAL)
        return error_set_literal(-EINVAL, "this delivery asks nothing: no actor waits for an "
                                          "answer to it");
    return post(port, question->from, type, POST_CORRELATED | POST_REPLY, question->correlation,
                data, size);
}

int odeon_port_post_urgent(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                           size_t size)
{
    int result = post_check_data(port, data, size);

    return result < 0 ? result : post(port, to, type, POST_URGENT, 0, data, size);
}

void *odeon_port_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, size_t size)
{
    void *payload = NULL;
    int result = port_check_alone(port);

    if (result == 0)
        result = port_reserve(port, to, type, 0, 0, size, &payload);
    if (result < 0)
        errno = -post_explain_full(port, result);
    return payload;
}

int odeon_port_commit(struct odeon_port *port)
{
    if (!port)
        return error_set_literal(-EINVAL, "odeon_port_commit: no port was given");
    if (port->shared)
        return port_check_alone(port);
    if (port_forked(port))
        return port_explain_fork();
    if (!port_open(port))
        return port_explain(port);
    post_publish(port);
    return 0;
}
