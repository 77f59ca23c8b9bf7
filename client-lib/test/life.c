/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/test/crash.h"
#include "daemon/common/memfd.h"
#include "tests/sim/shim.h"

/* Room for what a test makes: what does not fit any more is dropped, and would not be counted. */
enum { LIFE_FILE_MAX = 1 << 30, LIFE_EVENTS = 4, LIFE_LETTERS_BYTES = 16 << 20 };

int sim_seed_bug; /* tests/sim/shim.h: none */
static struct odeon_test *life_world;

/* ---- the start of an executor */

/* Nothing that waits by the clock: without a message or a timer nobody runs. */
static void life_configure(struct odeon_test *world)
{
    struct sim_random draw = { .state = world->options.seed ^ UINT64_C(0x5bd1e9955bd1e995) };
    uint32_t n = world->options.workers;

    world->config = (struct engine_config){
        .workers_max = n,
        .n_workers = n,
        .queues_per_worker = 1 + random_below(&draw, 3),
        .detached_max = world->options.detached,
        .actors_max = 4 * ODEON_PORTS_MAX,
        .limit_bytes = 1 << 20,
        .outbox_bytes = 256 << 10,
        .backlog_bytes = 1 << 20,
        .dlq_bytes = LIFE_LETTERS_BYTES,
        .durable_bytes = ODEON_DURABLE_MAX,
        .timers_max = 1024,
        .timer_bytes = 1 << 20,
        .stash_max = ODEON_STASH_DEFAULT,
        .throughput = 1u << random_below(&draw, 7),
        .attempts_max = ODEON_ATTEMPTS_DEFAULT,
        .stealing = (enum steal_policy_id)random_below(&draw, STEAL_N),
        .mode = (enum steal_mode)random_below(&draw, STEAL_MODE_N),
        .steal_sources = random_below(&draw, 4),
        .inline_block = host_get_inline_block(),
    };
}

static int life_load(struct odeon_test *world)
{
    int file, copy;

    if (world->options.plugin)
        return plugin_load_linked(world->plugins, world->options.plugin, &world->explain, NULL);
    file = open(world->plugin_file, O_RDONLY | O_CLOEXEC);
    copy = file < 0 ? -errno : memfd_copy_file(file, LIFE_FILE_MAX);
    if (file >= 0)
        close(file);
    if (copy < 0)
        return explain_set(&world->explain, copy, "plugin %s cannot be read: %s",
                           world->plugin_file, strerror(-copy));
    return plugin_load(world->plugins, copy, world->plugin_file, &world->explain, NULL);
}

/* What the engine knows, for the main stack (world.W1). */
static void life_note_types(struct odeon_test *world)
{
    struct engine_message_type known;

    world->n_types = 0;
    for (uint16_t id = MESSAGE_TYPE_FIRST_USER;
         engine_message_type_get(world->engine, id, &known) == 0; id++) {
        void *more = realloc(world->types, (world->n_types + 1) * sizeof(world->types[0]));
        struct world_type *type;

        if (!more)
            sim_fail("no memory for message types");
        world->types = more;
        type = &world->types[world->n_types++];
        *type = (struct world_type){
            .id = id, .version = known.version, .size = known.size, .has_tail = known.has_tail
        };
        strncpy(type->name, known.name, sizeof(type->name) - 1);
        strncpy(type->fields, known.fields, sizeof(type->fields) - 1);
    }
}

static void life_add_ports(struct odeon_test *world)
{
    for (uint32_t i = 0; i < world->options.ports; i++) {
        struct client *client = &world->ports[i].client;
        int r = engine_port_add(world->engine, &client->info, &client->ref);

        if (r < 0)
            sim_fail("port %u cannot be opened: %s", i, strerror(-r));
    }
}

static void life_boot(struct odeon_test *world)
{
    struct engine_recovery report;
    const char *text = "";
    int r = host_new(world->options.workers + world->options.detached, &world->host);

    if (r < 0)
        sim_fail("host_new: %s", strerror(-r));
    world->config.host = host_get_table(world->host);
    r = engine_open(&world->config, world->segment_fd, world->stats_fd, &world->engine, &text);
    if (r < 0)
        sim_fail("the engine cannot be opened: %s: %s", strerror(-r), text);
    life_add_ports(world);
    r = engine_recover(world->engine, &report);
    if (r < 0)
        sim_fail("recovery: %s: %s", strerror(-r), report.damage);
    if ((r = engine_groups_open(world->engine)) < 0)
        sim_fail("groups: %s", strerror(-r));
    if ((r = plugin_registry_new(world->engine, world->host, false, &world->plugins)) < 0)
        sim_fail("plugins: %s", strerror(-r));
    plugin_registry_set_around(world->plugins, crash_around);
    explain_init(&world->explain);
    if (life_load(world) < 0)
        sim_fail("%s", world->explain.text);
    world->explain.length = 0;
    life_note_types(world);
    r = engine_start(world->engine);
    if (r < 0)
        sim_fail("start: %s", strerror(-r));
}

/* ---- the control fiber */

