/* SPDX-License-Identifier: Apache-2.0 */
/* Taking up what another odeond has left with the service manager (persist.h): segment, settings,
 * plugins and ports into a seat, then the clients. Event loop thread only.
 */
#pragma once

#include <stdbool.h>

#include "proto/control.pb-c.h"

struct client;
struct config;
struct seat;

struct resume_from {
    bool store;   /* there may be one; not in the foreground */
    bool discard; /* what lies there is given up */
};

/* Before anything is made: the intake, and from it the state of the seat. `config`: settings of
 * another build's are taken out. 0 or negative errno; persist.R1 is `refused`. */
int resume_begin(struct seat *seat, struct config *config, const struct resume_from *from);
/* The event loop is there: clients that may come back. -ENOMEM: nothing that is of use has been
 * touched. */
int resume_clients(struct seat *seat);

/* A client that was connected to the former odeond proves it by its token: it becomes that client
 * again, and those of its ports that it does not claim are closed. 0, or negative errno with a
 * reason in `text` (REGISTRY_TEXT_MAX). */
int resume_client(struct seat *seat, struct client *client, const Odeon__Resume *resume,
                  char *text);
