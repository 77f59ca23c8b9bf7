/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the executor answers, passed on and back (commands.h). */
#pragma once

#include <stdbool.h>

#include "daemon/supervisor/client.h"
#include "daemon/supervisor/executor_link.h"

struct seat;

void command_forward(struct seat *seat, struct client *client, Odeon__Request **request,
                     struct frame *frame);
void command_plugin_load(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame);

/* Passes the request (and `fd`, -1: none) on in the client's name; `done` ends the request and
 * answers. */
void command_ask_executor(struct seat *seat, struct client *client, Odeon__Request **request,
                          int fd,
                          void (*done)(void *userdata, struct link_request *request,
                                       Odeon__Reply *reply));
/* True: no executor is waited for, and the client has been told. */
bool command_refuse_without_executor(const struct seat *seat, struct client *client,
                                     const Odeon__Request *request);
/* True: what is made now could not be kept, and the client has been told. */
bool command_refuse_unkept(struct client *client, const Odeon__Request *request);
