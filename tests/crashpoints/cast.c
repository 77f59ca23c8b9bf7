/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of the scenes. What an actor does depends on its spawn arguments and the
 * item alone, so that it does the same when it is run again; what it must not forget is in its
 * plan. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "crash.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/engine_context.h"

uint16_t item_type;
uint32_t cast_type[N_CAST];

static uint8_t pattern(uint32_t row, uint64_t number)
{
    return (uint8_t)(row * 41 + number * 7 + 1);
}

/* The bytes behind an item, which say whose they are. */
static const uint8_t *tail_of(uint32_t row, uint64_t number, uint32_t size)
{
    static _Thread_local uint8_t bytes[TAIL_MAX];
    memset(bytes, pattern(row, number), size);
    return bytes;
}

struct item item_take(const void *message, size_t size)
{
    struct item item;
    memcpy(&item, message, sizeof(item));
    if (item.row >= N_ROWS || size != sizeof(item) + ledger->row[item.row].size)
        fail("an item of row %u has %zu bytes", item.row, size);
    const uint8_t *tail = (const uint8_t *)message + sizeof(item);
    size -= sizeof(item); /* compared in few instructions: they are stepped through */
    if (size > 0 &&
        (tail[0] != pattern(item.row, item.number) || memcmp(tail, tail + 1, size - 1) != 0))
        fail("row %u: the bytes of number %u are another's", item.row, item.number);
    return item;
}

enum { URGENT_TAIL_MAX = 128 };

static void send_item(struct engine_context *ctx, actor_ref to, uint32_t row, uint32_t number)
{
    struct item item = { .row = row, .number = number };
    uint32_t size = ledger->row[row].size;
    if (ledger->row[row].flags & ROW_URGENT) {
        uint8_t record[sizeof(item) + URGENT_TAIL_MAX];
        must("urgent send",
             engine_ctx_send_urgent(ctx, to, item_type, 0, record, item_fill(record, row, number)));
        return;
    }
    int r = size == 0 ? engine_ctx_send(ctx, to, item_type, 0, &item, sizeof(item))
                      : engine_ctx_send_tail(ctx, to, item_type, 0, &item, sizeof(item),
                                             tail_of(row, number, size), size);
    must("send", r);
}

static struct item item_note(const void *message, const struct engine_context *ctx)
{
    struct item item = item_take(message, ctx->message_size);
    if (ctx->attempts > ledger->attempts_max)
        fail("row %u: number %u has %u attempts, and has not faulted as often", item.row,
             item.number, ctx->attempts);
    row_note(item.row, item.number, ctx->redelivered);
    return item;
}

/* ---- actors ---- */

/* of the allocator: the pool's first block is cut in thousands of instructions that nobody needs to
 * see */
enum { STATE_BYTES = 320 };
static_assert(STATE_BYTES >= sizeof(struct plan), "a plan is a state");

static int keep_arguments(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    if (size > sizeof(struct plan))
        fail("arguments of %zu bytes", size);
    memcpy(self, args, size);
    return 0;
}

static int fail_to_begin(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)size;
    (void)ctx;
    return -EIO;
}

static int on_item_sink(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    item_note(message, ctx);
    return ALLOCATION_NODELETE;
}

/* A guest passes its one item on, and ends. */
static int on_item_guest(void *self, const void *message, struct engine_context *ctx)
{
    const struct plan *plan = self;
    struct item item = item_note(message, ctx);
    for (uint32_t i = 0; i < plan->n; i++)
        send_item(ctx, plan->out[i].to, plan->out[i].row, item.number);
    return item.number % 2 ? ALLOCATION_DELETE : ALLOCATION_DESTROY;
}

/* A mayfly has no plan (daemon/engine/actors/brief.h). */
static int on_item_mayfly(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    item_note(message, ctx);
    return ALLOCATION_DELETE;
}

_Atomic uint32_t cast_hold, cast_inside;
extern const char __start_stuck_handlers[], __stop_stuck_handlers[];

bool cast_is_stuck_handler(void *userdata, const void *pc)
{
    (void)userdata;
    return (const char *)pc >= __start_stuck_handlers && (const char *)pc < __stop_stuck_handlers;
}

