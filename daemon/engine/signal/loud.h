/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose doorbell rings without end (docs/engine/ports.md, Ports that are loud). A bell takes
 * a worker out of its sleep, whoever rings and for whatever; a client that does nothing else would
 * have the workers wake up all the time, on the time of everybody. Such a port is told to the
 * control thread, which has nobody listen to it for a while: its records are looked at by the clock
 * then.
 *
 * loud.D1  What is counted are *idle runs* of a port: nothing has been published, and nothing
 *     waits for its client. A port is loud with LOUD_IDLE_MOST of them within LOUD_WINDOW_NS. The
 *     library rings only for a record, or for room that it has made, and only when nobody looks.
 * loud.D2  A loud port is told once, until it is listened to again.
 * loud.D3  Nothing is overlooked: who listens again watches the bell, which reports a ring that
 *     came meanwhile, and signals the port.
 *
 * Threads: loud_note_idle() by whoever runs the port; the others by the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum { LOUD_WINDOW_NS = 20 * 1000 * 1000, LOUD_IDLE_MOST = 64 };

/* The port has been run, and there was nothing to do. */
void loud_note_idle(struct worker *w, uint32_t id);
/* Before the port is open. */
void loud_reset(struct port *port);
/* Before it is listened to again. */
void loud_forgive(struct port *port);
