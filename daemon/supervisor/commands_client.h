/* SPDX-License-Identifier: Apache-2.0 */
/* Clients as others see them (commands.h). */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_client_list(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame);
void command_client_show(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame);
void command_client_kick(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame);