__attribute__((section("stuck_handlers"), noinline)) static int
on_item_stuck(void *self, const void *message, struct engine_context *ctx)
{
    const struct plan *plan = self;
    struct item item = item_note(message, ctx);
    for (uint32_t i = 0; i < plan->n; i++)
        send_item(ctx, plan->out[i].to, plan->out[i].row, item.number);
    store_release(&cast_inside, 1);
    while (load_acquire(&cast_hold))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return ALLOCATION_NODELETE;
}

/* The first time it gets its second item it is found to hang, as stall.c says it, and it is for a
 * kill to come or not to come. */
static int on_item_hung(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct worker *w = worker_of_context(ctx);
    struct item item = item_note(message, ctx);
    if (item.number != 2 || ctx->redelivered)
        return ALLOCATION_NODELETE;
    struct segment_fault *fault = &w->durable->fault;
    *fault = (struct segment_fault){
        .kind = FAULT_STALLED, .attempts = 1, .actor = ctx->self, .message_type = item_type
    };
    crash_order();
    fault->tag = commit_count(w);
    crash_order();
    return ALLOCATION_NODELETE;
}

static int kept_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct kept *kept = self;
    if (kept->begun || kept->last)
        fail("a kept state is not zeroed for its init");
    kept->begun++;
    return keep_arguments(&kept->plan, args, size, ctx);
}

/* Its state says that all items before have been taken, whatever happened in between, and this one
 * has not. */
static int on_item_kept(void *self, const void *message, struct engine_context *ctx)
{
    struct kept *kept = self;
    struct item item = item_note(message, ctx);
    bool guest = kept->plan.stop_at == 1; /* of one item, whatever its number */
    if (kept->begun != 1 || kept->last != (guest ? 0 : item.number - 1))
        fail("row %u: number %u, and the kept state is at %llu, %llu inits", item.row, item.number,
             (unsigned long long)kept->last, (unsigned long long)kept->begun);
    for (uint32_t i = 0; i < kept->plan.n; i++) {
        send_item(ctx, kept->plan.out[i].to, kept->plan.out[i].row, item.number);
        kept->last = item.number; /* in the middle: behind one send, before another */
    }
    return kept->plan.stop_at && item.number >= kept->plan.stop_at ? ALLOCATION_DELETE
                                                                   : ALLOCATION_NODELETE;
}

struct clock {
    struct clock_plan plan;
    uint64_t last, timer;
};

static int clock_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct clock *clock = self;
    (void)ctx;
    if (size != sizeof(clock->plan) || clock->last)
        fail("a clock begins with %zu bytes, at %llu", size, (unsigned long long)clock->last);
    memcpy(&clock->plan, args, size);
    return 0;
}

static uint64_t clock_arm(struct engine_context *ctx, actor_ref to, uint32_t row, uint32_t number)
{
    static const struct engine_timer_times times = { .delay_ns = 1 };
    struct item item = { .row = row, .number = number };
    uint64_t timer = 0;
    must("arm", engine_ctx_send_after(ctx, to, item_type, 0, &item, sizeof(item), &times, &timer));
    return timer;
}

static int on_item_clock(void *self, const void *message, struct engine_context *ctx)
{
    struct clock *clock = self;
    struct item item = item_note(message, ctx);
    if (clock->last + 1 != item.number)
        fail("a clock gets %u behind %llu", item.number, (unsigned long long)clock->last);
    clock->last = item.number;
    if (clock->timer)
        must("cancel", engine_ctx_timer_cancel(ctx, clock->timer));
    clock_arm(ctx, clock->plan.to, clock->plan.row, item.number);
    clock->timer = clock_arm(ctx, clock->plan.to, clock->plan.cancelled_row, item.number);
    if (item.number == clock->plan.last)
        must("cancel", engine_ctx_timer_cancel(ctx, clock->timer));
    return ALLOCATION_NODELETE;
}

struct asker {
    struct asker_plan plan;
    uint64_t last, told, token[ASKER_ITEMS];
};

static int asker_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct asker *asker = self;
    (void)ctx;
    if (size != sizeof(asker->plan) || asker->last)
        fail("an asker begins with %zu bytes, at %llu", size, (unsigned long long)asker->last);
    memcpy(&asker->plan, args, size);
    return 0;
}

