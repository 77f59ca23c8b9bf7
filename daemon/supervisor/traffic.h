/* SPDX-License-Identifier: Apache-2.0 */
/* What has gone through ports: counts that the executor keeps in a port's memory, and round trips
 * that its client's library keeps there (proto/port_layout.h). They are read from the memory files,
 * so nobody is asked, and they are there while the executor is down. What a client has written is
 * told as it is: it is about that client alone, and nothing here depends on it.
 *
 * Event loop thread only.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "daemon/supervisor/port_table.h"
#include "proto/control.pb-c.h"

/* Of the ports that a client has, or that a user's clients have, or had when they went. */
void traffic_of_client(const struct port_table *ports, uint64_t client_id, Odeon__Traffic *ret);
void traffic_of_user(const struct port_table *ports, uid_t uid, Odeon__Traffic *ret);
