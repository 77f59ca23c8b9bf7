/* SPDX-License-Identifier: Apache-2.0 */
/* Users as others see them (commands.h). */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_user_list(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame);
