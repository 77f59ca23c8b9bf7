/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/engine/run/pack.h"
#include "tests/sim/actors.h"
#include "tests/sim/check.h"

enum { STILL_NS = 1000 * 1000 * 1000, DRAIN_NS = 1000 * 1000 * 1000 };

struct workload workload;
static int segment_fd = -1, stats_fd = -1;

/* ---- the control thread ---- */

static void port_add(struct engine *e, struct workload_client *wc)
{
    actor_ref ref;
    int r = engine_port_add(e, &wc->client.info, &ref);
    if (r < 0)
        sim_fail("port %u: %s", wc->client.info.id, strerror(-r));
    if (workload.ready && wc->presence == CLIENT_HERE && ref != wc->client.ref)
        sim_fail("port %u has another reference than before", wc->client.info.id);
    wc->client.ref = ref;
}

static void boot(void)
{
    const char *text;
    struct engine *e;
    struct engine_recovery report;
    int r = engine_open(&workload.config, segment_fd, stats_fd, &e, &text);
    if (r < 0)
        sim_fail("engine_open: %s: %s", strerror(-r), text);
    promises_opened(e);
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (workload.clients[i].presence != CLIENT_GONE)
            port_add(e, &workload.clients[i]);
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
    struct engine_spawn spawn = { .placement = root->placement,
                                  .place = root->place,
                                  .name = name,
                                  .args = &i,
                                  .args_size = sizeof(i) };
    int r = engine_actor_lookup(workload.engine, name, &ref);
    while (r == -ENOENT || r == -EAGAIN) { /* EAGAIN: no thread for a detached one */
        if (workload.ready)
            break;
        r = engine_actor_spawn_placed(
            workload.engine, root->kept ? workload.account_type : workload.root_type, &spawn, &ref);
    }
    if (r < 0)
        sim_fail("root actor %u: %s", i, strerror(-r));
    if (workload.ready && ref != root->ref)
        sim_fail("root actor %u has another reference than before", i);
    root->ref = ref;
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (!workload.clients[i].done || workload.clients[i].presence == CLIENT_LEAVING)
            return false;
    return true;
}

static void change_settings(void)
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
    if (workload.endless.there)
        config.throughput = endless_throughput(random);
    int r = engine_reconfigure(workload.engine, &config, UINT64_C(1000000000), &change, &text);
    if (r == -EBUSY || r == -EAGAIN)
        return;
    if (r < 0)
        sim_fail("reconfigure: %s: %s", strerror(-r), text);
    workload.config = config;
}

/* As a trial does, whether it makes sense or not. */
static void change_packing(void)
{
    pack_set(workload.engine, 1 + random_below(&workload.random, engine_workers(workload.engine)));
}

/* Those whose port has just been opened. */
static void clients_enter(void)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (workload.clients[i].presence == CLIENT_JOINING)
            workload.clients[i].presence = CLIENT_HERE;
    (void)sim_wake(WAIT_PARKED, PARKED_CLIENTS, FIBERS_MAX);
}

/* As the supervisor does: whose client has died is closed, and given to the next one when the
 * engine says that it is. */
static void clients_come_and_go(void)
{
    struct engine_event event;
    for (uint32_t i = 0; i < workload.n_clients; i++) {
        struct workload_client *wc = &workload.clients[i];
        if (wc->presence == CLIENT_LEAVING && !workload.asked_to_close[i]) {
            workload.asked_to_close[i] = true;
            int r = engine_port_remove(workload.engine, i, wc->client.info.generation);
            if (r < 0)
                sim_fail("port %u cannot be closed: %s", i, strerror(-r));
        }
    }
    while (engine_event_next(workload.engine, &event)) {
        struct workload_client *wc = &workload.clients[event.id];
        if (event.kind == ENGINE_EVENT_PORT_OVER && event.why == 1)
            continue; /* its user's time */
        if (event.kind == ENGINE_EVENT_PORT_LOUD) {
            if (engine_port_mute(workload.engine, event.id, event.generation) == 0)
                (void)engine_port_listen(workload.engine, event.id, event.generation);
            continue;
        }
        if (event.kind != ENGINE_EVENT_PORT_REMOVED || event.id >= workload.n_clients ||
            wc->presence != CLIENT_LEAVING || event.generation != wc->client.info.generation ||
            event.why != PORT_OK)
            sim_fail("event %d of port %u, generation %u: %u", (int)event.kind, event.id,
                     event.generation, event.why);
        wc->presence = CLIENT_GONE;
        workload.moved = sim.now;
        if (wc->done)
            continue;
        workload_client_rejoin(wc);
        workload.asked_to_close[event.id] = false;
        port_add(workload.engine, wc);
        clients_enter();
    }
}

/* What a cancelled timer has sent is thrown away where it would be run: a long pile of it, too, is
 * got through. */
static void note_revoked(void)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < engine_workers(workload.engine); i++)
        n += load_relaxed(&workload.engine->workers[i]->stats->value[STAT_timers_revoked]);
    if (n != workload.revoked)
        workload.moved = sim.now;
    workload.revoked = n;
}

static void wait_for_clients(void)
{
    while (!all_done() || !promises_done(workload.engine)) {
        sim_sleep_ns(1000 + random_below(&workload.random, 300000));
        clients_come_and_go();
        promises_look(workload.engine);
        if (workload.changed < workload.n_changes) {
            workload.changed++;
            if (random_one_in(&workload.random, 4))
                actors_reload_children(workload.engine);
            else if (random_one_in(&workload.random, 3))
                change_packing();
            else
                change_settings();
        }
        note_revoked();
        if (sim.now - workload.moved <= STILL_NS)
            continue;
        promises_check_still(workload.engine);
        sim_fail("lost: nothing has been run, or come back, for a second");
    }
}

static void shut_down(void)
{
    uint64_t unreceived;
    workload.endless.halted = true;
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
    endless_begin(workload.engine);
    promises_begin(workload.engine);
    workload.ready = true;
    workload.moved = sim.now;
    clients_enter();
    wait_for_clients();
    shut_down();
    sim_over();
}

static void control_begin(void)
{
    workload.engine = NULL;
    memset(workload.asked_to_close, 0, sizeof(workload.asked_to_close));
    promises_crashed();
    workload.control = sim_spawn(SIDE_ENGINE, control_main, NULL);
}

/* ---- a seed ---- */

static void files_empty(void)
{
    if (segment_fd < 0) {
        segment_fd = memfd_create("simulated-segment", MFD_CLOEXEC);
        stats_fd = memfd_create("simulated-stats", MFD_CLOEXEC);
    }
    if (segment_fd < 0 || stats_fd < 0 || ftruncate(segment_fd, 0) < 0 ||
        ftruncate(stats_fd, 0) < 0) {
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
        workload.clients[i].fiber =
            sim_spawn(SIDE_CLIENT, workload_client_main, &workload.clients[i]);
    sim_run();
}
