/* SPDX-License-Identifier: Apache-2.0 */
/* See engine_world.h. */
#include "tests/fuzz/engine_world.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/engine/base/client_load.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"

enum { ROUNDS_MAX = 2000 };
#define CLIENT_BYTES (port_ring_offset(page_bytes()) + WORLD_RING)

static struct world world;

struct change {
    uint32_t n;
    bool near;
    uint64_t offset, value;
};
static struct change changes[WORLD_CHANGES];
static uint32_t n_changes, n_loads;
static uint8_t loaded[WORLD_RING / 8]; /* header words of this visit */

/* The world is not taken down, and much of it hangs on memory that is mapped, where the leak
 * detector does not look. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* ---- while the engine looks ---- */

void fuzz_client_load(enum client_load kind, const volatile void *at)
{
    const struct port *port = &world.engine->ports.table[WORLD_HOSTILE];
    const uint8_t *base = (const uint8_t *)port->client_words;
    uint64_t offset = (uint64_t)((const uint8_t *)(uintptr_t)at - base);

    if (!base || offset >= CLIENT_BYTES + WORLD_RING)
        return; /* the honest client's */
    n_loads++;
    for (uint32_t i = 0; i < n_changes; i++)
        if (changes[i].n == n_loads) {
            uint64_t where =
                changes[i].near ? offset + 8 * (changes[i].offset % 8) : changes[i].offset;

            memcpy((uint8_t *)world_hostile()->mine + where % (CLIENT_BYTES - 8), &changes[i].value,
                   8);
        }
    if (kind == CLIENT_LOAD_HEADER) {
        uint64_t word = (offset - port_ring_offset(page_bytes())) % WORLD_RING / 8;

        FUZZ_EXPECT(!loaded[word]); /* engine_world.E2 */
        loaded[word] = 1;
    }
}

void world_change(uint32_t n, bool near, uint64_t offset, uint64_t value)
{
    if (n_changes < WORLD_CHANGES)
        changes[n_changes++] = (struct change){ n_loads + 1 + n, near, offset, value };
}

/* ---- actors ---- */

static void check_sender(const struct engine_context *ctx)
{
    FUZZ_EXPECT(ctx->sender == world.client[WORLD_HONEST].ref ||
                ctx->sender == world.client[WORLD_HOSTILE].ref);
    FUZZ_EXPECT(ctx->self == world.echo);
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    check_sender(ctx);
    FUZZ_EXPECT(ctx->message_type == world.number && ctx->message_size == 8);
    (void)engine_ctx_reply(ctx, world.number, message, 8, NULL, 0);
    return ALLOCATION_NODELETE;
}

static int on_bulk(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    check_sender(ctx);
    FUZZ_EXPECT(ctx->message_type == world.bulk && ctx->message_size <= ODEON_PAYLOAD_MAX);
    (void)engine_ctx_reply(ctx, world.bulk, message, ctx->message_size, NULL, 0);
    return ALLOCATION_NODELETE;
}

/* Many answers, so that ring and backlog fill up. */
static int on_flood(void *self, const void *message, struct engine_context *ctx)
{
    static const uint8_t bulk[1024];
    uint64_t n;

    (void)self;
    check_sender(ctx);
    memcpy(&n, message, 8);
    for (uint64_t i = 0; i < n % 100; i++)
        (void)engine_ctx_reply(ctx, world.bulk, bulk, (n >> 8) % sizeof(bulk), NULL, 0);
    return ALLOCATION_NODELETE;
}

/* ---- making it ---- */

static uint16_t message(const char *name, uint32_t size, bool tail)
{
    uint16_t id = 0;

    FUZZ_EXPECT(engine_message_type_intern(world.engine, name, 1, size, tail, "", &id) == 0);
    return id;
}

