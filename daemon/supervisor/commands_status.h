/* SPDX-License-Identifier: Apache-2.0 */
/* What odeond says about itself (commands.h). */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_status(struct seat *seat, struct client *client, Odeon__Request **request,
                    struct frame *frame);
