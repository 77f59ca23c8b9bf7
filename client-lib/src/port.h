/* SPDX-License-Identifier: Apache-2.0 */
/* A port on the client's side. proto/port_layout.h is the law (port_layout.P1 to port_layout.P4);
 * this is what the owning thread keeps of its own.
 *
 * Threads: one that posts and one that receives, which may be the same; each has its words. And
 * `closing`, `closed` and `reason`, which a thread that reads events may set: the first one does.
 *
 * port.L1  submission_head <= submission_published <= submission_tail <= submission_head +
 *     submission_size.  `published` is what the shared word says, `tail` goes further by what is
 *     reserved.
 * port.L2  delivery_released <= delivery_taken <= delivery_tail <= delivery_released +
 *     delivery_size.
 * port.L3  What lies between delivery_released and delivery_taken has been handed out when `lent`,
 *     up to delivery_lent; when not `lent` the two are equal. So `lent` ends when that has been
 *     given back: else nobody would give back what the library dropped behind it.
 * port.L4  Every kept delivery came before every one that is still in the ring.
 * port.L5  Memory that the executor writes is believed only after it was compared with port.L1 and
 *     port.L2; else the port closes with -EPROTO (port_distrust.h). The executor is trusted, so
 *     this finds mistakes, not attacks: a record may be read twice.
 * port.L6  Several threads may post through a port that was opened so (`shared`): each holds `turn`
 *     from reserving to publishing, and nothing is reserved behind that. `actors_alone` is 0 there,
 *     which sends who posts to the side on which turns are taken. Who waits for room holds
 *     `room_turn` and, while it sleeps, not `turn`.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <odeon/client.h>

#include "client-lib/src/wait.h"
#include "proto/envelope.h"
#include "proto/port_layout.h"

/* A word of one side of a port, written by its thread, where the other side's may look at it for a
 * figure (port_figures.c, port_distrust.c): a whole word, in no order with others. */
#define PORT_SET(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)
#define PORT_GET(word)        __atomic_load_n(&(word), __ATOMIC_RELAXED)

enum { PORT_REASON_BYTES = 256, PORT_TOKEN_BYTES = 16 };

/* Ids of the library's own have this bit, those of odeon_port_post_correlated() do not. */
#define PORT_CORRELATION_CALL (UINT64_C(1) << 63)

/* A delivery that does not lie in the ring: it arrived during a call and was copied, with its
 * payload behind it, or it is an outcome that lies in its slot (awaited.h). */
struct port_kept {
    STAILQ_ENTRY(port_kept) link;
    struct odeon_delivery delivery;
    /* When it was handed out: how far the ring had been taken. It does not hold the ring
     * (port.L3), which may have been given back beyond it since. */
    uint64_t cursor;
    bool of_awaited;
    bool is_outcome; /* of a post with a deadline, copied aside */
};
STAILQ_HEAD(port_kept_list, port_kept);

struct awaiting;

struct odeon_port {
    /* --- who posts: one thread, or several, which take turns (port.L6) */
    alignas(64) struct port_client *mine;
    const struct port_executor *theirs;
    uint8_t *submission;
    uint64_t submission_size, submission_tail, submission_published, submission_head;
    const _Atomic uint32_t *alive; /* the client's, see connect.C3 */
    _Atomic int closed;  /* 0, -EPIPE, -EPROTO; release after `reason`, read with acquire */
    _Atomic int closing; /* 1: somebody writes, or has written, `reason` */
    uint32_t actors_max, payload_max, prefix;
    uint32_t actors_alone; /* actors_max; 0 where several threads post: port_lock.h */
    int doorbell;
    bool room_by_pipe;            /* the service tells of room there, too */
    bool monitors;                /* the service tells of ends */
    bool demonitors;              /* ... and takes it back that it is to */
    uint64_t n_full, n_doorbells; /* posts without room; system calls that woke the service */
    int64_t looked_ns;            /* CLOCK_MONOTONIC_COARSE: when a post looked for events */
    bool shared;                  /* port.L6 */
    pthread_mutex_t turn, room_turn;
    uint64_t room_sequence; /* of waits for room, in steps of PORT_WAIT_STEP */