static uint64_t asker_ask(const struct asker *asker, struct engine_context *ctx, actor_ref to,
                          uint32_t row, uint32_t number)
{
    struct item item = { .row = row, .number = number };
    const struct engine_pieces pieces = { .head = &item, .head_size = sizeof(item) };
    uint64_t token = 0;
    must("ask", engine_ctx_ask(ctx, to, item_type, 0, &pieces, asker->plan.timeout_ns, &token));
    return token;
}

static int on_item_asker(void *self, const void *message, struct engine_context *ctx)
{
    struct asker *asker = self;
    struct item item = item_note(message, ctx);
    if (ctx->kind >> 56 == KIND_ANSWER)
        return ALLOCATION_NODELETE;
    if (asker->last + 1 != item.number || item.number > ASKER_ITEMS)
        fail("an asker gets %u behind %llu", item.number, (unsigned long long)asker->last);
    asker->last = item.number;
    asker_ask(asker, ctx, asker->plan.echo, asker->plan.row, item.number);
    asker->token[item.number - 1] =
        asker_ask(asker, ctx, asker->plan.silent, asker->plan.silent_row, item.number);
    return ALLOCATION_NODELETE;
}

/* Deadlines are in the order of the questions. */
static int on_no_answer_asker(void *self, const void *message, struct engine_context *ctx)
{
    struct asker *asker = self;
    struct no_answer no_answer;
    memcpy(&no_answer, message, sizeof(no_answer));
    if (no_answer.reason != REASON_DEADLINE || no_answer.token != ctx->correlation ||
        ctx->kind >> 56 != KIND_ANSWER)
        fail("reason %u of question %llx", no_answer.reason, (unsigned long long)no_answer.token);
    if (asker->told == ASKER_ITEMS || asker->token[asker->told] != no_answer.token)
        fail("a question that was answered, or never asked, has no answer: %llx",
             (unsigned long long)no_answer.token);
    asker->told++;
    row_note(asker->plan.answer_row + 1, asker->told, ctx->redelivered);
    return ALLOCATION_NODELETE;
}

struct watcher {
    struct watcher_plan plan;
    uint64_t last, told, heard, monitor[WATCHER_ITEMS];
};

static int watcher_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct watcher *watcher = self;
    (void)ctx;
    if (size != sizeof(watcher->plan) || watcher->last)
        fail("a watcher begins with %zu bytes, at %llu", size, (unsigned long long)watcher->last);
    memcpy(&watcher->plan, args, size);
    return 0;
}

static int on_item_watcher(void *self, const void *message, struct engine_context *ctx)
{
    struct watcher *watcher = self;
    struct item item = item_note(message, ctx);
    uint64_t other;
    if (item.row != 0) { /* last words */
        watcher->heard |= UINT64_C(1) << (item.row - watcher->plan.row - WATCHER_ITEMS);
        return ALLOCATION_NODELETE;
    }
    actor_ref watched = watcher->plan.watched[item.number - 1];
    watcher->last = item.number;
    if (watcher->plan.row == 0) {
        static const struct engine_spawn spawn = { .placement = PLACE_NEAR };
        must("spawn", engine_ctx_spawn(ctx, cast_type[CAST_FAILING], &spawn,
                                       &watcher->plan.watched[item.number - 1]));
        return ALLOCATION_NODELETE;
    }
    must("monitor", engine_ctx_monitor(ctx, watched, &other));
    must("monitor", engine_ctx_monitor(ctx, watched, &watcher->monitor[item.number - 1]));
    must("demonitor", engine_ctx_demonitor(ctx, other));
    send_item(ctx, watched, watcher->plan.row + item.number - 1, 1);
    return ALLOCATION_NODELETE;
}

static int on_item_mortal(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct item item = item_note(message, ctx);
    send_item(ctx, ctx->sender, item.row + WATCHER_ITEMS, 1);
    return ALLOCATION_DELETE;
}

