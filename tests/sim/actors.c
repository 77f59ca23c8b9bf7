/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/actors.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/engine_context.h"
#include "tests/sim/keeper.h"

static uint8_t filler(uint16_t i, const struct hop *hop)
{
    return (uint8_t)(i * 7 + hop->number + hop->lane);
}

void actors_fill(uint8_t *payload, uint16_t bytes)
{
    struct hop hop;
    memcpy(&hop, payload, sizeof(hop));
    for (uint16_t i = sizeof(hop); i < bytes; i++)
        payload[i] = filler(i, &hop);
}

void actors_check_filler(uint16_t bytes, const uint8_t *payload)
{
    struct hop hop;
    memcpy(&hop, payload, sizeof(hop));
    if (bytes != workload.clients[hop.client].lanes[hop.lane].bytes)
        sim_fail("damaged: client %u, lane %u, number %u has %u bytes", hop.client, hop.lane,
                 hop.number, bytes);
    for (uint16_t i = sizeof(hop); i < bytes; i++)
        if (payload[i] != filler(i, &hop))
            sim_fail("damaged: client %u, lane %u, number %u, byte %u", hop.client, hop.lane,
                     hop.number, i);
}

int64_t actors_amount(uint32_t number, uint32_t place)
{
    int64_t amount = number * 3 + 1;
    return place == 0 ? -amount : place == 1 ? amount : 0;
}

/* workload.H2 */
static void place_check(const struct hop *hop, bool redelivered)
{
    struct lane *lane = &workload.clients[hop->client].lanes[hop->lane];
    uint32_t at = hop->at, number = hop->number;
    if (hop->client >= workload.n_clients || at >= lane->n_places || number >= lane->posted)
        sim_fail("an actor got what nobody sent: client %u, lane %u, place %u, number %u",
                 hop->client, hop->lane, at, number);
    bool ordered = at <= lane->child_at, complete = workload.overflow == OVERFLOW_NEVER;
    if (lane->seen[at][number]) {
        if (!redelivered || lane->seen_in[at][number] == sim.n_crashes)
            sim_fail("doubled: client %u, lane %u, place %u ran number %u twice, marked %d",
                     hop->client, hop->lane, at, number, redelivered);
    } else if (ordered && (complete && !(at > 0 && lane->last[at] == lane->poison &&
                                         number == lane->poison + 1)
                               ? number != lane->last[at]
                               : number < lane->last[at])) {
        sim_fail("out of order or lost: client %u, lane %u, place %u ran number %u, %u was next",
                 hop->client, hop->lane, at, number, lane->last[at]);
    }
    if (ordered && number + 1 < lane->last[at])
        sim_fail("out of order: client %u, lane %u, place %u ran number %u again behind %u",
                 hop->client, hop->lane, at, number, lane->last[at] - 1);
    lane->seen[at][number] = true;
    lane->seen_in[at][number] = sim.n_crashes;
    lane->last[at] = number + 1 > lane->last[at] ? number + 1 : lane->last[at];
    workload.redelivered += redelivered;
}

/* workload.H7 */
static void trace_check(const struct hop *hop, const struct engine_context *ctx)
{
    uint64_t trace = workload.clients[hop->client].lanes[hop->lane].trace;
    if (ctx->trace != trace)
        sim_fail("client %u, lane %u, place %u: number %u, of trace %llu, runs in trace %llu",
                 hop->client, hop->lane, hop->at, hop->number, (unsigned long long)trace,
                 (unsigned long long)ctx->trace);
    workload.traced += trace != 0;
    workload.traced_again += trace != 0 && ctx->redelivered;
}

/* workload.H8 */
static void late_check(const struct hop *hop)
{
    const struct lane *lane = &workload.clients[hop->client].lanes[hop->lane];
    if (hop->at != 0 || lane->late_ns == 0)
        return;
    if (sim.now < lane->due_ns[hop->number])
        sim_fail("client %u, lane %u: number %u is sent %llu ns early", hop->client, hop->lane,
                 hop->number, (unsigned long long)(lane->due_ns[hop->number] - sim.now));
    workload.late_runs++;
    workload.late_orphans += hop->number < lane->floor;
}

