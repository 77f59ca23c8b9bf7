/* SPDX-License-Identifier: Apache-2.0 */
/* Correlated posts with a deadline; see awaited.h. */
#include "client-lib/src/awaited.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/error.h"
#include "client-lib/src/round_trip.h"

enum {
    AWAITED_ROUND_SHIFT = 32,
    AWAITED_ROUND_MASK = 0x3fffffff /* 0: the slot has never been used */
};

/* A ring of slots with one writer and one reader; it holds all there are, so it is never full. */
struct awaited_ring {
    _Atomic uint32_t tail, head;
    uint32_t slots[AWAITED_MAX];
};

struct awaited {
    uint64_t correlation; /* the caller's */
    int64_t began_ns, deadline_ns;
    odeon_ref to;
    uint32_t type, round;
    /* --- who receives (awaited.A2) */
    uint32_t waiting; /* the round that waits for its outcome; 0: none */
    uint32_t place;   /* in the heap */
    struct port_kept kept;
    struct odeon_refusal refusal; /* the outcome's payload, where that is none of the ring */
};

struct awaiting {
    /* who posts */
    uint32_t fresh; /* slots from here on have never been used */
    /* who receives */
    uint32_t n_heap;
    uint64_t n_expired;
    int64_t due_ns;             /* awaited.A4: deadlines up to here had passed at a look; 0: none */
    uint32_t heap[AWAITED_MAX]; /* of slots, the next deadline first */
    struct awaited_ring begun, freed;
    struct awaited slots[AWAITED_MAX];
};

static void awaited_put(struct awaited_ring *ring, uint32_t slot)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    ring->slots[tail % AWAITED_MAX] = slot;
    /* publish the slot's words (awaited.A2), read by the acquire in awaited_look() */
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

/* The oldest slot, which stays; false: none. */
static bool awaited_look(const struct awaited_ring *ring, uint32_t *ret_slot)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        return false;
    *ret_slot = ring->slots[head % AWAITED_MAX];
    return true;
}

/* What awaited_look() has found is gone. Only this side reads the head: a ring is never full. */
static void awaited_drop(struct awaited_ring *ring)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    atomic_store_explicit(&ring->head, head + 1, memory_order_relaxed);
}

static struct awaiting *awaited_of(const struct odeon_port *port)
{
    /* read of what awaited_table() has published */
    return atomic_load_explicit(&port->awaiting, memory_order_acquire);
}

/* Memory of slots that are never used is never touched. */
static struct awaiting *awaited_table(struct odeon_port *port)
{
    struct awaiting *a = awaited_of(port);

    if (!a && (a = calloc(1, sizeof(*a))) != NULL)
        atomic_store_explicit(&port->awaiting, a, memory_order_release);
    return a;
}

/* The slot that the next post takes, which stays where it is. */
static bool awaited_next_slot(const struct awaiting *a, uint32_t *ret_slot)
{
    if (awaited_look(&a->freed, ret_slot))
        return true;
    *ret_slot = a->fresh;
    return a->fresh < AWAITED_MAX;
}

static uint32_t awaited_next_round(uint32_t round)
{
    return (round & AWAITED_ROUND_MASK) == AWAITED_ROUND_MASK ? 1 : round + 1;
}

int awaited_prepare(struct odeon_port *port, uint64_t *ret_id)
{
    struct awaiting *a = awaited_table(port);
    uint32_t slot;

    if (!a)
        return error_set_literal(-ENOMEM, "no memory for posts with a deadline");
    if (!awaited_next_slot(a, &slot))
        return error_set(-ENOBUFS,
                         "%d posts with a deadline wait for their outcome, the most of a port: "
                         "take what has come with odeon_port_receive()",
                         AWAITED_MAX);
    *ret_id = PORT_CORRELATION_CALL | PORT_CORRELATION_AWAITED |
              (uint64_t)awaited_next_round(a->slots[slot].round) << AWAITED_ROUND_SHIFT | slot;
    return 0;
}