static int on_down_watcher(void *self, const void *message, struct engine_context *ctx)
{
    struct watcher *watcher = self;
    struct down down;
    uint32_t i = 0;
    memcpy(&down, message, sizeof(down));
    while (i < WATCHER_ITEMS && watcher->plan.watched[i] != down.ref)
        i++;
    if (i == WATCHER_ITEMS || watcher->monitor[i] != down.monitor || ctx->sender != down.ref)
        fail("an end is told that nobody wants to know of: %llx", (unsigned long long)down.ref);
    bool anew = i == 1 && down.reason == REASON_BEGUN_ANEW;
    bool failed = watcher->plan.row == 0 && down.reason == REASON_INIT_FAILED;
    if (!anew && !failed &&
        (down.reason != REASON_FINISHED || !(watcher->heard & UINT64_C(1) << i)))
        fail("end %u is told with reason %u, behind words %llx", i, down.reason,
             (unsigned long long)watcher->heard);
    watcher->monitor[i] = 0;
    watcher->told++;
    row_note(watcher->plan.down_row, watcher->told, ctx->redelivered);
    return ALLOCATION_NODELETE;
}

struct member {
    struct member_plan plan;
    uint64_t last;
};

static int member_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct member *member = self;
    (void)ctx;
    if (size != sizeof(member->plan) || member->last)
        fail("a member begins with %zu bytes, at %llu", size, (unsigned long long)member->last);
    memcpy(&member->plan, args, size);
    return 0;
}

static int on_item_member(void *self, const void *message, struct engine_context *ctx)
{
    struct member *member = self;
    struct item item = item_take(message, ctx->message_size);
    if (item.row == member->plan.published) {
        row_note(member->plan.own, item.number, ctx->redelivered != 0);
        return ALLOCATION_NODELETE;
    }
    row_note(item.row, item.number, ctx->redelivered != 0);
    member->last = item.number;
    item.row = member->plan.published;
    const struct engine_pieces pieces = { .head = &item, .head_size = sizeof(item) };
    if (member->plan.kind == MEMBER_PUBLISHES) {
        must("publish", engine_ctx_publish(ctx, "crowd", item_type, &pieces));
        return ALLOCATION_NODELETE;
    }
    if (item.number % 2 == 0)
        must("leave", engine_ctx_leave(ctx, "crowd"));
    if (item.number % 2 || member->plan.kind == MEMBER_RETURNS)
        must("join", engine_ctx_join(ctx, "crowd"));
    return ALLOCATION_NODELETE;
}

/* `last`: is it open? What it puts off is noted when it comes again. */
static int on_item_porter(void *self, const void *message, struct engine_context *ctx)
{
    struct kept *kept = self;
    struct item item = item_take(message, ctx->message_size);
    if (item.row != PORTER_ROW && !kept->last) {
        must("stash", engine_ctx_stash(ctx, message));
        return ALLOCATION_NODELETE;
    }
    item_note(message, ctx);
    if (item.row != PORTER_ROW)
        return ALLOCATION_NODELETE;
    if (item.number == kept->plan.stop_at)
        return ALLOCATION_DELETE;
    kept->last = item.number % 2;
    if (kept->last && engine_ctx_unstash(ctx, 0) < 0)
        fail("what was put off cannot be taken back");
    return ALLOCATION_NODELETE;
}

/* Which item it is tells which phase it has to be in; every third one becomes that of the next one
 * by way of this one's. */
static int moody(struct kept *kept, const void *message, struct engine_context *ctx, bool cross)
{
    static const char *const phases[] = { "calm", "cross" };
    struct item item = item_note(message, ctx);
    if (kept->last != item.number - 1 || cross == item.number % 2)
        fail("row %u: number %u comes in phase %s, behind %llu", item.row, item.number,
             phases[cross], (unsigned long long)kept->last);
    kept->last = item.number;
    must("become", engine_ctx_become(ctx, phases[!cross]));
    if (item.number % 3 == 0) {
        must("become", engine_ctx_become(ctx, phases[cross]));
        must("become", engine_ctx_become(ctx, phases[!cross]));
    }
    return ALLOCATION_NODELETE;
}

/* Whoever was calm as that was the first phase is calm still. */
static int on_item_merry(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)ctx;
    fail("number %u comes in a phase that nobody has been in",
         ((const struct item *)message)->number);
}

static int on_item_calm(void *self, const void *message, struct engine_context *ctx)
{
    return moody(self, message, ctx, false);
}

