/* SPDX-License-Identifier: Apache-2.0 */
/* See rate.h. */
#include "daemon/executor/rate.h"

#include <stddef.h>

#include "daemon/common/check.h"

#define SECOND_NS    1e9
#define BURST_S      0.1                  /* rate.R1 */
#define GRANT_S      0.02                 /* of a client's part go to a port at once */
#define FORGOTTEN_NS UINT64_C(1000000000) /* later than that the pool is full */

static double rate_at_least_one(double n)
{
    return n < 1 ? 1 : n;
}

static double rate_part(const struct rates *rates, const struct rate_user *user)
{
    return (double)rates->per_second / (user->n_clients ? user->n_clients : 1);
}

static void rate_pool_add(const struct rates *rates, struct rate_user *user, double tokens)
{
    double most = rate_at_least_one((double)rates->per_second * BURST_S);

    user->pool += tokens;
    if (user->pool > most)
        user->pool = most;
}

static void rate_accrue(struct rates *rates, struct rate_user *user, uint64_t now_ns)
{
    double seconds = (double)(now_ns - user->at_ns) / SECOND_NS,
           each = rate_part(rates, user) * seconds;
    double most = rate_at_least_one(rate_part(rates, user) * BURST_S);

    user->at_ns = now_ns;
    if (user->n_clients == 0)
        rate_pool_add(rates, user, each);
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++) {
        struct rate_client *client = &rates->clients[i];

        if (client->id == 0 || client->user != user)
            continue;
        client->tokens += each;
        if (client->tokens > most) {
            rate_pool_add(rates, user, client->tokens - most);
            client->tokens = most;
        }
    }
}

static struct rate_user *rate_find_user(struct rates *rates, uid_t uid)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        if (rates->users[i].used && rates->users[i].uid == uid)
            return &rates->users[i];
    return NULL;
}

/* There is room: each has a port, or is the one that has been idle for longest. */
static struct rate_user *rate_make_user(struct rates *rates, uid_t uid, uint64_t now_ns)
{
    struct rate_user *room = NULL;

    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++) {
        struct rate_user *user = &rates->users[i];

        if (user->used && user->n_clients == 0 && now_ns - user->at_ns > FORGOTTEN_NS)
            user->used = false;
        if (!user->used) {
            room = user;
            break;
        }
        if (user->n_clients == 0 && (!room || user->at_ns < room->at_ns))
            room = user;
    }
    if (!room)
        return NULL;
    *room = (struct rate_user){ .used = true, .uid = uid, .at_ns = now_ns };
    rate_pool_add(rates, room, (double)rates->per_second);
    return room;
}

static struct rate_client *rate_find_client(struct rates *rates, uint64_t id)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        if (rates->clients[i].id == id)
            return &rates->clients[i];
    return NULL;
}

void rates_set(struct rates *rates, uint64_t per_second, uint64_t now_ns)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        if (rates->users[i].used)
            rate_accrue(rates, &rates->users[i], now_ns); /* at the old rate */
    rates->per_second = per_second;
}

void rates_add(struct rates *rates, uint32_t port, uint64_t id, uid_t uid, uint64_t now_ns)
{
    struct rate_client *client = rate_find_client(rates, id);
    struct rate_user *user;

    if (client) {
        client->n_ports++;
        rates->of_port[port] = client;
        return;
    }
    client = rate_find_client(rates, 0);
    user = rate_find_user(rates, uid);
    if (!user)
        user = rate_make_user(rates, uid, now_ns);
    if (!client || !user) /* not reached: there are as many as ports */
        return;
    rate_accrue(rates, user, now_ns);
    user->n_clients++;
    *client = (struct rate_client){ .id = id, .n_ports = 1, .user = user };
    rates->of_port[port] = client;
}

void rates_remove(struct rates *rates, uint32_t port, uint64_t now_ns)
{
    struct rate_client *client = rates->of_port[port];

    if (!client)
        return;
    rates->of_port[port] = NULL;
    rate_accrue(rates, client->user, now_ns);
    if (--client->n_ports > 0)
        return;
    rate_pool_add(rates, client->user, client->tokens);
    client->user->n_clients--;
    *client = (struct rate_client){ 0 };
}

uint64_t rates_take(struct rates *rates, uint32_t port, uint64_t now_ns, uint64_t *ret_wait_ns)
{
    struct rate_client *client = rates->of_port[port];
    double wanted, least, own;

    rate_accrue(rates, client->user, now_ns);
    wanted = rate_at_least_one(rate_part(rates, client->user) * GRANT_S);
    least = rate_at_least_one(wanted / 2); /* not one by one */
    if (client->tokens + client->user->pool < least) {
        *ret_wait_ns = (uint64_t)((least - client->tokens - client->user->pool) /
                                  rate_part(rates, client->user) * SECOND_NS) +
                       1;
        return 0;
    }
    if (wanted > client->tokens + client->user->pool)
        wanted = client->tokens + client->user->pool;
    wanted = (double)(uint64_t)wanted;
    own = client->tokens < wanted ? client->tokens : wanted;
    client->tokens -= own;
    client->user->pool -= wanted - own;
    /* within what a sum of the two may be rounded by */
    check("rate.R2", client->tokens > -1 && client->user->pool > -1);
    *ret_wait_ns = 0;
    return (uint64_t)wanted;
}