static int send(struct engine_context *ctx, actor_ref to, const struct hop *hop,
                const void *message)
{
    bool urgent = workload.clients[hop->client].lanes[hop->lane].urgent;
    return (urgent ? engine_ctx_send_urgent : engine_ctx_send)(ctx, to, workload.message_type, 255,
                                                               message, ctx->message_size);
}

/* To the next place; to the client if that is full. */
static void pass_on(struct engine_context *ctx, const void *message, actor_ref to, uint32_t place)
{
    struct hop hop;
    uint8_t copy[HOP_BYTES_MAX];
    memcpy(copy, message, ctx->message_size);
    memcpy(&hop, message, sizeof(hop));
    hop.at = place;
    memcpy(copy, &hop, sizeof(hop));
    int r = send(ctx, to, &hop, copy);
    if (r == -EAGAIN && workload.overflow != OVERFLOW_NEVER)
        r = engine_ctx_send(ctx, hop.origin, workload.message_type, 255, copy, ctx->message_size);
    if (r < 0)
        sim_fail("send: %s", strerror(-r));
}

/* Now and then a handler does not come back for a while. */
static void maybe_stall(const struct hop *hop)
{
    struct sim_random chance = { .state = sim.seed ^ (uint64_t)hop->client << 48 ^
                                          (uint64_t)hop->lane << 32 ^ hop->number << 8 ^ hop->at };
    if (random_one_in(&chance, workload.stall_one_in)) {
        workload.stalls++;
        sim_sleep_ns(random_below(&chance, 30000000));
    }
}

/* workload.H5 */
static void maybe_fault(const struct hop *hop, const struct engine_context *ctx)
{
    struct lane *lane = &workload.clients[hop->client].lanes[hop->lane];
    bool poisoned = hop->number == lane->poison && hop->at == 0;
    uint32_t faults = poisoned ? lane->faults : 0;
    if (ctx->attempts > faults || ctx->attempts + sim.cut_faults < faults ||
        ctx->attempts >= workload.config.attempts_max)
        sim_fail("client %u, lane %u, place %u, number %u has faulted %u times, and is run with %u "
                 "attempts",
                 hop->client, hop->lane, hop->at, hop->number, faults, ctx->attempts);
    if (poisoned) {
        lane->faults++;
        sim_fault();
    }
}

static actor_ref child_make(struct engine_context *ctx, const struct hop *hop)
{
    actor_ref child = 0;
    struct engine_spawn spawn = { .placement = (enum engine_placement)(hop->number % PLACE_N),
                                  .place = ENGINE_ANYWHERE,
                                  .args = hop,
                                  .args_size = sizeof(*hop) };
    if (spawn.placement == PLACE_NODE)
        spawn.placement = PLACE_SPREAD;
    int r = engine_ctx_spawn(ctx, workload.child_type, &spawn, &child);
    /* no room, no thread, or the type is being reloaded */
    if (r == -ENOSPC || r == -EAGAIN || r == -ESRCH)
        return 0;
    if (r < 0)
        sim_fail("spawn: %s", strerror(-r));
    workload.children++;
    return child;
}

static int root_init(void *self, const void *args, size_t args_size, struct engine_context *ctx)
{
    (void)ctx;
    if (args_size != sizeof(uint32_t))
        sim_fail("a root actor's arguments have %zu bytes", args_size);
    memcpy(&((struct account *)self)->index, args, sizeof(uint32_t));
    return 0;
}

