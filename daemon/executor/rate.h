/* SPDX-License-Identifier: Apache-2.0 */
/* A rate for each user, divided among its clients: pure arithmetic, time comes from the caller.
 *
 * Control thread.  docs/access.md, Quotas.
 *
 * rate.R1  What a user accrues goes to its clients in equal parts.  What a client has not used up
 *     to a tenth of a second's worth flows over into the user's pool, out of which each of its
 *     clients may take.  So a client that stays below its part never waits for one that does not,
 *     and one that is alone has all of it.
 * rate.R2  In the long run a user's ports are granted no more than the rate, whatever its clients
 *     do: what one leaves goes to the pool, a new client brings nothing, and a user is remembered
 *     until the pool would be full anyway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/bounds.h"

struct rate_user {
    bool used;
    uid_t uid;
    uint32_t n_clients;
    double pool;
    uint64_t at_ns; /* up to here it has accrued */
};
struct rate_client {
    uint64_t id; /* 0: free */
    uint32_t n_ports;
    struct rate_user *user;
    double tokens;
};
struct rates {
    uint64_t per_second; /* 0: any number, nothing accrues */
    struct rate_user users[ODEON_PORTS_MAX];
    struct rate_client clients[ODEON_PORTS_MAX];
    struct rate_client *of_port[ODEON_PORTS_MAX]; /* NULL: not bound */
};

void rates_set(struct rates *rates, uint64_t per_second, uint64_t now_ns);
void rates_add(struct rates *rates, uint32_t port, uint64_t client, uid_t uid, uint64_t now_ns);
void rates_remove(struct rates *rates, uint32_t port, uint64_t now_ns);
/* Records that the port may take, some milliseconds' worth; 0: none before *ret_wait_ns have
 * passed. */
uint64_t rates_take(struct rates *rates, uint32_t port, uint64_t now_ns, uint64_t *ret_wait_ns);