void awaited_begin(struct odeon_port *port, uint64_t id, odeon_ref to, uint32_t type,
                   uint64_t correlation, int64_t after_ns, int64_t within_ns)
{
    int64_t now_ns = monotonic_ns();
    struct awaiting *a = awaited_of(port);
    uint32_t slot = (uint32_t)id;
    struct awaited *awaited;

    /* as awaited_prepare() has chosen: a slot may have been freed since */
    if (slot == a->fresh)
        a->fresh++;
    else
        awaited_drop(&a->freed);
    awaited = &a->slots[slot];
    awaited->round = (uint32_t)(id >> AWAITED_ROUND_SHIFT) & AWAITED_ROUND_MASK;
    awaited->correlation = correlation;
    awaited->began_ns = deadline_from(now_ns, after_ns);
    awaited->deadline_ns = deadline_from(now_ns, within_ns);
    awaited->to = to;
    awaited->type = type;
    awaited_put(&a->begun, slot);
    /* Who receives may sleep beyond it: it says until when, full barrier, looks into `begun`. What
     * lies between that look and its sleep is not told: it wakes by itself within a second. */
    full_barrier();
    if (atomic_load_explicit(&port->sleeps_until, memory_order_relaxed) > awaited->deadline_ns)
        futex_wake_shared(&port->theirs->delivery_futex);
}

/* ---- the heap: who receives */

static bool awaited_is_before(const struct awaiting *a, uint32_t one, uint32_t other)
{
    return a->slots[one].deadline_ns < a->slots[other].deadline_ns;
}

static void awaited_place(struct awaiting *a, uint32_t place, uint32_t slot)
{
    a->heap[place] = slot;
    a->slots[slot].place = place;
}

static void awaited_sift_up(struct awaiting *a, uint32_t place, uint32_t slot)
{
    while (place > 0 && awaited_is_before(a, slot, a->heap[(place - 1) / 2])) {
        awaited_place(a, place, a->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    awaited_place(a, place, slot);
}

static void awaited_sift_down(struct awaiting *a, uint32_t place, uint32_t slot)
{
    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child >= a->n_heap)
            break;
        if (child + 1 < a->n_heap && awaited_is_before(a, a->heap[child + 1], a->heap[child]))
            child++;
        if (!awaited_is_before(a, a->heap[child], slot))
            break;
        awaited_place(a, place, a->heap[child]);
        place = child;
    }
    awaited_place(a, place, slot);
}

static void awaited_leave_heap(struct awaiting *a, struct awaited *awaited)
{
    uint32_t place = awaited->place, last = a->heap[a->n_heap - 1];

    PORT_SET(a->n_heap, a->n_heap - 1);
    awaited->place = AWAITED_NOWHERE;
    awaited->waiting = 0;
    if (place == a->n_heap)
        return;
    if (place > 0 && awaited_is_before(a, last, a->heap[(place - 1) / 2]))
        awaited_sift_up(a, place, last);
    else
        awaited_sift_down(a, place, last);
}

/* What has been posted since the last look comes into the heap, unless its outcome was the port's
 * end (awaited.A5). NULL: nothing was ever posted. */
static struct awaiting *awaited_take_begun(struct odeon_port *port)
{
    struct awaiting *a = awaited_of(port);
    uint32_t slot;

    while (a && awaited_look(&a->begun, &slot)) {
        awaited_drop(&a->begun);
        if (port->ended) {
            awaited_put(&a->freed, slot);
            continue;
        }
        a->slots[slot].waiting = a->slots[slot].round;
        PORT_SET(a->n_heap, a->n_heap + 1);
        awaited_sift_up(a, a->n_heap - 1, slot);
    }
    return a;
}

static uint32_t awaited_number(const struct awaiting *a, const struct awaited *awaited)
{
    return (uint32_t)(awaited - a->slots);
}

/* The outcome lies in the slot, until it is released. */
static void awaited_hand_out(struct odeon_port *port, struct awaited *awaited,
                             struct odeon_delivery *delivery)
{
    delivery->type = MESSAGE_TYPE_REFUSAL;
    delivery->correlation = awaited->refusal.correlation = awaited->correlation;
    delivery->size = sizeof(awaited->refusal);
    delivery->data = &awaited->refusal;
    awaited->kept = (struct port_kept){ .delivery = *delivery, .of_awaited = true };
    port_kept_return(port, &awaited->kept);
}

