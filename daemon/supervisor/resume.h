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

/* The intake. `store`: there may be one; not in the foreground. 0 or negative errno. */
int resume_open(struct seat *seat, bool store);
/* What lies there says what the configuration was: a crash was the end of who had read it. */
bool resume_knows_configuration(const struct seat *seat);
/* Before anything is made: from the intake the state of the seat. `discard`: what lies there is
 * given up. `config`: behind a crash it becomes what the former service had read. 0 or negative
 * errno; persist.R1 is `refused`. */
int resume_begin(struct seat *seat, struct config *config, bool discard);
/* The event loop is there: clients that may come back. -ENOMEM: nothing that is of use has been
 * touched. */
int resume_clients(struct seat *seat);

/* A client that was connected to the former odeond proves it by its token: it becomes that client
 * again, and those of its ports that it does not claim are closed. 0, or negative errno with a
 * reason in `text` (REGISTRY_TEXT_MAX). */
int resume_client(struct seat *seat, struct client *client, const Odeon__Resume *resume,
                  char *text);
