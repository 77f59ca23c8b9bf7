/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients: one table says who answers what.  Event loop thread only.
 *
 * A handler answers, or passes the request on; it may take the request (and set *request to NULL)
 * and its descriptors. After an answer the client may be dropped already (client.h, K5).
 */
#pragma once

#include "daemon/common/frame.h"
#include "daemon/supervisor/client.h"

struct supervisor;
struct link_request;

/* The refusal (-EHOSTDOWN) of what an executor would have to do. */
#define COMMANDS_EXECUTOR_IS_HELD                                                                  \
    "the executor is down: it has stopped itself again and again over a broken rule, which the "   \
    "log names; a reload (systemctl reload odeond, or SIGHUP) starts it"

/* One record of a client. */
void commands_handle(struct supervisor *supervisor, struct client *client, struct frame *frame);

typedef void (*command_fn)(struct supervisor *supervisor, struct client *client,
                           Odeon__Request **request, struct frame *frame);

/* commands_port.c */
void command_port_open(struct supervisor *supervisor, struct client *client,
                       Odeon__Request **request, struct frame *frame);
void command_port_close(struct supervisor *supervisor, struct client *client,
                        Odeon__Request **request, struct frame *frame);
/* commands_status.c */
void command_status(struct supervisor *supervisor, struct client *client, Odeon__Request **request,
                    struct frame *frame);
/* commands_client.c */
void command_client_list(struct supervisor *supervisor, struct client *client,
                         Odeon__Request **request, struct frame *frame);
void command_client_show(struct supervisor *supervisor, struct client *client,
                         Odeon__Request **request, struct frame *frame);
void command_client_kick(struct supervisor *supervisor, struct client *client,
                         Odeon__Request **request, struct frame *frame);
/* commands_executor.c */
void command_forward(struct supervisor *supervisor, struct client *client, Odeon__Request **request,
                     struct frame *frame);
void command_plugin_load(struct supervisor *supervisor, struct client *client,
                         Odeon__Request **request, struct frame *frame);
/* Passes the request (and `fd`, -1: none) on in the client's name; `done` ends the request and
 * answers. */
void command_ask_executor(struct client *client, Odeon__Request **request, int fd,
                          void (*done)(void *userdata, struct link_request *request,
                                       Odeon__Reply *reply));