bool awaited_settle(struct odeon_port *port, struct odeon_delivery *delivery)
{
    struct awaiting *a = awaited_take_begun(port);
    uint32_t slot = (uint32_t)delivery->correlation;
    uint32_t round = (uint32_t)(delivery->correlation >> AWAITED_ROUND_SHIFT) & AWAITED_ROUND_MASK;
    struct awaited *awaited;

    if (!a || !(delivery->correlation & PORT_CORRELATION_AWAITED) || slot >= AWAITED_MAX ||
        round == 0 || a->slots[slot].waiting != round)
        return false;
    awaited = &a->slots[slot];
    awaited_leave_heap(a, awaited);
    if (delivery->type == MESSAGE_TYPE_REFUSAL) {
        round_trip_refused(port);
        memcpy(&awaited->refusal, delivery->data, sizeof(awaited->refusal));
        awaited_hand_out(port, awaited, delivery);
    } else {
        round_trip_answered(port, awaited->began_ns);
        delivery->correlation = awaited->correlation;
        awaited_put(&a->freed, slot);
    }
    return true;
}

int64_t awaited_next_ns(struct odeon_port *port)
{
    const struct awaiting *a = awaited_take_begun(port);

    return a && a->n_heap > 0 ? a->slots[a->heap[0]].deadline_ns : DEADLINE_NEVER;
}

bool awaited_is_due(struct odeon_port *port)
{
    struct awaiting *a = awaited_take_begun(port);
    int64_t now_ns;

    if (!a || a->n_heap == 0)
        return false;
    if (a->due_ns == 0) {
        now_ns = monotonic_ns();
        if (a->slots[a->heap[0]].deadline_ns > now_ns)
            return false;
        a->due_ns = now_ns;
    }
    return true;
}

bool awaited_expire(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    struct awaiting *a = awaited_of(port);
    struct awaited *awaited;

    if (!a || a->due_ns == 0)
        return false;
    awaited = a->n_heap > 0 ? &a->slots[a->heap[0]] : NULL;
    if (!awaited || awaited->deadline_ns > a->due_ns) {
        a->due_ns = 0;
        return false;
    }
    awaited_leave_heap(a, awaited);
    PORT_SET(a->n_expired, a->n_expired + 1);
    round_trip_late(port);
    awaited->refusal = (struct odeon_refusal){ .to = awaited->to,
                                               .type = (uint16_t)awaited->type,
                                               .reason = ODEON_REASON_DEADLINE };
    *ret_delivery = (struct odeon_delivery){ .from = ODEON_NOBODY };
    awaited_hand_out(port, awaited, ret_delivery);
    return true;
}

size_t awaited_forget(struct odeon_port *port, uint64_t correlation)
{
    struct awaiting *a = awaited_take_begun(port);
    uint32_t place = a ? a->n_heap : 0;
    size_t n = 0;

    /* From the end: what moves into the place of one that leaves has been looked at, or comes from
     * nearer to the beginning. So that place is looked at once more, and none is left out. */
    while (place > 0) {
        struct awaited *awaited = NULL;

        if (place <= a->n_heap)
            awaited = &a->slots[a->heap[place - 1]];
        if (!awaited || awaited->correlation != correlation) {
            place--;
            continue;
        }
        awaited_leave_heap(a, awaited);
        awaited_put(&a->freed, awaited_number(a, awaited));
        n++;
    }
    return n;
}

void awaited_end(struct odeon_port *port)
{
    struct awaiting *a = awaited_take_begun(port);

    port->ended = true;
    while (a && a->n_heap > 0) {
        struct awaited *awaited = &a->slots[a->heap[a->n_heap - 1]];

        awaited_leave_heap(a, awaited);
        awaited_put(&a->freed, awaited_number(a, awaited));
    }
}

void awaited_free_kept(struct odeon_port *port, struct port_kept *kept)
{
    struct awaiting *a = awaited_of(port);
    const struct awaited *awaited =
        (const struct awaited *)((const char *)kept - offsetof(struct awaited, kept));

    awaited_put(&a->freed, awaited_number(a, awaited));
}

void awaited_count(const struct odeon_port *port, uint64_t *ret_waiting, uint64_t *ret_expired)
{
    const struct awaiting *a = awaited_of(port);

    *ret_waiting = *ret_expired = 0;
    if (!a)
        return;
    *ret_waiting =
        PORT_GET(a->n_heap) + (atomic_load_explicit(&a->begun.tail, memory_order_relaxed) -
                               atomic_load_explicit(&a->begun.head, memory_order_relaxed));
    *ret_expired = PORT_GET(a->n_expired);
}
