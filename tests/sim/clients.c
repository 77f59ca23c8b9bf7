/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a simulated engine: post, receive, compare, and now and then die in the middle of
 * it. */
#include <string.h>

#include <odeon/names.h>

#include "tests/sim/actors.h"

static bool in_order(const struct lane *lane)
{
    return lane->child_at == lane->n_places && workload.overflow == OVERFLOW_NEVER &&
           workload.port_overflow == OVERFLOW_NEVER;
}

static void number_ends(uint32_t client, uint32_t index, uint32_t number)
{
    struct lane *lane = &workload.clients[client].lanes[index];
    if (number < lane->floor)
        sim_fail("client %u, lane %u: number %u of its life before came to its new port", client,
                 index, number);
    if (lane->came[number])
        sim_fail("doubled: client %u, lane %u, number %u came back twice", client, index, number);
    lane->came[number] = true;
    lane->returned++;
    workload.moved = sim.now;
}

static void refusal_came(struct workload_client *wc, const struct envelope *record)
{
    struct refusal refusal;
    memcpy(&refusal, envelope_payload(record), sizeof(refusal));
    if (watchers_refused(wc, &refusal))
        return;
    uint32_t index = (uint32_t)(refusal.correlation >> 32),
             number = (uint32_t)refusal.correlation - 1;
    const struct lane *lane = &wc->lanes[index < wc->n_lanes ? index : 0];
    bool full = (refusal.reason == REASON_QUEUE_FULL || refusal.reason == REASON_USER_SLOW) &&
                workload.overflow != OVERFLOW_NEVER;
    bool faulted = refusal.reason == REASON_ATTEMPTS && number == lane->poison &&
                   lane->faults >= workload.config.attempts_max;
    if (!(full || faulted) || index >= wc->n_lanes || !lane->correlated || number >= lane->posted ||
        refusal.to != workload.roots[lane->roots[0]].ref)
        sim_fail("client %u got a refusal: %s, lane %u, number %u", wc->client.info.id,
                 odeon_reason_name(refusal.reason), index, number);
    number_ends(wc->client.info.id, index, number);
}

static void came_back(struct workload_client *wc, const struct envelope *record)
{
    struct hop hop;
    uint32_t size = (uint32_t)envelope_payload_size(record);
    if (record->type == MESSAGE_TYPE_REFUSAL && size == sizeof(struct refusal)) {
        refusal_came(wc, record);
        return;
    }
    if (record->type == MESSAGE_TYPE_PORT_DOWN && size == sizeof(struct down)) {
        watchers_told(wc, record);
        return;
    }
    if (record->type != workload.message_type || size < sizeof(hop))
        sim_fail("client %u got a record of type %u with %u bytes", wc->client.info.id,
                 record->type, size);
    memcpy(&hop, envelope_payload(record), sizeof(hop));
    if (hop.client != wc->client.info.id || hop.lane >= wc->n_lanes ||
        hop.number >= wc->lanes[hop.lane].posted)
        sim_fail("client %u got what it did not send: client %u, lane %u, number %u",
                 wc->client.info.id, hop.client, hop.lane, hop.number);
    actors_check_filler((uint16_t)size, envelope_payload(record));
    struct lane *lane = &wc->lanes[hop.lane];
    if (envelope_trace(record) != lane->trace)
        sim_fail("client %u, lane %u: number %u, of trace %llu, came back in trace %llu",
                 hop.client, hop.lane, hop.number, (unsigned long long)lane->trace,
                 (unsigned long long)envelope_trace(record));
    number_ends(hop.client, hop.lane, hop.number);
    if (hop.at != lane->n_places) { /* from a place whose next one was full */
        if (workload.overflow == OVERFLOW_NEVER)
            sim_fail("client %u, lane %u: number %u came back from place %u", hop.client, hop.lane,
                     hop.number, hop.at);
        return;
    }
    lane->next += lane->next == lane->poison;
    if (in_order(lane) ? hop.number != lane->next
                       : lane->child_at == lane->n_places && hop.number < lane->next)
        sim_fail("out of order or lost: client %u, lane %u: number %u came back, %u was next",
                 hop.client, hop.lane, hop.number, lane->next);
    lane->next = hop.number + 1;
}

