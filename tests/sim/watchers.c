/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/watchers.h"

#include <string.h>

#include <odeon/names.h>

#include "tests/sim/workload.h"

enum { WATCHERS_ONE_IN = 4 };
#define WATCHERS_ID (UINT64_C(1) << 40) /* no lane's correlation id has this bit */

void watchers_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0x94d049bb133111eb) };
    if (!random_one_in(&random, WATCHERS_ONE_IN) || workload.overflow != OVERFLOW_NEVER ||
        workload.port_overflow != OVERFLOW_NEVER || workload.endless.there)
        return;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        workload.clients[i].watches.most = 1 + random_below(&random, WATCHES_MAX);
    workload_have_timers();
}

static const struct workload_client *watchers_client(actor_ref whom)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (actor_ref_slot(workload.clients[i].client.ref) == actor_ref_slot(whom))
            return &workload.clients[i];
    return NULL;
}

/* Not known of a mayfly, which ends by itself. */
static bool watchers_may_have_ended(const struct watched_end *watch)
{
    actor_ref whom = watch->whom;
    const struct workload_client *client = watchers_client(whom);
    if (client)
        return client->client.ref != whom || client->presence == CLIENT_LEAVING ||
               client->presence == CLIENT_GONE;
    for (uint32_t i = 0; i < workload.n_roots; i++)
        if (workload.roots[i].ref == whom)
            return !workload.roots[i].kept && watch->crashes != sim.n_crashes;
    return true;
}

/* One that it watches, that has ended perhaps, and of which it has not been told: this is too late,
 * beside one that is not (timer_owners.TO3). 0: there is none. */
static actor_ref watchers_untold(const struct workload_client *wc)
{
    for (uint32_t i = 0; i < wc->watches.n; i++)
        if (!wc->watches.of[i].told && watchers_client(wc->watches.of[i].whom) &&
            watchers_may_have_ended(&wc->watches.of[i]))
            return wc->watches.of[i].whom;
    return 0;
}

/* Another client, or one that a keeper has made, or a root. */
static actor_ref watchers_draw_whom(struct workload_client *wc)
{
    actor_ref untold = watchers_untold(wc);
    if (untold && random_one_in(&wc->random, 2))
        return untold;
    struct promises *promises = &workload.promises;
    uint32_t client = random_below(&wc->random, workload.n_clients);
    const struct keeper_book *book =
        &promises->keepers[promises->n ? random_below(&wc->random, promises->n) : 0];
    uint32_t at = book->n ? random_below(&wc->random, book->n) : 0;
    if (random_one_in(&wc->random, 2) && &workload.clients[client] != wc &&
        workload.clients[client].client.ref != 0)
        return workload.clients[client].client.ref;
    if (book->n && book->promises[at].kind == PROMISE_END)
        return book->promises[at].mayfly;
    return workload.roots[random_below(&wc->random, workload.n_roots)].ref;
}

static void watchers_tell(struct workload_client *wc, const struct watched_end *watch,
                          uint16_t type)
{
    wc->client.trace = wc->client.when = 0;
    client_post(&wc->client, watch->whom, type, 0, watch->id, NULL, 0);
}

static void watchers_give_up(struct workload_client *wc, struct watched_end *watch)
{
    if (watch->told || watch->given_up)
        return;
    watch->given_up = true; /* before it can be refused */
    workload.watches_given_up++;
    watchers_tell(wc, watch, MESSAGE_TYPE_PORT_DEMONITOR);
}

void watchers_post(struct workload_client *wc)
{
    struct watched_ends *watches = &wc->watches;
    if (watches->most == 0 || !random_one_in(&wc->random, 3))
        return;
    if (watches->n > 0 && random_one_in(&wc->random, 4)) {
        watchers_give_up(wc, &watches->of[random_below(&wc->random, watches->n)]);
        return;
    }
    if (watches->n == watches->most)
        return;
    struct watched_end *watch = &watches->of[watches->n++];
    *watch = (struct watched_end){ .whom = watchers_draw_whom(wc),
                                   .id = WATCHERS_ID | wc->life << 8 | watches->n,
                                   .crashes = sim.n_crashes };
    watchers_tell(wc, watch, MESSAGE_TYPE_PORT_DOWN);
}

static bool watchers_must_have_ended(actor_ref whom)
{
    const struct workload_client *client = watchers_client(whom);
    return client && (client->client.ref != whom || client->presence == CLIENT_GONE);
}

static bool watchers_all_told(const struct watched_ends *watches)
{
    for (uint32_t i = 0; i < watches->n; i++)
        if (!watches->of[i].told && !watches->of[i].given_up &&
            watchers_must_have_ended(watches->of[i].whom))
            return false;
    return true;
}

void watchers_finish(struct workload_client *wc)
{
    while (!watchers_all_told(&wc->watches)) {
        client_wait(&wc->client);
        workload_client_receive(wc);
    }
    for (uint32_t i = 0; i < wc->watches.n; i++)
        watchers_give_up(wc, &wc->watches.of[i]);
}

static struct watched_end *watchers_find(struct workload_client *wc, uint64_t id)
{
    for (uint32_t i = 0; i < wc->watches.n; i++)
        if (wc->watches.of[i].id == id)
            return &wc->watches.of[i];
    return NULL;
}

void watchers_told(struct workload_client *wc, const struct envelope *record)
{
    struct down down;
    memcpy(&down, envelope_payload(record), sizeof(down));
    struct watched_end *watch = watchers_find(wc, down.monitor);
    if (!watch || watch->whom != down.ref)
        sim_fail("client %u is told of an end that it does not watch", wc->client.info.id);
    if (watch->told)
        sim_fail("doubled: client %u is told of one end twice", wc->client.info.id);
    if (!watchers_may_have_ended(watch))
        sim_fail("client %u is told of the end of one that lives: %s", wc->client.info.id,
                 odeon_reason_name(down.reason));
    watch->told = true;
    workload.watches_told++;
    workload.moved = sim.now;
}

bool watchers_refused(struct workload_client *wc, const struct refusal *refusal)
{
    if (!(refusal->correlation & WATCHERS_ID))
        return false;
    struct watched_end *watch = watchers_find(wc, refusal->correlation);
    if (!watch || !watch->given_up || watch->refused || refusal->to != watch->whom ||
        refusal->reason != REASON_NO_SUCH_MONITOR)
        sim_fail("client %u: a watch is refused: %s", wc->client.info.id,
                 odeon_reason_name(refusal->reason));
    watch->refused = true;
    return true;
}

void watchers_check_end(const struct workload_client *wc)
{
    for (uint32_t i = 0; i < wc->watches.n; i++) {
        const struct watched_end *watch = &wc->watches.of[i];
        if (watch->given_up && watch->told != watch->refused)
            sim_fail("client %u has given up watch %u: it is told%s of the end, and%s that there "
                     "is no such watch",
                     wc->client.info.id, i, watch->told ? "" : " nothing",
                     watch->refused ? "" : " not");
    }
}
