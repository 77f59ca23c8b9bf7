/* SPDX-License-Identifier: Apache-2.0 */
/* Why a port cannot be used: what the service has said about it, which may still be on its way and
 * is fetched. The port's owning thread. */
#pragma once

#include "client-lib/src/port.h"

/* -EPIPE or -EPROTO with its text. For a port that is not port_open(). */
int port_explain(struct odeon_port *port);
