/* SPDX-License-Identifier: Apache-2.0 */
/* Ports between clients and executor: what goes to the executor and what comes back. The table
 * itself is port_table.h's. Event loop thread only.
 *
 * seat_ports.O1  While an executor is starting, ports are told to it only as part of its start;
 *     whatever changes meanwhile is made good when it is ready (ports_sync).
 * seat_ports.O2  A port is released when the executor has reported it removed, or refused to know
 *     it; or when none has ever heard of it.
 * seat_ports.O3  A port that is opening has a client that waits for the answer: the client's end
 *     closes it.
 * seat_ports.O4  The port's memory says that it is closed, and behind it its pipe is readable,
 *     before its executor is told to drain it: a client that asks nobody is told by its next post,
 *     one that polls looks. Not so when this odeond ends and the next one goes on (persist.R3).
 * seat_ports.O5  A port whose descriptors are on the way into the store is no executor's yet, and
 *     not recorded. If it ends meanwhile it stays on its user's account until the way is over: who
 *     opens and leaves has as many on the way as ports, and no more.
 */
#pragma once

#include <stdbool.h>

#include "daemon/supervisor/port_table.h"
#include "proto/control.pb-c.h"

struct seat;
struct client;

/* Of a start: how many are in use. Where Start has been sent, the executor waits for so many, and
 * they are announced. */
uint32_t seat_ports_count(const struct seat *seat);
void seat_ports_announce(struct seat *seat);
/* Those that were announced and are not sent.  False: there are no means for the rest now
 * (executor_link.E5). */
bool seat_ports_send_all(struct seat *seat);
/* That go to its client with the answer. */
unsigned seat_ports_descriptors(const struct seat_port *port);
/* The executor is ready: what changed while it started. */
void seat_ports_sync(struct seat *seat);
/* The executor has gone: it knows nothing any more. */
void seat_ports_forget_commands(struct seat *seat);

/* A new port with memory; the answer to its client follows when the store has its descriptors and
 * the executor has it. */
void seat_ports_open(struct seat *seat, struct client *client, struct seat_port *port);
void seat_ports_close(struct seat *seat, struct seat_port *port);
void seat_ports_close_of_client(struct seat *seat, uint64_t client_id);

/* True: the report was about a port. */
bool seat_ports_handle_report(struct seat *seat, const Odeon__Report *report);