static int root_run(void *self, const void *message, struct engine_context *ctx)
{
    struct account *root = self;
    struct hop hop;
    memcpy(&hop, message, sizeof(hop));
    workload.runs++;
    workload.moved = sim.now;
    if (root->index >= workload.n_roots || workload.roots[root->index].ref != ctx->self ||
        hop.at >= hop.n || hop.next[hop.at] != ctx->self)
        sim_fail("actor %u got another's message", root->index);
    place_check(&hop, ctx->redelivered);
    trace_check(&hop, ctx);
    late_check(&hop);
    actors_check_filler(ctx->message_size, message);
    maybe_fault(&hop, ctx);
    root->ran++;
    root->balance += actors_amount(hop.number, hop.at);
    maybe_stall(&hop);
    actor_ref child = hop.at == hop.child_at ? child_make(ctx, &hop) : 0;
    if (child)
        pass_on(ctx, message, child, hop.at);
    else
        pass_on(ctx, message, hop.at + 1 < hop.n ? hop.next[hop.at + 1] : hop.origin, hop.at + 1);
    return ALLOCATION_NODELETE;
}

static int child_init(void *self, const void *args, size_t args_size, struct engine_context *ctx)
{
    if (args_size != sizeof(struct hop))
        sim_fail("a child's arguments have %zu bytes", args_size);
    memcpy(self, args, sizeof(struct hop));
    trace_check(self, ctx);
    return 0;
}

static int child_run(void *self, const void *message, struct engine_context *ctx)
{
    const struct hop *mine = self;
    struct hop hop;
    memcpy(&hop, message, sizeof(hop));
    if (memcmp(mine, &hop, sizeof(hop)) != 0)
        sim_fail("a child for client %u, lane %u, number %u got number %u", mine->client,
                 mine->lane, mine->number, hop.number);
    trace_check(&hop, ctx);
    actors_check_filler(ctx->message_size, message);
    pass_on(ctx, message, hop.at + 1 < hop.n ? hop.next[hop.at + 1] : hop.origin, hop.at + 1);
    return ALLOCATION_DELETE + (int)(hop.number % 3);
}

static uint32_t type_register(struct engine *e, const char *name, enum engine_restart restart,
                              uint32_t state_size, engine_init_fn init, engine_behaviour_fn run)
{
    struct engine_behaviour behaviour = {
        .message_type = workload.message_type, .size = sizeof(struct hop), .has_tail = 1, .run = run
    };
    struct engine_actor_type_info info = { .name = name,
                                           .plugin = "simulated",
                                           .version = 1,
                                           .restart = restart,
                                           .state_size = state_size,
                                           .n_behaviours = 1,
                                           .behaviours = &behaviour,
                                           .init = init };
    info.overflow = workload.promises.crowded             ? OVERFLOW_POLICY_STALL
                    : workload.overflow == OVERFLOW_NEVER ? OVERFLOW_POLICY_REJECT
                                                          : (enum engine_overflow)workload.overflow;
    uint32_t id;
    int r = engine_actor_type_register(e, &info, &id);
    if (r < 0)
        sim_fail("type %s: %s", name, strerror(-r));
    return id;
}

static uint32_t children_register(struct engine *e)
{
    return type_register(e, "child", RESTART_INIT, sizeof(struct hop), child_init, child_run);
}

void actors_register(struct engine *e)
{
    int r = engine_message_type_intern(e, "hop", 1, sizeof(struct hop), true, "",
                                       &workload.message_type);
    if (r < 0)
        sim_fail("message type: %s", strerror(-r));
    workload.root_type =
        type_register(e, "root", RESTART_INIT, sizeof(struct account), root_init, root_run);
    workload.account_type =
        type_register(e, "account", RESTART_KEEP, sizeof(struct account), root_init, root_run);
    workload.child_type = children_register(e);
    if (workload.endless.there)
        endless_register(e);
    keeper_register(e);
}

void actors_reload_children(struct engine *e)
{
    uint64_t live;
    int r = engine_actor_type_retire(e, workload.child_type, &live);
    if (r == -EBUSY)
        return;
    if (r < 0)
        sim_fail("the children's type cannot be retired: %s", strerror(-r));
    if (children_register(e) != workload.child_type)
        sim_fail("the children's type came back as another one");
    workload.reloads++;
}
