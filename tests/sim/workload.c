/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/actors.h"
#include "tests/sim/check.h"

enum { PARKED_CLIENTS = 1, STILL_NS = 1000 * 1000 * 1000, DRAIN_NS = 1000 * 1000 * 1000 };

struct workload workload;
static int segment_fd = -1, stats_fd = -1;

/* ---- clients ---- */

static bool in_order(const struct lane *lane)
{
    return lane->child_at == lane->n_places && workload.overflow == OVERFLOW_NEVER;
}

static void number_ends(uint32_t client, uint32_t index, uint32_t number)
{
    struct lane *lane = &workload.clients[client].lanes[index];
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
    uint32_t index = (uint32_t)(refusal.correlation >> 32), number = (uint32_t)refusal.correlation - 1;
    if (workload.overflow == OVERFLOW_NEVER || refusal.reason != REASON_QUEUE_FULL || index >= wc->n_lanes || !wc->lanes[index].correlated ||
        number >= wc->lanes[index].posted || refusal.to != workload.roots[wc->lanes[index].roots[0]].ref)
        sim_fail("client %u got a refusal: %s, lane %u, number %u", wc->client.info.id, envelope_reason_name(refusal.reason), index, number);
    number_ends(wc->client.info.id, index, number);
}

static void came_back(struct workload_client *wc, const struct envelope *record)
{
    struct hop hop;
    if (record->type == MESSAGE_TYPE_REFUSAL && record->length == sizeof(struct refusal)) {
        refusal_came(wc, record);
        return;
    }
    if (record->type != workload.message_type || record->length < sizeof(hop))
        sim_fail("client %u got a record of type %u with %u bytes", wc->client.info.id, record->type, record->length);
    memcpy(&hop, envelope_payload(record), sizeof(hop));
    if (hop.client != wc->client.info.id || hop.lane >= wc->n_lanes || hop.number >= wc->lanes[hop.lane].posted)
        sim_fail("client %u got what it did not send: client %u, lane %u, number %u", wc->client.info.id, hop.client, hop.lane, hop.number);
    actors_check_filler(record->length, envelope_payload(record));
    struct lane *lane = &wc->lanes[hop.lane];
    number_ends(hop.client, hop.lane, hop.number);
    if (hop.at != lane->n_places) { /* from a place whose next one was full */
        if (workload.overflow == OVERFLOW_NEVER)
            sim_fail("client %u, lane %u: number %u came back from place %u", hop.client, hop.lane, hop.number, hop.at);
        return;
    }
    if (in_order(lane) ? hop.number != lane->next : lane->child_at == lane->n_places && hop.number < lane->next)
        sim_fail("out of order or lost: client %u, lane %u: number %u came back, %u was next", hop.client, hop.lane, hop.number, lane->next);
    lane->next = hop.number + 1;
}

static void client_receive_all(struct workload_client *wc)
{
    for (const struct envelope *record; (record = client_next(&wc->client));)
        came_back(wc, record);
}

