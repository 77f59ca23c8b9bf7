/* SPDX-License-Identifier: Apache-2.0 */
/* The turn of those who post through one port (port.L6). Where one thread posts there is none to
 * wait for, and nothing is locked. No call between the two is a point at which a thread is
 * cancelled (connect.C6). */
#pragma once

#include <pthread.h>

#include "client-lib/src/port.h"

static inline void port_lock(struct odeon_port *port)
{
    if (port->shared)
        pthread_mutex_lock(&port->turn);
}

static inline void port_unlock(struct odeon_port *port)
{
    if (port->shared)
        pthread_mutex_unlock(&port->turn);
}
