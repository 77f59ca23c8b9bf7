/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds how much memory (commands.h).  Answered also while the executor is down. */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

void command_memory_show(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame);
