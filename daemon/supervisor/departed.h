/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the former odeond that have closed their ports, or left, and could not say so. They
 * leave word in the memory of their ports, and greet once: while no odeond runs nobody hears that,
 * and the next one may have no room for them, or they may have lost their role.
 *
 * departed.DP1  While there is a client without a connection, its ports are looked at once a
 *     second; when there is none any more, nothing is: an idle service is not woken.
 *
 * Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct seat;

struct departed {
    uv_timer_t timer;
    struct seat *seat;
};

/* Clients can come: a client leaves word first and then tries to connect, so that one of the two is
 * found. */
void departed_start(struct departed *departed, uv_loop_t *loop, struct seat *seat);

/* Has the client any port that is kept? */
bool departed_has_open_port(const struct seat *seat, uint64_t client_id);