static void client_post_one(struct workload_client *wc, uint32_t index)
{
    struct lane *lane = &wc->lanes[index];
    uint8_t payload[HOP_BYTES_MAX];
    struct hop hop = { .origin = wc->client.ref, .client = wc->client.info.id, .lane = index, .number = lane->posted, .n = lane->n_places, .child_at = lane->child_at };
    for (uint32_t i = 0; i < lane->n_places; i++)
        hop.next[i] = workload.roots[lane->roots[i]].ref;
    memcpy(payload, &hop, sizeof(hop));
    actors_fill(payload, (uint16_t)lane->bytes);
    lane->posted++; /* before it can come back */
    workload.messages++;
    uint64_t correlation = lane->correlated ? (uint64_t)index << 32 | lane->posted : 0;
    client_post(&wc->client, hop.next[0], workload.message_type, correlation, payload, (uint16_t)lane->bytes);
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

static void *client_main(void *argument)
{
    struct workload_client *wc = argument;
    while (!workload.ready)
        (void)sim_block(WAIT_PARKED, PARKED_CLIENTS, SIM_NEVER);
    for (;;) {
        uint32_t left, away, burst = 1 + random_below(&wc->random, wc->burst);
        for (uint32_t i = 0; i < burst; i++) {
            workload_client_state(wc, &left, &away);
            if (left == 0 || away >= wc->window)
                break;
            uint32_t lane = random_below(&wc->random, wc->n_lanes);
            while (wc->lanes[lane].posted == wc->lanes[lane].numbers)
                lane = (lane + 1) % wc->n_lanes;
            client_post_one(wc, lane);
        }
        client_receive_all(wc);
        workload_client_state(wc, &left, &away);
        if (left + away == 0)
            break;
        if (left == 0 || away >= wc->window)
            client_wait(&wc->client);
        if (random_one_in(&wc->random, 8))
            sim_sleep_ns(random_below(&wc->random, 40000));
    }
    wc->done = true;
    return NULL;
}

/* ---- the control thread ---- */

static void boot(void)
{
    const char *text;
    struct engine *e;
    struct engine_recovery report;
    int r = engine_open(&workload.config, segment_fd, stats_fd, &e, &text);
    if (r < 0)
        sim_fail("engine_open: %s: %s", strerror(-r), text);
    for (uint32_t i = 0; i < workload.n_clients; i++) {
        actor_ref ref;
        struct client *c = &workload.clients[i].client;
        if ((r = engine_port_add(e, &c->info, &ref)) < 0)
            sim_fail("port %u: %s", i, strerror(-r));
        if (workload.ready && ref != c->ref)
            sim_fail("port %u has another reference than before", i);
        c->ref = ref;
    }
    if ((r = engine_recover(e, &report)) < 0)
        sim_fail("recovery: %s", strerror(-r));
    actors_register(e);
    if ((r = engine_start(e)) < 0)
        sim_fail("start: %s", strerror(-r));
    workload.engine = e;
}

static void root_make(uint32_t i)
{
    struct workload_root *root = &workload.roots[i];
    char name[16];
    actor_ref ref;
    snprintf(name, sizeof(name), "root%u", i);
    struct engine_spawn spawn = { .placement = root->placement, .place = ENGINE_ANYWHERE, .name = name, .args = &i, .args_size = sizeof(i) };
    int r = engine_actor_lookup(workload.engine, name, &ref);
    if (r == -ENOENT && !workload.ready)
        r = engine_actor_spawn_placed(workload.engine, root->kept ? workload.account_type : workload.root_type, &spawn, &ref);
    if (r < 0)
        sim_fail("root actor %u: %s", i, strerror(-r));
    if (workload.ready && ref != root->ref)
        sim_fail("root actor %u has another reference than before", i);
    root->ref = ref;
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (!workload.clients[i].done)
            return false;
    return true;
}

static void change_something(void)
{
    struct engine_config config = workload.config;
    struct engine_change change;
    const char *text = "";
    struct sim_random *random = &workload.random;
    config.n_workers = 1 + random_below(random, config.workers_max);
    config.stealing = (enum steal_policy_id)random_below(random, STEAL_N);
    config.mode = (enum steal_mode)random_below(random, STEAL_MODE_N);
    config.steal_sources = random_below(random, 4);
    config.throughput = 1u << random_below(random, 8);
    int r = engine_reconfigure(workload.engine, &config, UINT64_C(1000000000), &change, &text);
    if (r == -EBUSY)
        return;
    if (r < 0)
        sim_fail("reconfigure: %s: %s", strerror(-r), text);
    workload.config = config;
}

static void wait_for_clients(void)
{
    while (!all_done()) {
        sim_sleep_ns(1000 + random_below(&workload.random, 300000));
        if (workload.changed < workload.n_changes) {
            workload.changed++;
            change_something();
        }
        if (sim.now - workload.moved > STILL_NS)
            sim_fail("lost: nothing has come back for a second");
    }
}

static void shut_down(void)
{
    uint64_t unreceived;
    if (engine_drain(workload.engine, DRAIN_NS, true, &unreceived) != 0)
        sim_fail("not drained: %llu messages are left", (unsigned long long)unreceived);
    engine_stop(workload.engine);
    check_empty();
    workload.engine = engine_close(workload.engine);
    if (kernel_descriptors_open())
        sim_fail("left over: %d descriptors are open", kernel_descriptors_open());
}

static void *control_main(void *argument)
{
    (void)argument;
    sim.current->in_order = true;
    boot();
    sim.current->in_order = false;
    sim_booted();
    for (uint32_t i = 0; i < workload.n_roots; i++)
        root_make(i);
    workload.ready = true;
    workload.moved = sim.now;
    (void)sim_wake(WAIT_PARKED, PARKED_CLIENTS, FIBERS_MAX);
    wait_for_clients();
    shut_down();
    sim_over();
}

static void control_begin(void)
{
    workload.engine = NULL;
    workload.control = sim_spawn(SIDE_ENGINE, control_main, NULL);
}

/* ---- a seed ---- */

static void files_empty(void)
{
    if (segment_fd < 0) {
        segment_fd = memfd_create("simulated-segment", MFD_CLOEXEC);
        stats_fd = memfd_create("simulated-stats", MFD_CLOEXEC);
    }
    if (segment_fd < 0 || stats_fd < 0 || ftruncate(segment_fd, 0) < 0 || ftruncate(stats_fd, 0) < 0) {
        perror("simulate: the segment's file");
        exit(2);
    }
}

void workload_run(uint64_t seed)
{
    static const struct sim_hooks hooks = { .idle = check_idle, .crashed = control_begin };
    sim_begin(seed, &hooks);
    files_empty();
    workload_draw(seed);
    control_begin();
    for (uint32_t i = 0; i < workload.n_clients; i++)
        workload.clients[i].fiber = sim_spawn(SIDE_CLIENT, client_main, &workload.clients[i]);
    sim_run();
}
