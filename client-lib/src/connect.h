/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection: what the parts of the library share of `struct odeon_client`.
 *
 * Threads: any. `mutex` is held for a whole round trip and guards everything below it; `names` has
 * a lock of its own, so that a look into the table does not wait for another thread's round trip,
 * and times are words of their own, so that changing them does not. `ports_mutex` guards the list
 * of ports, and is held for a look at it, also while `mutex` is: ports come and go beside another
 * thread's round trip.
 *
 * connect.C1  One request that somebody waits for is under way at a time; a record with its id
 *     answers it, records with id 0 (events) may come at any time. Those whose time was over before
 *     (`n_late`) are answered some time, or never; these answers are dropped.
 * connect.C2  Once `lost` is set no request leaves any more, and every port of the client is
 *     closed.
 * connect.C3  `alive` lies on a page that the kernel empties in a forked child: 0 there, 1 here.
 *     No call of getpid() on hot paths, and no way of forking goes unnoticed.
 * connect.C4  A connection that ends without a word to a service whose state outlives it
 *     (`instance` is not
 *     0) is not lost: the client is away, its ports go on, and whoever looks or waits next takes a
 *     step towards a new connection.
 * connect.C5  A port is among the claims of every greeting that is sent after its answer has come:
 *     one that was opened before a greeting and is listed after it is not the client's any more
 *     (`hellos`, which changes under both mutexes).
 * connect.C6  No call is a point at which its thread is cancelled: pthread_cancel() takes effect
 *     behind it. So no mutex is left locked, and no descriptor lost; what a post or an arming calls
 *     by number (wait.h) is no such point by itself.
 * connect.C7  A port that is closed while another thread's round trip goes on for too long, the
 *     service takes nothing, or a greeting that claims it has no answer yet, is among `closing`:
 *     the service is asked behind that. One that is in no greeting's claims it closes by itself.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <odeon/client.h>

#include "client-lib/src/names.h"
#include "client-lib/src/port.h"
#include "client-lib/src/wire.h"
#include "proto/control.pb-c.h"

enum { CONNECT_RETRY_FIRST_NS = 1000000, CONNECT_RETRY_MAX_NS = 250000000 };

enum client_link {
    LINK_UP,
    LINK_AWAY,     /* no socket; the next try is at retry_ns */
    LINK_GREETING, /* a hello is out, its answer has not come */
};

struct odeon_client {
    const _Atomic uint32_t *alive; /* connect.C3 */
    pid_t pid;                     /* for the text of -ECHILD */
    struct names names;
    char *path, *name;
    _Atomic int64_t patience_ns; /* how long to stay away at most; below 0: for ever */
    _Atomic int64_t timeout_ns;  /* of a request, likewise */

    pthread_mutex_t mutex;
    int socket; /* -1: away */
    enum client_link link;
    uint64_t instance;               /* as the service has said; 0: its state ends with it */
    _Atomic uint64_t epoch;          /* likewise; read without the mutex */
    uint8_t token[PORT_TOKEN_BYTES]; /* proves the client to the next odeond */
    uint64_t n_late;                 /* answers that will come and that nobody waits for */
    int64_t away_ns, retry_ns, retry_wait_ns;
    int lost; /* connect.C2: 0 or why, negative errno; changes under both mutexes */
    uint64_t last_id;
    uint64_t client_id;
    uint32_t boots;
    struct wire_frame *frame;

    pthread_mutex_t ports_mutex;
    struct odeon_port *ports; /* open ports */
    uint64_t hellos;          /* that were sent (connect.C5) */
    /* connect.C7: what the service has open still; a number alone may be another port's since */
    struct client_closing {
        uint64_t port_id;
        size_t token_bytes; /* 0: it is not known */
        uint8_t token[PORT_TOKEN_BYTES];
    } closing[ODEON_PORTS_PER_CLIENT_MAX];
    size_t n_closing;
};

static inline int client_hold_cancellation(void)
{
    int former;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    return former;
}

static inline void client_let_cancellation(const int *former)
{
    int ours;

    pthread_setcancelstate(*former, &ours);
}

/* connect.C6: a declaration, until the end of its block. */
#define WITHOUT_CANCELLATION                                                                       \
    const int former_cancellation_ __attribute__((cleanup(client_let_cancellation), unused)) =     \
        client_hold_cancellation()

/* What a request brought. answer_fini() frees it and closes descriptors that were not taken (set to
 * -1). */
struct client_answer {
    Odeon__Reply *reply;
    size_t n_fds;
    int fds[WIRE_FDS_MAX];
    bool fds_lost;   /* some of them, for lack of room in this process */
    uint64_t hellos; /* of the client, when the answer came */
};
void client_answer_fini(struct client_answer *answer);

/* The error that the service tells, as client.h has it; 0: none. What cannot be one is -EPROTO, and
 * so is another protocol. */
int client_error_of(const Odeon__Reply *reply);

/* 0; -EINVAL: NULL; -ECHILD: made by the parent of this process.  Sets the text. */
int client_check(const struct odeon_client *client);

static inline int64_t client_patience_ns(const struct odeon_client *client)
{
    return atomic_load_explicit(&client->patience_ns, memory_order_relaxed);
}
static inline int64_t client_timeout_ns(const struct odeon_client *client)
{
    return atomic_load_explicit(&client->timeout_ns, memory_order_relaxed);
}

/* A socket, connected, at the deadline at the latest; WIRE_NOW: -EAGAIN instead of waiting for the
 * service to accept. */
int client_open_socket(const struct odeon_client *client, int64_t deadline_ns, int *ret_socket);
/* What the service says about this client. */
void client_take_identity(struct odeon_client *client, const Odeon__HelloReply *hello);
/* A greeting; `resume` NULL: of a new client. */
void client_fill_hello(const struct odeon_client *client, Odeon__Resume *resume,
                       Odeon__Hello *hello, Odeon__Request *request);
/* With a new id, without waiting; the answer is to be received. Under the mutex, or before anybody
 * else has the client. */
int client_send_hello(struct odeon_client *client, Odeon__Resume *resume);

/* The next three are called under the mutex. */

/* The next record, parsed, with its descriptors. 0; -EAGAIN: none has come until the deadline; else
 * the connection has ended (connect.C2, connect.C4). */
int client_receive_reply(struct odeon_client *client, int64_t deadline_ns,
                         struct client_answer *ret_answer);
/* The connection has ended, and nobody has said why. -ECONNRESET with its text; `lost` says whether
 * there is a way back. */
int client_break(struct odeon_client *client, const char *why);
/* connect.C2: it ends for good. */
int client_lose(struct odeon_client *client, int error, const char *why);

/* False (connect.C5): the service has given up the port meanwhile, since nobody claimed it; open
 * another. */
bool client_add_port(struct odeon_client *client, struct odeon_port *port, uint64_t hellos);
void client_remove_port(struct odeon_client *client, struct odeon_port *port);
/* connect.C7; the token is copied. */
void client_close_later(struct odeon_client *client, const Odeon__PortClose *close);
