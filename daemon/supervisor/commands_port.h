/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing ports on behalf of clients (commands.h). */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_port_open(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame);
void command_port_close(struct seat *seat, struct client *client, Odeon__Request **request,
                        struct frame *frame);
