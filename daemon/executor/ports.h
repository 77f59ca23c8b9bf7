/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of clients, as the supervisor hands them over and takes them back.  Control thread only. */
#pragma once

#include "daemon/executor/executor.h"

void ports_add(struct executor *executor, uint64_t command, const Odeon__PortAdd *add,
               struct frame *frame);
void ports_remove(struct executor *executor, uint64_t command, const Odeon__PortRemove *remove);
/* Workers have begun to run: takes the engine's events from now on, and asks for the removals that
 * had to wait. */
int ports_start(struct executor *executor);
