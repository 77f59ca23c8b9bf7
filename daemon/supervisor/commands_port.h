/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing ports on behalf of clients (commands.h). */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_port_open(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame);
/* Of one that has waited for it; a port_waits_try_fn of a seat. */
bool command_port_open_again(void *userdata, struct client *client, const Odeon__Request *request,
                             bool last);
void command_port_close(struct seat *seat, struct client *client, Odeon__Request **request,
                        struct frame *frame);
