/* SPDX-License-Identifier: Apache-2.0 */
/* A port in shared memory: two memfds, each with one writer.
 *
 *   client memory    written by the client, mapped read-write by both     struct port_client, then
 *                    the submission ring
 *   executor memory  written by the executor, mapped read-only by the     struct port_executor,
 *                    then the delivery ring
 *                    client (its descriptor is O_RDONLY, the inode 0600)
 *
 * One word of the executor's memory is odeond's, too: `broken`, which it sets when it closes a
 * port, whether an executor runs or not.
 *
 * Both are sealed against shrinking and growing. The client learns sizes and offsets from the
 * control protocol's answer; it takes no number from this file but the structs' own. Rings are byte
 * rings of a power of two, mapped twice in a row, so that a record never wraps. Cursors are
 * free-running byte counts; `cursor & (size - 1)` is the offset.
 *
 * port_layout.P1  head <= committed cursor of the executor <= tail; tail - head <= ring size, for
 *     both rings.
 * port_layout.P2  The client publishes records with one release store of `tail`; the executor reads
 *     it with acquire and from then on believes nothing that it has not copied.
 * port_layout.P3  `tail` of the delivery ring follows the executor's durable tail (segment), `head`
 *     of the submission ring its durable cursor.  Both are copies: the executor never reads them
 *     back.
 * port_layout.P4  Lost wake-ups: the client sets its waiting word, full barrier, looks at the ring
 *     again, then waits; the executor publishes, full barrier, looks at the waiting word.
 *     Symmetric for need_wakeup and the doorbell.
 */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/bounds.h"
#include "proto/time_cells.h"

enum { PORT_WORDS_BYTES = 4096 }; /* room for either side's words */

/* Of the ring in either memory. It is mapped by itself, so it begins with a page of the machine. */
static inline uint32_t port_ring_offset(uint64_t page_bytes)
{
    return page_bytes > PORT_WORDS_BYTES ? (uint32_t)page_bytes : PORT_WORDS_BYTES;
}

/* What may be the size of a ring: for who makes a port, maps one, or finds one in a segment. */
static inline bool port_ring_size_is_good(uint64_t bytes)
{
    return bytes >= ODEON_RING_MIN && bytes <= ODEON_RING_MAX && (bytes & (bytes - 1)) == 0;
}

/* How a client waits, in port_client.delivery_wait's low bit: the rest is a sequence number, so
 * that each wait is a new value and the executor spends at most one system call on it. */
enum port_wait {
    PORT_WAIT_NONE = 0,
    PORT_WAIT_FUTEX = 1, /* on port_executor.delivery_futex */
    PORT_WAIT_PIPE = 2,  /* on the pipe's reading end */
    PORT_WAIT_KIND = 3,  /* mask */
    PORT_WAIT_STEP = 4,  /* the sequence counts in steps of this */
};

/* Round trips, as the client's library has measured them: of its calls and of its posts with a
 * deadline, from the post to when it found the answer. For people: the service adds them up, and
 * nothing depends on them. They only grow; whoever receives writes them. */
struct port_round_trips {
    _Atomic uint64_t refused, late; /* what the service refused; what had no answer in time */
    _Atomic uint64_t longest_ns;
    _Atomic uint64_t answered[TIME_CELLS]; /* by how long that took */
};

struct port_client {
    alignas(128) _Atomic uint64_t submission_tail;
    alignas(128) _Atomic uint64_t delivery_head;
    /* enum port_wait | sequence; PORT_WAIT_NONE: awake */
    alignas(128) _Atomic uint32_t delivery_wait;
    /* the same, for room in the submission ring; by the pipe where the service has said so */
    _Atomic uint32_t room_wait;
    /* 1: the client has closed the port; for an odeond that was not there to be told */
    _Atomic uint32_t departed;
    alignas(128) struct port_round_trips round_trips;
};

struct port_executor {
    alignas(128) _Atomic uint64_t submission_head;
    _Atomic uint64_t posts; /* records that were taken from the submission ring */
    alignas(128) _Atomic uint64_t delivery_tail;
    alignas(128) _Atomic uint32_t delivery_futex; /* counts wake-ups for deliveries */
    _Atomic uint32_t room_futex;                  /* counts wake-ups for room */
    /* 1: ring the doorbell (eventfd, add 1) after publishing */
    alignas(128) _Atomic uint32_t need_wakeup;
    /* 1: deliveries wait behind the ring: ring the doorbell after taking some */
    _Atomic uint32_t backlog;
    _Atomic uint32_t epoch;   /* boot count of the executor that serves the port */
    _Atomic uint32_t broken;  /* enum port_broken: the port has been closed, and why */
    _Atomic uint64_t dropped; /* deliveries that were dropped because the client did not receive */
    _Atomic uint64_t
        refused; /* records that were refused; as with `posts`, a crash may lose some */
};
static_assert(sizeof(struct port_client) <= PORT_WORDS_BYTES &&
                  sizeof(struct port_executor) <= PORT_WORDS_BYTES,
              "page");

/* What becomes of deliveries when the backlog is at its limit, too. */
enum port_overflow {
    PORT_OVERFLOW_DROP_NEWEST, /* they are dropped */
    PORT_OVERFLOW_DROP_OLDEST, /* what has waited longest is dropped */
    PORT_OVERFLOW_DISCONNECT,  /* the port is closed, when what its client has posted is consumed */
    PORT_OVERFLOW_N,
};

enum port_broken {
    PORT_OK = 0,
    PORT_BROKEN_TAIL,   /* tail - head exceeds the ring, or tail not a multiple of 8 */
    PORT_BROKEN_LENGTH, /* a record's length exceeds the limit or the published bytes */
    PORT_BROKEN_HEADER, /* an all-zero header, or a reserved bit or field set */
    PORT_BROKEN_SLOT,   /* a receiver beyond the actor table */
    PORT_BROKEN_HEAD,   /* delivery head behind what was taken before, or beyond the tail */
    PORT_BROKEN_SLOW,   /* it did not receive, and its policy is to be disconnected then */
    PORT_BROKEN_CLOSED, /* odeond has closed it: its client was turned out, the service stops */
    PORT_BROKEN_N,
};

static inline const char *port_broken_name(unsigned why)
{
    static const char *const names[PORT_BROKEN_N] = { "ok",         "bad-tail",     "bad-length",
                                                      "bad-header", "bad-receiver", "bad-head",
                                                      "too-slow",   "closed" };
    return why < PORT_BROKEN_N ? names[why] : "unknown";
}
