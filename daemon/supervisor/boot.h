/* SPDX-License-Identifier: Apache-2.0 */
/* Starting executors: the first one and, whenever one dies, the next.  Event loop thread only.
 *
 * Order of a start: Start with the segment, a PortAdd for every port in use, a PluginLoad for every
 * plugin, and a word for each that it refuses and is to do without; the executor recovers and
 * reports that it is ready; then the actors that the configuration names (start_actors.h); then
 * what changed meanwhile, then the requests that waited.
 */
#pragma once

#include <stdbool.h>

#include "proto/control.pb-c.h"

struct seat;

void boot_init(struct seat *seat);
/* True: it was the answer to a Start. */
bool boot_handle_report(struct seat *seat, const Odeon__Report *report);
/* The executor has ended: the next one is started, unless the seat stops or is given up. */
void boot_on_exited(struct seat *seat, int wait_status);
/* The first start.  0 or negative errno: the program cannot be run. */
int boot_begin(struct seat *seat);
/* What could not be sent to the executor that starts (executor_link.E5). */
void boot_go_on(struct seat *seat);
/* The configuration may have another level of the log: the executor that runs is told. */
void boot_tell_log_level(struct seat *seat);
/* Somebody says that an executor which stays down over a broken rule (rule_stops.h) is started. */
void boot_release(struct seat *seat);
/* No further starts. */
void boot_stop(struct seat *seat);
void boot_fini(struct seat *seat);
