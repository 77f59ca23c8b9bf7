/* SPDX-License-Identifier: Apache-2.0 */
/* Giving deliveries back, for what takes them: a call does, too. The port's receiving thread. */
#pragma once

#include "client-lib/src/port.h"

/* The room of what was taken goes back unless something is lent. For what was copied aside or
 * dropped. */
void port_give_back(struct odeon_port *port);