static void *map_twice(int fd)
{
    uint8_t *base =
        mmap(NULL, CLIENT_BYTES + WORLD_RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;

    FUZZ_EXPECT(base != MAP_FAILED && mmap(base, CLIENT_BYTES, protection, flags, fd, 0) == base);
    FUZZ_EXPECT(mmap(base + CLIENT_BYTES, WORLD_RING, protection, flags, fd,
                     port_ring_offset(page_bytes())) == base + CLIENT_BYTES);
    return base;
}

/* With the memory of its predecessor, which is zeroed: making files for each input would be most of
 * the work. */
static void client_open(uint32_t id)
{
    struct world_client *c = &world.client[id];

    if (!c->mine) {
        c->info = (struct engine_port_info){
            .id = id,
            .client = id,
            .submission_bytes = WORLD_RING,
            .delivery_bytes = WORLD_RING,
            .client_fd = memfd_make_sealed("client", CLIENT_BYTES),
            .executor_fd = memfd_make_sealed("executor", CLIENT_BYTES),
            .doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
            .pipe_fd = -1,
        };
        c->mine = map_twice(c->info.client_fd);
        c->theirs = map_twice(c->info.executor_fd);
        c->submission = (uint8_t *)c->mine + port_ring_offset(page_bytes());
        c->delivery = (const uint8_t *)c->theirs + port_ring_offset(page_bytes());
    }
    memset((void *)c->mine, 0, CLIENT_BYTES);
    memset((void *)(uintptr_t)c->theirs, 0, CLIENT_BYTES);
    c->tail = c->taken = 0;
    c->info.generation++;
    FUZZ_EXPECT(engine_port_add(world.engine, &c->info, &c->ref) == 0);
}

/* Anew where a client has sent it away, as clients may. */
static void spawn_echo(void)
{
    struct engine_actor_view view;

    world.former = world.echo; /* what it has sent may still wait in a backlog */
    if (!world.echo || engine_actor_get(world.engine, world.echo, &view) < 0)
        FUZZ_EXPECT(engine_actor_spawn(world.engine, world.type, NULL, NULL, 0, &world.echo) == 0);
}

static void make(void)
{
    struct engine_recovery report;
    const char *text;

    world.config = (struct engine_config){
        .n_workers = 1,
        .queues_per_worker = 2,
        .actors_max = 2 * ODEON_PORTS_MAX,
        .limit_bytes = 8192,
        .outbox_bytes = 1 << 20,
        .backlog_bytes = 1 << 17,
        .dlq_bytes = 1 << 16,
        .durable_bytes = 64,
        .throughput = 64,
        .attempts_max = 3,
    };
    FUZZ_EXPECT(
        engine_open(&world.config, memfd_make_sealed("segment", engine_segment_size(&world.config)),
                    memfd_make_sealed("stats", STATS_SEGMENT_SIZE), &world.engine, &text) == 0);
    FUZZ_EXPECT(engine_recover(world.engine, &report) == 0);
    world.number = message("number", 8, false);
    world.bulk = message("bulk", 0, true);
    world.flood = message("flood", 8, false);
    const struct engine_behaviour behaviours[] = {
        { world.number, 8, false, on_number },
        { world.bulk, 0, true, on_bulk },
        { world.flood, 8, false, on_flood },
    };
    const struct engine_actor_type_info info = { .name = "echo",
                                                 .plugin = "fuzz",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .n_behaviours = 3,
                                                 .behaviours = behaviours };
    FUZZ_EXPECT(engine_actor_type_register(world.engine, &info, &world.type) == 0);
    FUZZ_EXPECT(engine_actor_spawn(world.engine, world.type, NULL, NULL, 0, &world.dead) == 0);
    spawn_echo();
    world.dead = actor_ref_make(actor_ref_slot(world.dead), actor_ref_generation(world.dead) + 1);
    client_open(WORLD_HONEST);
    client_open(WORLD_HOSTILE);
}

struct world *world_get(void)
{
    if (!world.engine)
        make();
    return &world;
}

struct world_client *world_hostile(void)
{
    return &world.client[WORLD_HOSTILE];
}

/* ---- clients ---- */

void world_put(struct world_client *c, const struct envelope *envelope, struct input *payload)
{
    uint8_t *at = c->submission + (c->tail & (WORLD_RING - 1));
    struct input part =
        input_part(payload, envelope->length < WORLD_RING / 2 ? envelope->length : 0);

    memcpy(at, envelope, sizeof(*envelope));
    memcpy(at + sizeof(*envelope), part.data, part.left);
    c->tail += envelope_record_size(envelope);
}

void world_publish(struct world_client *c, uint64_t tail)
{
    store_release(&c->mine->submission_tail, tail);
}

/* engine_world.E3.  `before`: the tail that had been looked at. */
static void check_deliveries(struct world_client *c, uint64_t before)
{
    uint64_t tail = load_acquire(&c->theirs->delivery_tail);

    FUZZ_EXPECT(tail >= before);
    c->taken = tail;
    if (tail - before > WORLD_RING)
        return; /* a head that moved on meanwhile has had the first of them overwritten */
    while (before != tail) {
        const struct envelope *e =
            (const struct envelope *)(c->delivery + (before & (WORLD_RING - 1)));

        FUZZ_EXPECT(tail - before >= sizeof(*e) && envelope_record_size(e) <= tail - before);
        FUZZ_EXPECT(e->to == c->ref && e->type != MESSAGE_TYPE_NONE &&
                    e->length <= ODEON_PAYLOAD_MAX + 8);
        FUZZ_EXPECT(e->type == MESSAGE_TYPE_REFUSAL || e->from == world.echo ||
                    e->from == world.former);
        if (c == &world.client[WORLD_HONEST]) { /* engine_world.E4 */
            FUZZ_EXPECT(e->type == world.number && e->length == 8);
            FUZZ_EXPECT(*(const uint64_t *)envelope_payload(e) == ++world.answered);
        }
        before += envelope_record_size(e);
    }
}

/* ---- running ---- */

/* False: there was nothing to be had. */
static bool run_source(uint32_t source)
{
    struct engine *e = world.engine;
    struct worker *w = e->workers[0];

    if (!owner_take(&e->sources[source], 0, 0))
        return false;
    if (source < e->segment.n_mailboxes) {
        mailbox_run(w, source, false);
        return true;
    }
    memset(loaded, 0, sizeof(loaded));
    int64_t queue = port_run(w, source - e->segment.n_mailboxes, true);
    if (queue >= 0)
        mailbox_run(w, (uint32_t)queue, false);
    return true;
}

static bool run_queues(void)
{
    bool ran = false;

    for (uint32_t q = 0; q < world.engine->segment.n_queues; q++)
        if (queue_has_work(&world.engine->segment.queues[q]))
            ran |= run_source(segment_mailbox(&world.engine->segment, q));
    return ran;
}

static bool port_waits(uint32_t id)
{
    struct engine *e = world.engine;

    return ready_clear(e->workers[0]->called.ready, engine_source_of_port(e, id)) ||
           !port_is_drained(e, id);
}

static void run(uint32_t id)
{
    struct world_client *c = &world.client[id];
    bool more = true;

    for (int round = 0; more; round++) {
        FUZZ_EXPECT(round < ROUNDS_MAX); /* no input keeps the executor busy for ever */
        uint64_t before = c->taken;
        more = run_source(engine_source_of_port(world.engine, id)) && port_waits(id) && round < 64;
        check_deliveries(c, before);
        while (run_queues())
            FUZZ_EXPECT(++round < ROUNDS_MAX);
        check_deliveries(c, c->taken);
    }
}

void world_run(void)
{
    run(WORLD_HOSTILE);
}

/* As engine_event_next(), which would wait for workers that do not run. */
static void reopen_hostile(void)
{
    struct engine *e = world.engine;

    for (size_t i = 0; i < e->events.n; i++)
        FUZZ_EXPECT(e->events.list[i].id == WORLD_HOSTILE &&
                    e->events.list[i].generation == world.client[WORLD_HOSTILE].info.generation);
    if (e->events.n > 0)
        port_forget(e, WORLD_HOSTILE);
    e->events.n = 0;
    if (load_relaxed(&world.engine->ports.table[WORLD_HOSTILE].state) == PORT_FREE)
        client_open(WORLD_HOSTILE);
}

void world_end(void)
{
    struct world_client *c = &world.client[WORLD_HONEST];
    n_changes = 0;
    spawn_echo();
    struct envelope envelope = { .to = world.echo, .type = world.number, .length = 8 };
    world.posted++;
    world_put(c, &envelope, &(struct input){ (const uint8_t *)&world.posted, 8 });
    world_publish(c, c->tail);
    run(WORLD_HONEST);
    FUZZ_EXPECT(world.answered == world.posted); /* engine_world.E4 */
    store_release(&c->mine->delivery_head, c->taken);
    /* the next input begins with a port of its own */
    c = &world.client[WORLD_HOSTILE];
    if (load_relaxed(&world.engine->ports.table[WORLD_HOSTILE].state) == PORT_OPEN) {
        FUZZ_EXPECT(engine_port_remove(world.engine, WORLD_HOSTILE, c->info.generation) == 0);
        for (int i = 0; load_relaxed(&world.engine->ports.table[WORLD_HOSTILE].state) == PORT_OPEN;
             i++) {
            FUZZ_EXPECT(i < ROUNDS_MAX);
            run(WORLD_HOSTILE);
        }
    }
    reopen_hostile();
    n_loads = 0;
}
