/* SPDX-License-Identifier: Apache-2.0 */
/* Whose fault it is that a port's memory is impossible; see port_distrust.h. */
#include "client-lib/src/port_distrust.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/src/error.h"

/* How long the port is watched for another thread: 5 ms, once in its life. */
enum { DISTRUST_LOOKS = 50, DISTRUST_PAUSE_NS = 100000 };

/* The words of one side of the port, which one thread alone writes: of the submission ring its head
 * as it was read last, what is published, the tail; of the delivery ring what is released, what is
 * taken, the tail as it was read last. `shared`: what the other process sees of them. */
struct distrust_own {
    uint64_t first, second, third, shared;
};

enum distrust_side { DISTRUST_POSTING, DISTRUST_RECEIVING };

static struct distrust_own distrust_read(const struct odeon_port *port, enum distrust_side side)
{
#define WORD(name) PORT_GET(port->name)
    if (side == DISTRUST_POSTING)
        return (struct distrust_own){
            WORD(submission_head), WORD(submission_published), WORD(submission_tail),
            atomic_load_explicit(&port->mine->submission_tail, memory_order_relaxed)
        };
    return (struct distrust_own){
        WORD(delivery_released), WORD(delivery_taken), WORD(delivery_tail),
        atomic_load_explicit(&port->mine->delivery_head, memory_order_relaxed)
    };
#undef WORD
}

/* port.L1, port.L2, and what was last published, by one thread's words. */
static bool distrust_agrees(const struct odeon_port *port, enum distrust_side side,
                            const struct distrust_own *own)
{
    bool posting = side == DISTRUST_POSTING;

    return own->second - own->first <= own->third - own->first &&
           own->third - own->first <= (posting ? port->submission_size : port->delivery_size) &&
           own->shared == (posting ? own->second : own->first);
}

/* Another thread changes the words, or has come here, too. */
static bool distrust_another_is_here(struct odeon_port *port, enum distrust_side side,
                                     const struct distrust_own *seen)
{
    for (int i = 0; i < DISTRUST_LOOKS; i++) {
        struct distrust_own now = distrust_read(port, side);

        if (memcmp(&now, seen, sizeof(now)) != 0 ||
            atomic_load_explicit(&port->distrusting[side], memory_order_relaxed) > 1)
            return true;
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, /* connect.C6 */
                &(struct timespec){ .tv_nsec = DISTRUST_PAUSE_NS }, NULL);
    }
    return false;
}

/* `torn`: another thread has already been found. */
static int distrust(struct odeon_port *port, enum distrust_side side, bool torn, const char *what)
{
    struct distrust_own own = distrust_read(port, side);
    char reason[PORT_REASON_BYTES];

    if (atomic_load_explicit(&port->closed, memory_order_acquire) == -EPROTO) /* said before */
        return error_set(-EPROTO, "the port is closed: %s", port->reason);
    atomic_fetch_add_explicit(&port->distrusting[side], 1, memory_order_relaxed);
    if (torn || !distrust_agrees(port, side, &own) || distrust_another_is_here(port, side, &own))
        snprintf(reason, sizeof(reason),
                 "two threads use it at once (%s): one thread posts through a port, unless it "
                 "was opened for several, and one receives; open more of them",
                 what);
    else
        snprintf(reason, sizeof(reason),
                 "%s; this is a fault of the service, please report it, unless two threads use "
                 "the port at once",
                 what);
    port_mark_closed(port, -EPROTO, ODEON_CLOSED_IMPOSSIBLE, reason);
    atomic_fetch_sub_explicit(&port->distrusting[side], 1, memory_order_relaxed);
    return error_set(-EPROTO, "the port is closed: %s", reason);
}

int port_distrust_head(struct odeon_port *port)
{
    struct distrust_own own = distrust_read(port, DISTRUST_POSTING);
    uint64_t head = atomic_load_explicit(&port->theirs->submission_head, memory_order_acquire);

    return distrust(port, DISTRUST_POSTING, head - own.first <= own.second - own.first,
                    "rule port.L1 is broken: its submission head left the published records");
}

int port_distrust_tail(struct odeon_port *port)
{
    uint64_t tail = atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire);
    struct distrust_own own = distrust_read(port, DISTRUST_RECEIVING);

    return distrust(port, DISTRUST_RECEIVING,
                    tail - own.first <= port->delivery_size &&
                        tail - own.third <= port->delivery_size && (tail & 7) == 0,
                    "rule port.L2 is broken: its delivery tail left the ring");
}

int port_distrust_record(struct odeon_port *port, const uint8_t *record, const char *what)
{
    struct distrust_own own = distrust_read(port, DISTRUST_RECEIVING);

    return distrust(port, DISTRUST_RECEIVING,
                    record != port->delivery + (own.second & (port->delivery_size - 1)), what);
}