static void life_serve(struct odeon_test *world)
{
    if (!world->pending)
        return;
    world->request_result = world->request(world, world->request_data);
    world->pending = false;
    (void)sim_wake(WAIT_PARKED, WORLD_KEY_DONE, FIBERS_MAX);
    sim_pause();
}

static int life_watch(const struct odeon_test *world)
{
    const int fds[] = { world->bell_fd, engine_event_fd(world->engine),
                        engine_timers_fd(world->engine) };
    int epoll = sim_epoll_create1(EPOLL_CLOEXEC);

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };

        if (sim_epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
            sim_fail("the control thread cannot wait: %s", strerror(errno));
    }
    return epoll;
}

static void life_look_at_events(struct odeon_test *world)
{
    struct engine_event event;

    while (engine_event_next(world->engine, &event))
        if (event.kind == ENGINE_EVENT_PORT_BROKEN)
            sim_fail("port %u is broken: %u", event.id, event.why);
    engine_timers_look(world->engine);
}

static void *life_control_main(void *argument)
{
    struct odeon_test *world = argument;
    struct epoll_event events[LIFE_EVENTS];
    uint64_t rung;
    int epoll;

    sim.current->in_order = true;
    life_boot(world);
    sim.current->in_order = false;
    epoll = life_watch(world);
    world->up = true;
    sim_booted();
    for (;;) {
        life_serve(world);
        life_look_at_events(world);
        (void)sim_epoll_wait(epoll, events, LIFE_EVENTS, -1);
        (void)sim_read(world->bell_fd, &rung, sizeof(rung));
    }
    return NULL;
}

/* Rings for a request, which the main stack cannot (world.W1). */
static void *life_bell_main(void *argument)
{
    struct odeon_test *world = argument;

    for (;;) {
        (void)sim_block(WAIT_PARKED, WORLD_KEY_REQUEST, SIM_NEVER);
        kernel_doorbell_ring(world->bell_fd);
    }
    return NULL;
}

/* ---- what the schedule calls */

/* Nobody can run: time passes, or it is the test's turn. */
static void life_idle(void)
{
    sim.idles = 0;
    sim.steps_max = sim.steps + life_world->options.steps_max;
    while (life_world->up && !sim_anybody_can_run() && sim.next_deadline > life_world->until) {
        if (sim.now < life_world->until)
            sim.now = life_world->until;
        sim_pause();
    }
}

static void life_crashed(void)
{
    struct odeon_test *world = life_world;

    world->up = false;
    crash_begin(world);
    world->plugins = plugin_registry_drop(world->plugins, false);
    world->host = NULL; /* with the engine's memory, as all that is allocated under the shim */
    world->engine = NULL;
    sim_spawn(SIDE_ENGINE, life_control_main, world);
}

/* ---- a world's beginning and end */

/* An executor may die while behaviours come to their end, and the next one carries it out again;
 * behind that none does: what it would leave is half closed. */
static int life_stop(struct odeon_test *world, void *data)
{
    (void)data;
    engine_stop(world->engine);
    sim.crash_when = NULL;
    world->engine = engine_close(world->engine);
    world->plugins = plugin_registry_drop(world->plugins, true);
    world->host = host_free(world->host);
    return 0;
}

void life_begin(struct odeon_test *world)
{
    static const struct sim_hooks hooks = { .idle = life_idle, .crashed = life_crashed };
    uint32_t gap;

    life_world = world;
    world->segment_fd = memfd_create("odeon-test-segment", MFD_CLOEXEC);
    world->stats_fd = memfd_create("odeon-test-stats", MFD_CLOEXEC);
    if (world->segment_fd < 0 || world->stats_fd < 0)
        world_fail(world, "no memory file for a world: %s", strerror(errno));
    sim_begin(world->options.seed, &hooks);
    gap = 1u << random_below(&sim.chance, 8);
    sim.plan = (struct schedule){ .kind = sim.plan.kind,
                                  .gap = gap,
                                  .changes = sim.plan.changes,
                                  .crashes = world->options.crashes };
    sim.crash_at = UINT64_MAX;
    sim.crash_behind_boot = world->options.crashes > 0;
    life_configure(world);
    crash_begin(world);
    world->bell_fd = kernel_doorbell_new();
    sim_spawn(SIDE_ENGINE, life_control_main, world);
    sim_spawn(SIDE_CLIENT, life_bell_main, world);
    for (uint32_t i = 0; i < world->options.ports; i++)
        port_begin(&world->ports[i], i);
    odeon_test_until_idle(world);
}

void life_end(struct odeon_test *world)
{
    sim.crash_when = NULL;
    sim.plan.crashes = 0;
    world->ending = true;
    if (!sim.failed && !sim.over && world->up)
        (void)world_request(world, life_stop, NULL);
    world->plugins = plugin_registry_drop(world->plugins, false);
    for (uint32_t i = 0; i < world->options.ports; i++)
        port_end(&world->ports[i]);
    if (world->segment_fd >= 0)
        close(world->segment_fd);
    if (world->stats_fd >= 0)
        close(world->stats_fd);
    free(world->types);
    free(world->plugin_file);
    life_world = NULL;
}
