/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for ports that wait until ports of their user have ended.
 *
 * A port that its client has closed counts for its user until the executor has drained it and no
 * worker can be looking at it, which takes as long as workers wait for a processor. Who closes one
 * port and opens another would be refused by chance; it waits instead, and nobody else does. Event
 * loop thread only.
 *
 * port_waits.W1  A user has no more requests waiting than ports that are ending: each end makes
 *     room for one. So they are bounded by the ports, and who has used up its share is refused at
 *     once, as before.
 * port_waits.W2  Each is answered: when there is room, when none of the user's ports is ending any
 *     more, when PORT_WAIT_MS are over, or when the service stops. One whose client has gone is
 *     forgotten.
 * port_waits.W3  They are tried in the order in which they were made. What is asked for meanwhile
 *     and fits is served: it may be smaller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "daemon/supervisor/client.h"
#include "daemon/supervisor/port_table.h"
#include "proto/control.pb-c.h"

/* A sixth of the client's own patience by default, so that it hears the reason. */
enum { PORT_WAIT_MS = 10000 };

/* Tries a request again. False: it waits on; not if this is its last try. */
typedef bool (*port_waits_try_fn)(void *userdata, struct client *client,
                                  const Odeon__Request *request, bool last);
/* What they stand in.  All of it lives longer than they do. */
struct port_waits_world {
    uv_loop_t *loop;
    struct clients *clients;
    const struct port_table *ports;
    port_waits_try_fn try_again;
    void *userdata;
};

struct port_waiter;
struct port_waits {
    struct port_waits_world world;
    struct port_waiter *first, **end;
    uv_timer_t look;
};

void port_waits_init(struct port_waits *waits, const struct port_waits_world *world);
void port_waits_fini(struct port_waits *waits);
/* Takes the request, which is answered later.  False: it does not wait, and stays the caller's. */
bool port_waits_add(struct port_waits *waits, struct client *client, Odeon__Request **request);
/* A port has ended, or the seat stops: all that wait are tried in the event loop's next turn. */
void port_waits_look(struct port_waits *waits);
/* The client has gone. */
void port_waits_forget(struct port_waits *waits, uint64_t client_id);