    /* --- who receives */
    alignas(64) const uint8_t *delivery;
    uint64_t delivery_size, delivery_tail, delivery_taken, delivery_released;
    uint64_t delivery_lent; /* where the last one that was handed out ends */
    int64_t seen_ns; /* when what lies before the tail was there; 0: not looked at the clock */
    bool lent;
    bool ended;                     /* who receives has been told of the port's end (awaited.A5) */
    struct port_kept_list kept;     /* to be returned by odeon_port_receive() */
    struct port_kept_list returned; /* handed out, to be freed when they are released */
    uint64_t kept_bytes;

    struct awaiting *_Atomic awaiting; /* posts with a deadline (awaited.h); NULL: none yet */
    uint64_t last_call;
    uint64_t delivery_sequence;   /* of waits for deliveries, in steps of PORT_WAIT_STEP */
    _Atomic int64_t sleeps_until; /* of who receives; 0: awake (awaited.h) */

    /* --- all */
    alignas(64) int pipe; /* -1: none */
    uint64_t id;
    odeon_ref ref;
    struct odeon_client *client; /* NULL in unit tests: there is no connection */
    struct odeon_port *next;     /* of the client's ports, under its mutex */
    void *mapping[2];
    size_t mapping_size[2];
    uint8_t token[PORT_TOKEN_BYTES]; /* proves the port to the next odeond */
    _Atomic int distrusting[2];      /* threads in port_distrust.c, of each side */
    enum odeon_closed why;           /* it is closed; before `closed`, as `reason` */
    char reason[PORT_REASON_BYTES];
};

/* What the service says about a new port, and its descriptors, in the order of the protocol. */
struct port_plan {
    uint64_t submission_bytes, delivery_bytes;
    uint32_t submission_offset, delivery_offset, payload_max, actors_max, prefix;
    bool room_by_pipe, monitors, demonitors;
    uint64_t id;
    odeon_ref ref;
    int client_memory, executor_memory, doorbell, pipe; /* pipe -1: none */
    uint8_t token[PORT_TOKEN_BYTES];
};

/* Checks everything about the plan, maps the memory, and takes over doorbell and pipe (sets them to
 * -1 in the plan);
 * the memory's descriptors stay the caller's. -EPROTO with a text: something about it is
 * impossible. */
int port_new(struct port_plan *plan, const _Atomic uint32_t *alive, struct odeon_port **ret_port);
/* Leaves word in the port's memory that the client has closed it. */
void port_depart(struct odeon_port *port);
/* Gives back memory and descriptors; tells nobody. */
void port_free(struct odeon_port *port);

/* The first reason stays.  Any thread. */
void port_mark_closed(struct odeon_port *port, int error, enum odeon_closed why,
                      const char *reason);
/* What the port's memory says, where nothing else is known. */
enum odeon_closed port_closed_by(unsigned broken);
/* A new value for the waiting word whose last one is of `sequence`, of which the word has the lower
 * half: it comes round behind a billion waits, the figures do not. */
static inline uint32_t port_wait_word(uint64_t *sequence, enum port_wait kind)
{
    PORT_SET(*sequence, *sequence + PORT_WAIT_STEP);
    return (uint32_t)*sequence | (uint32_t)kind;
}
/* What lies behind the ring is the caller's, until it is released. */
static inline void port_kept_return(struct odeon_port *port, struct port_kept *kept)
{
    kept->cursor = port->delivery_taken;
    STAILQ_INSERT_TAIL(&port->returned, kept, link);
}
/* What was taken last is handed out. */
static inline void port_lend(struct odeon_port *port)
{
    port->lent = true;
    port->delivery_lent = port->delivery_taken;
}
/* Before anybody else has the port. */
void port_share(struct odeon_port *port);
/* The executor is asked to look at the port. */
void port_ring_doorbell(const struct odeon_port *port);

static inline bool port_forked(const struct odeon_port *port)
{
    return atomic_load_explicit(port->alive, memory_order_relaxed) == 0;
}
int port_explain_fork(void);

/* Neither the executor nor an event has closed it, a moment ago. Acquire: who sees it closed sees
 * all that was delivered before. */
static inline bool port_open(const struct odeon_port *port)
{
    return atomic_load_explicit(&port->closed, memory_order_acquire) == 0 &&
           atomic_load_explicit(&port->theirs->broken, memory_order_acquire) == PORT_OK;
}