static int on_item_cross(void *self, const void *message, struct engine_context *ctx)
{
    return moody(self, message, ctx, true);
}

/* What is sent to it, it answers with the same number, in the row behind. */
static int on_item_echo(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct item item = item_note(message, ctx);
    item.row++;
    must("reply", engine_ctx_reply(ctx, item_type, &item, sizeof(item), NULL, 0));
    return ALLOCATION_NODELETE;
}

/* Whose question it is notes it: the actor that it is passed on to. */
static int on_item_clerk(void *self, const void *message, struct engine_context *ctx)
{
    const struct plan *plan = self;
    must("forward", engine_ctx_forward(ctx, plan->out[0].to, message));
    return ALLOCATION_NODELETE;
}

/* The first destination is the guest's, its row the guest's own. */
static void spawn_guest(struct engine_context *ctx, const struct plan *plan, uint32_t number)
{
    struct plan its = { .n = 1 };
    char name[32];
    actor_ref guest;
    struct engine_spawn spawn = { .placement = number % 2 ? PLACE_NEAR : PLACE_SPREAD,
                                  .args = &its,
                                  .args_size = sizeof(its) };
    enum cast_type type = plan->act == ACT_SPAWN_FAILING ? CAST_FAILING
                          : plan->act == ACT_SPAWN_KEPT  ? CAST_KEPT
                          : plan->act == ACT_SPAWN_BRIEF ? CAST_MAYFLY
                                                         : CAST_GUEST;
    its.stop_at = 1; /* of one that is kept */
    its.out[0].to = plan->out[0].to;
    its.out[0].row = plan->out[0].row;
    if (plan->act == ACT_SPAWN_BRIEF) { /* in the relay's queue, and so in order */
        spawn.args_size = 0;
        spawn.placement = PLACE_NEAR;
    }
    if (plan->act == ACT_SPAWN_NAMED) {
        snprintf(name, sizeof(name), "guest-%u", number % 2);
        spawn.name = name;
    }
    must("spawn", engine_ctx_spawn(ctx, cast_type[type], &spawn, &guest));
    if (plan->act == ACT_SPAWN_TALK) /* something else first: its init record is not spared */
        send_item(ctx, plan->out[2].to, plan->out[2].row, number);
    send_item(ctx, guest, plan->out[1].row, number);
}

static void spawn_linked(struct engine_context *ctx, bool taken)
{
    const struct engine_spawn spawn = { .link = true }, same = { .name = "taken", .link = true };
    actor_ref child;
    if (taken && engine_ctx_spawn(ctx, cast_type[CAST_MORTAL], &same, &child) != -EEXIST)
        fail("a name is given to two");
    must("spawn", engine_ctx_spawn(ctx, cast_type[CAST_MORTAL], &spawn, &child));
}

