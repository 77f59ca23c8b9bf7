/* SPDX-License-Identifier: Apache-2.0 */
/* Open loop: requests are sent at times that are fixed beforehand, whatever has become of the
 * earlier ones, and a request's time counts from the moment at which it was to be sent.
 *
 * A sender that waits for an answer before it asks again asks least when the other side is slowest,
 * and leaves out what it would have measured (coordinated omission). Here a side that stands still
 * for 100 ms shows up in every request of these 100 ms. A sender that is late itself (it had no
 * processor, or the ring is full) sends at once all that is due; these requests count from their
 * own times, too.
 *
 * Threads: one, which sends and receives by turns. What it sends with is a struct pace_transport.
 */
#pragma once

#include <stdint.h>

#include "histogram.h"

struct pace_transport {
    void *context;
    uint64_t (*now_ns)(void *context);
    /* 0: will be sent with the next commit; -EAGAIN: no room; another negative errno: the end */
    int (*post)(void *context, uint64_t at_ns, uint64_t number);
    void (*commit)(void *context);
    /* 1: an answer, to what was sent for that time and under that number (`pieces` of them belong
     * to one number); 2: a refusal; 0: nothing; negative errno: the end. Answers without numbers
     * are fine where there is one piece. */
    int (*receive)(void *context, uint64_t *ret_at_ns, uint64_t *ret_number);
};

struct pace {
    uint64_t rate;       /* requests a second, at most 10^9 */
    uint64_t n;          /* requests */
    uint64_t warm_up;    /* the first of them, which are not counted */
    uint32_t pieces;     /* answers to a request: it has been answered when all are there */
    uint64_t timeout_ns; /* with nothing received for so long, it ends */
    uint64_t within_ns;  /* so long after the last request was due, it ends; 0: does not */
};

struct pace_result {
    struct histogram times;             /* from the time it was to be sent to the last answer */
    uint64_t posted, answered, refused; /* requests */
    uint64_t begin_ns, end_ns;          /* of the first request; of the last answer */
};

/* 0, or a negative errno of the transport. That time is up is no error: what has not been answered
 * is posted - answered - refused. */
int pace_run(const struct pace *pace, const struct pace_transport *transport,
             struct pace_result *ret);

/* When request `i` is to be sent. */
static inline uint64_t pace_due_ns(const struct pace *pace, uint64_t begin_ns, uint64_t i)
{
    return begin_ns + i / pace->rate * UINT64_C(1000000000) +
           i % pace->rate * UINT64_C(1000000000) / pace->rate;
}
