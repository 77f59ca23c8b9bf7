/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose doorbell rings without end (engine/signal/loud.h) are not listened to for a while:
 * first for a millisecond, and for twice as long each time that they go on as before, up to
 * LOUD_PORTS_STEP_MOST steps. Their records are looked at then.
 *
 * Control thread. Nothing is periodic: the timer runs only while a port is muted.
 */
#pragma once

#include <stdint.h>

#include "daemon/executor/executor.h"

enum { LOUD_PORTS_STEP_MOST = 5 };

void loud_ports_start(struct executor *executor);
void loud_ports_stop(struct executor *executor);
void loud_ports_on_loud(struct executor *executor, const struct engine_event *event);
/* The port has gone. */
void loud_ports_remove(struct executor *executor, uint32_t port, uint32_t generation);