static int on_item_relay(void *self, const void *message, struct engine_context *ctx)
{
    const struct plan *plan = self;
    struct item item = item_note(message, ctx);
    if (plan->act == ACT_SEND)
        for (uint32_t i = 0; i < plan->n; i++)
            send_item(ctx, plan->out[i].to, plan->out[i].row, item.number);
    else if (plan->act == ACT_SPAWN_LINKED || plan->act == ACT_SPAWN_TAKEN)
        spawn_linked(ctx, plan->act == ACT_SPAWN_TAKEN);
    else
        spawn_guest(ctx, plan, item.number);
    return plan->stop_at && item.number >= plan->stop_at ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

/* The clock stands still for the pace of the workers, so that a routine is the same each time: all
 * behaviours are quick, as those of a service that has run for a while, unless the scene wants
 * strangers, of which the first few of each kind are run one by one. */
static void cast_pace(struct engine *e, uint32_t id)
{
    struct actor_type *type = load_relaxed(&e->types.known[id]);
    ticks_rate = UINT64_C(1) << 40;
    if (ledger->strange)
        return;
    store_relaxed(&type->behaviours[BEHAVIOUR_NONE].meta, 0);
    store_relaxed(&type->behaviours[0].meta, envelope_meta(item_type, sizeof(struct item), 0));
}

static const struct cast_entry {
    const char *name;
    uint32_t state_size;
    engine_init_fn init;
    engine_behaviour_fn on_item;
    enum engine_overflow overflow;
    enum engine_restart restart;
} cast[N_CAST] = {
    [CAST_RELAY] = { "relay", STATE_BYTES, keep_arguments, on_item_relay, OVERFLOW_POLICY_REJECT,
                     RESTART_INIT },
    [CAST_SINK] = { "sink", 0, NULL, on_item_sink, OVERFLOW_POLICY_REJECT, RESTART_INIT },
    [CAST_GUEST] = { "guest", STATE_BYTES, keep_arguments, on_item_guest, OVERFLOW_POLICY_REJECT,
                     RESTART_INIT },
    [CAST_FAILING] = { "failing", STATE_BYTES, fail_to_begin, on_item_sink, OVERFLOW_POLICY_REJECT,
                       RESTART_INIT },
    [CAST_OLDEST] = { "oldest", 0, NULL, on_item_sink, OVERFLOW_POLICY_DROP_OLDEST, RESTART_INIT },
    [CAST_NEWEST] = { "newest", 0, NULL, on_item_sink, OVERFLOW_POLICY_DROP_NEWEST, RESTART_INIT },
    [CAST_STALL] = { "stall", 0, NULL, on_item_sink, OVERFLOW_POLICY_STALL, RESTART_INIT },
    [CAST_KEPT] = { "kept", sizeof(struct kept), kept_init, on_item_kept, OVERFLOW_POLICY_REJECT,
                    RESTART_KEEP },
    [CAST_CLOCK] = { "clock", sizeof(struct clock), clock_init, on_item_clock,
                     OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_HUNG] = { "hung", 0, NULL, on_item_hung, OVERFLOW_POLICY_REJECT, RESTART_INIT },
    [CAST_MAYFLY] = { "mayfly", 0, NULL, on_item_mayfly, OVERFLOW_POLICY_REJECT, RESTART_INIT },
    [CAST_ASKER] = { "asker", sizeof(struct asker), asker_init, on_item_asker,
                     OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_WATCHER] = { "watcher", sizeof(struct watcher), watcher_init, on_item_watcher,
                       OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_MORTAL] = { "mortal", 8, NULL, on_item_mortal, OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_FRAIL] = { "frail", STATE_BYTES, keep_arguments, on_item_mortal, OVERFLOW_POLICY_REJECT,
                     RESTART_INIT },
    [CAST_MEMBER] = { "member", sizeof(struct member), member_init, on_item_member,
                      OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_WAITER] = { "waiter", sizeof(struct member), member_init, on_item_member,
                      OVERFLOW_POLICY_STALL, RESTART_KEEP },
    [CAST_MOODY] = { "moody", sizeof(struct kept), NULL, on_item_calm, OVERFLOW_POLICY_REJECT,
                     RESTART_KEEP },
    [CAST_PORTER] = { "porter", sizeof(struct kept), kept_init, on_item_porter,
                      OVERFLOW_POLICY_REJECT, RESTART_KEEP },
    [CAST_ANEW] = { "anew", STATE_BYTES, owner_init, on_item_owner, OVERFLOW_POLICY_REJECT,
                    RESTART_INIT },
    [CAST_STOPS] = { "stops", STATE_BYTES, owner_init, on_item_owner, OVERFLOW_POLICY_REJECT,
                     RESTART_STOP },
    [CAST_ECHO] = { "echo", 0, NULL, on_item_echo, OVERFLOW_POLICY_REJECT, RESTART_INIT },
    [CAST_CLERK] = { "clerk", STATE_BYTES, keep_arguments, on_item_clerk, OVERFLOW_POLICY_REJECT,
                     RESTART_INIT },
    [CAST_STUCK] = { "stuck", STATE_BYTES, keep_arguments, on_item_stuck, OVERFLOW_POLICY_REJECT,
                     RESTART_INIT },
};

/* Its phases: "calm" is the first one, or one of the others behind another first one. */
static void cast_moods(struct engine_actor_type_info *info, struct engine_behaviour *first)
{
    static const engine_behaviour_fn cross[] = { on_item_cross }, calm[] = { on_item_calm };
    static const struct engine_behaviour_set others[] = { { "cross", cross }, { "calm", calm } };
    info->phase = ledger->renamed ? "merry" : "calm";
    info->n_others = ledger->renamed ? 2 : 1;
    info->others = others;
    if (ledger->renamed)
        first->run = on_item_merry;
}

void cast_register_one(struct engine *e, enum cast_type i)
{
    struct engine_behaviour behaviours[] = {
        { item_type, sizeof(struct item), true, cast[i].on_item },
        i == CAST_WATCHER
            ? (struct engine_behaviour){ MESSAGE_TYPE_DOWN, sizeof(struct down), false,
                                         on_down_watcher }
            : (struct engine_behaviour){ MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), false,
                                         on_no_answer_asker },
    };
    struct engine_actor_type_info info = { .name = cast[i].name,
                                           .plugin = "cast",
                                           .version = 1,
                                           .state_size = cast[i].state_size,
                                           .overflow = cast[i].overflow,
                                           .restart = cast[i].restart,
                                           .n_behaviours =
                                               i == CAST_ASKER || i == CAST_WATCHER ? 2 : 1,
                                           .behaviours = behaviours,
                                           .init = cast[i].init };
    if (i == CAST_MOODY)
        cast_moods(&info, &behaviours[0]);
    must("actor type", engine_actor_type_register(e, &info, &cast_type[i]));
    cast_pace(e, cast_type[i]);
}