void workload_client_receive(struct workload_client *wc)
{
    for (const struct envelope *record; (record = client_next(&wc->client));)
        came_back(wc, record);
}

static void client_post_one(struct workload_client *wc, uint32_t index)
{
    struct lane *lane = &wc->lanes[index];
    uint8_t payload[HOP_BYTES_MAX];
    struct hop hop = { .origin = wc->client.ref,
                       .client = wc->client.info.id,
                       .lane = index,
                       .number = lane->posted,
                       .n = lane->n_places,
                       .child_at = lane->child_at };
    for (uint32_t i = 0; i < lane->n_places; i++)
        hop.next[i] = workload.roots[lane->roots[i]].ref;
    memcpy(payload, &hop, sizeof(hop));
    actors_fill(payload, (uint16_t)lane->bytes);
    lane->posted++; /* before it can come back */
    workload.messages++;
    wc->client.trace = lane->trace;
    wc->client.when = lane->late_ns ? sim.now + lane->late_ns : 0;
    lane->due_ns[hop.number] = wc->client.when;
    uint64_t correlation = lane->correlated ? (uint64_t)index << 32 | lane->posted : 0;
    client_post(&wc->client, hop.next[0], workload.message_type, lane->urgent ? ENVELOPE_URGENT : 0,
                correlation, payload, (uint16_t)lane->bytes);
}

void workload_client_state(const struct workload_client *wc, uint32_t *ret_left, uint32_t *ret_away)
{
    *ret_left = *ret_away = 0;
    for (uint32_t i = 0; i < wc->n_lanes; i++) {
        *ret_left += wc->lanes[i].numbers - wc->lanes[i].posted;
        *ret_away += wc->lanes[i].posted - wc->lanes[i].returned;
    }
    *ret_away -= wc->written_off;
}

/* False: it dies here. */
static bool post_some(struct workload_client *wc)
{
    uint32_t left, away, burst = 1 + random_below(&wc->random, wc->burst);
    for (uint32_t i = 0; i < burst; i++) {
        workload_client_state(wc, &left, &away);
        if (left == 0 || away >= wc->window)
            break;
        if (wc->life + 1 < wc->lives && wc->dies_after-- == 0)
            return false;
        uint32_t lane = random_below(&wc->random, wc->n_lanes);
        while (wc->lanes[lane].posted == wc->lanes[lane].numbers)
            lane = (lane + 1) % wc->n_lanes;
        client_post_one(wc, lane);
    }
    return true;
}

/* Until everything has come back, or its death. */
static void live(struct workload_client *wc)
{
    uint32_t left, away;
    while (post_some(wc)) {
        if (wc->lazy)
            sim_sleep_ns(random_below(&wc->random, 2000000));
        watchers_post(wc);
        workload_client_receive(wc);
        workload_client_state(wc, &left, &away);
        if (left + away == 0)
            return;
        if (left == 0 || away >= wc->window)
            client_wait(&wc->client);
        if (random_one_in(&wc->random, 8))
            sim_sleep_ns(random_below(&wc->random, 40000));
    }
}

void *workload_client_main(void *argument)
{
    struct workload_client *wc = argument;
    while (!workload.ready)
        (void)sim_block(WAIT_PARKED, PARKED_CLIENTS, SIM_NEVER);
    for (;;) {
        live(wc);
        workload.moved = sim.now;
        if (wc->life + 1 == wc->lives)
            break;
        wc->presence = CLIENT_LEAVING;
        while (wc->presence != CLIENT_HERE)
            (void)sim_block(WAIT_PARKED, PARKED_CLIENTS, SIM_NEVER);
    }
    watchers_finish(wc);
    if (wc->leaves)
        wc->presence = CLIENT_LEAVING;
    wc->done = true;
    return NULL;
}

/* The port of the life before is gone.  What was under way then comes to nobody. */
void workload_client_rejoin(struct workload_client *wc)
{
    for (uint32_t i = 0; i < wc->n_lanes; i++) {
        struct lane *lane = &wc->lanes[i];
        lane->floor = lane->next = lane->returned = lane->posted;
    }
    wc->written_off = wc->watches.n = 0;
    wc->died = true;
    client_again(&wc->client);
    wc->life++;
    wc->presence = CLIENT_JOINING;
}
