/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out what actors do (observed_file.h).  Event loop thread only. */
#pragma once

#include "daemon/common/frame.h"
#include "daemon/supervisor/client.h"

struct seat;

void command_observe(struct seat *seat, struct client *client, Odeon__Request **request,
                     struct frame *frame);