void cast_register(struct engine *e)
{
    must("message type",
         engine_message_type_intern(e, "item", 1, sizeof(struct item), true, "", &item_type));
    must("groups", engine_groups_open(e));
    must("groups", engine_actor_type_find(e, ENGINE_GROUP_TYPE, &cast_type[CAST_GROUP]));
    for (unsigned i = 0; i < CAST_GROUP; i++)
        cast_register_one(e, i);
}

/* Others are spawned on the way, until one is in that queue; they stay, and are sent nothing. */
actor_ref cast_spawn(struct engine *e, enum cast_type type, uint32_t queue, const void *args,
                     size_t size)
{
    struct engine_actor_view view;
    actor_ref ref = 0;
    do {
        must("spawn", engine_actor_spawn(e, cast_type[type], NULL, args, size, &ref));
        must("view", engine_actor_get(e, ref, &view));
        ledger->live[type]++;
    } while (view.queue != queue);
    return ref;
}

size_t item_fill(uint8_t *record, uint32_t row, uint32_t number)
{
    struct item item = { .row = row, .number = number };
    uint32_t size = ledger->row[row].size;
    memcpy(record, &item, sizeof(item));
    memcpy(record + sizeof(item), tail_of(row, number, size), size);
    return sizeof(item) + size;
}

void cast_send(struct engine *e, actor_ref to, uint32_t index, uint32_t n)
{
    static uint8_t record[ODEON_PAYLOAD_MAX];
    struct row *row = &ledger->row[index];
    for (uint32_t i = 0; i < n; i++) {
        size_t size = item_fill(record, index, (uint32_t)row->accepted + 1);
        must("send", engine_actor_send(e, to, item_type, record, size));
        row->accepted++;
    }
}

void cast_send_traced(struct engine *e, actor_ref to, uint32_t index, uint32_t n)
{
    struct worker *w = e->control;
    uint64_t room = w->outbox.room;
    w->place.trace = 7;
    w->outbox.room = 0; /* as in the turn of a message that has one (run/traced.h) */
    cast_send(e, to, index, n);
    w->outbox.room = room;
    w->place.trace = 0;
}

void row_expect(uint32_t row, uint64_t end, uint32_t flags, uint32_t size)
{
    ledger->row[row] = (struct row){ .end = end, .flags = flags, .size = size };
}

actor_ref sink_make(struct life *life, uint32_t queue)
{
    return cast_spawn(life->engine, CAST_SINK, queue, NULL, 0);
}

actor_ref relay_make(struct life *life, uint32_t queue, const struct plan *plan)
{
    return cast_spawn(life->engine, CAST_RELAY, queue, plan, sizeof(*plan));
}

void plan_out(struct plan *plan, actor_ref to, uint32_t row)
{
    plan->out[plan->n].to = to;
    plan->out[plan->n++].row = row;
}
