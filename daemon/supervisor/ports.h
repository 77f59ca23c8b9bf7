/* SPDX-License-Identifier: Apache-2.0 */
/* Ports between clients and executor: what goes to the executor and what comes back. The table
 * itself is port_table.h's. Event loop thread only.
 *
 * O1  While an executor is starting, ports are told to it only as part of its start; whatever
 *     changes meanwhile is made good when it is ready (ports_sync).
 * O2  A port is released when the executor has reported it removed, or refused to know it; or when
 *     none has ever heard of it.
 */
#pragma once

#include "daemon/supervisor/port_table.h"
#include "proto/control.pb-c.h"

struct supervisor;
struct client;

/* Of a start: all that are in use. Returns their number; ports_send_all() must follow in the same
 * turn. */
uint32_t ports_count(const struct supervisor *supervisor);
void ports_send_all(struct supervisor *supervisor);
/* The executor is ready: what changed while it started. */
void ports_sync(struct supervisor *supervisor);
/* The executor has gone: it knows nothing any more. */
void ports_forget_commands(struct supervisor *supervisor);

/* A new port with memory; the answer to its client follows when the executor has it. */
void ports_open(struct supervisor *supervisor, struct seat_port *port);
void ports_close(struct supervisor *supervisor, struct seat_port *port);
void ports_close_of_client(struct supervisor *supervisor, uint32_t client_id);

/* True: the report was about a port. */
bool ports_handle_report(struct supervisor *supervisor, const Odeon__Report *report);
