/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection: what the parts of the library share of `struct odeon_client`.
 *
 * Threads: any.  `mutex` is held for a whole round trip and guards everything below it; `names` has a lock of its own,
 * so that a look into the table does not wait for another thread's round trip.
 *
 * C1  One request is under way at a time; a record with its id answers it, records with id 0 (events) may come at any
 * time. C2  Once `lost` is set no request leaves any more, and every port of the client is closed. C3  `alive` lies on
 * a page that the kernel empties in a forked child: 0 there, 1 here.  No call of getpid() on hot paths, and no way of
 * forking goes unnoticed.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include <odeon/client.h>

#include "client-lib/src/names.h"
#include "client-lib/src/wire.h"
#include "proto/control.pb-c.h"

struct odeon_port;

struct odeon_client {
    const _Atomic uint32_t *alive; /* C3 */
    pid_t pid;                     /* for the text of -ECHILD */
    struct names names;

    pthread_mutex_t mutex;
    int socket;
    int lost; /* C2: 0 or why, negative errno */
    uint64_t last_id;
    uint32_t client_id, boots;
    struct odeon_port *ports; /* open ports */
    struct wire_frame *frame;
};

/* What a request brought.  answer_fini() frees it and closes descriptors that were not taken (set to -1). */
struct client_answer {
    Odeon__Reply *reply;
    size_t n_fds;
    int fds[WIRE_FDS_MAX];
};
void client_answer_fini(struct client_answer *answer);

/* One round trip.  0: the reply has the expected body; the service's or the connection's error otherwise, with its text
 * set. `ret_answer` NULL: only the result matters. */
int client_call(struct odeon_client *client, Odeon__Request *request, Odeon__Reply__BodyCase expected,
                struct client_answer *ret_answer);

/* 0; -EINVAL: NULL; -ECHILD: made by the parent of this process.  Sets the text. */
int client_check(const struct odeon_client *client);

/* Takes events that have arrived, without waiting; leaves it to a thread that is in a round trip. */
void client_poll_events(struct odeon_client *client);

void client_add_port(struct odeon_client *client, struct odeon_port *port);
void client_remove_port(struct odeon_client *client, struct odeon_port *port);
