/* SPDX-License-Identifier: Apache-2.0 */
#include <odeon/test.h>
#include <string.h>

#include "rate_actors.h"

#define MS_NS UINT64_C(1000000)

enum { RATE = 10, BURST = 5, IDLE_MS = 1000 };

static rate_front_ref open_front(struct odeon_test *world, uint32_t keys)
{
    return odeon_test_spawn(world, rate_front, .name = "rate",
                            ODEON_ARGS(struct rate_front_args, .rate = RATE, .burst = BURST,
                                       .keys = keys, .idle_ms = IDLE_MS, .name = "rate"));
}

static struct rate_answer answer_of(struct odeon_test *world, uint32_t port)
{
    struct odeon_test_message message;
    struct rate_answer answer;

    if (!odeon_test_receive(world, port, &message))
        odeon_test_fail("a call has no answer");
    if (strcmp(message.name, "rate_answer") != 0)
        odeon_test_fail("a call was answered by %s", message.name);
    memcpy(&answer, message.payload, sizeof(answer));
    return answer;
}

static void limits(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 0);

    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 2);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_LIMITED, .left = 2, .wait_ms = 100);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "bob");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 2);

    odeon_test_advance(world, 100 * MS_NS - 1);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_LIMITED, .left = 2, .wait_ms = 1);
    odeon_test_advance(world, 1);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
    odeon_test_send(world, front, rate_take, .cost = 0, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
    odeon_test_send(world, front, rate_take, .cost = BURST + 1, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NEVER, .left = 0);
    odeon_test_expect_none(world);
}

static void refuses_what_is_no_key(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 0);
    struct rate_take endless = { .cost = 1 };

    memset(endless.key, 'a', sizeof(endless.key));
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_KEY);
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "::1");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_KEY);
    odeon_test_post_at(world, 0, front.ref, odeon_message_of(rate_take), &endless, sizeof(endless),
                       0, __FILE__, __LINE__);
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_KEY);
    /* the longest */
    endless.key[sizeof(endless.key) - 1] = '\0';
    odeon_test_post_at(world, 0, front.ref, odeon_message_of(rate_take), &endless, sizeof(endless),
                       0, __FILE__, __LINE__);
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST - 1);
}

static void forgets_what_is_not_used(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 1);

    odeon_test_send(world, front, rate_take, .cost = 1, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST - 1);
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "bob");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_ROOM);

    /* each call puts it off */
    odeon_test_advance(world, 600 * MS_NS);
    odeon_test_send(world, front, rate_take, .cost = 0, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST);
    odeon_test_advance(world, 999 * MS_NS);
    odeon_test_assert(odeon_test_lookup(world, "rate.alice") != ODEON_NOBODY);
    odeon_test_advance(world, MS_NS);
    odeon_test_assert(odeon_test_lookup(world, "rate.alice") == ODEON_NOBODY);

    odeon_test_send(world, front, rate_take, .cost = 1, .key = "bob");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST - 1);
    odeon_test_assert(odeon_test_dead_letters(world) == 0);
}

/* What does not come out even is rounded in favour of the limit. */
static void rounds_down(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = odeon_test_spawn(
        world, rate_front, .name = "third",
        ODEON_ARGS(struct rate_front_args, .rate = 3, .burst = 3, .name = "third"));

    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
    odeon_test_advance(world, 1000 * MS_NS);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_LIMITED, .left = 2, .wait_ms = 1);
    odeon_test_advance(world, 2);
    odeon_test_send(world, front, rate_take, .cost = 3, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
}

/* An empty bucket takes longer to fill than a key has to be idle: it is not forgotten before. */
static void keeps_what_is_not_full(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front =
        odeon_test_spawn(world, rate_front, .name = "slow",
                         ODEON_ARGS(struct rate_front_args, .rate = 1, .per_ms = 60000, .burst = 2,
                                    .idle_ms = 1000, .name = "slow"));

    odeon_test_send(world, front, rate_take, .cost = 2, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
    odeon_test_advance(world, 119999 * MS_NS);
    odeon_test_send(world, front, rate_take, .cost = 2, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_LIMITED, .left = 1, .wait_ms = 1);
    odeon_test_advance(world, 1000 * MS_NS);
    odeon_test_assert(odeon_test_lookup(world, "slow.alice") == ODEON_NOBODY);
}

/* Nobody but the front makes a limiter leave, and nobody but a limiter says that it does. */
static void believes_nobody(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 1);

    odeon_test_send(world, front, rate_take, .cost = 1, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST - 1);
    rate_limiter_ref alice = odeon_as(rate_limiter, odeon_test_lookup(world, "rate.alice"));
    odeon_test_advance(world, 500 * MS_NS); /* full, but used lately */
    odeon_test_signal(world, alice, rate_leave);
    odeon_test_signal(world, alice, rate_tick);
    odeon_test_send(world, front, rate_unused, .key = "alice");
    odeon_test_send(world, front, rate_left, .stays = 0);
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "bob");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_ROOM);
    odeon_test_assert(odeon_test_lookup(world, "rate.alice") == alice.ref);
}

/* Without its front a limiter ends by itself. */
static void outlives_no_front(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 0);

    odeon_test_send(world, front, rate_take, .cost = 1, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = BURST - 1);
    odeon_test_stop(world, front.ref, ODEON_DELETE);
    odeon_test_advance(world, 2000 * MS_NS);
    odeon_test_assert(odeon_test_lookup(world, "rate.alice") == ODEON_NOBODY);
    odeon_test_assert(odeon_test_dead_letters(world) == 0);
}

static void keeps_its_buckets(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    rate_front_ref front = open_front(world, 1);

    odeon_test_send(world, front, rate_take, .cost = BURST, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_ALLOWED, .left = 0);
    odeon_test_crash_now(world);
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "alice");
    odeon_test_expect(world, rate_answer, .outcome = RATE_LIMITED, .left = 0, .wait_ms = 100);
    odeon_test_send(world, front, rate_take, .cost = 1, .key = "bob");
    odeon_test_expect(world, rate_answer, .outcome = RATE_NO_ROOM);
    /* and so are timers: one that dies with `rate_leave`, too, leaves in the end */
    odeon_test_crash(world, rate_leave, 1, ODEON_TEST_BEHIND);
    odeon_test_advance(world, 2000 * MS_NS);
    odeon_test_assert(odeon_test_crashes(world) == 2);
    odeon_test_assert(odeon_test_lookup(world, "rate.alice") == ODEON_NOBODY);
}

/* ---- Calls that come just when a limiter's timer has fired: actors make them, at the same time,
 * and some messages later. ---- */

ODEON_MESSAGE(test_call, 1, {
    odeon_ref front;
    uint64_t delay_ns;
    uint32_t hops, cost;
    char key[44];
});
ODEON_INTERFACE(test_caller, test_call, rate_answer);
ODEON_STATE(test_caller, { odeon_ref client; });

ODEON_RECEIVE(test_caller, test_call)
{
    test_caller_ref me = odeon_self(ctx, test_caller);
    int r;

    if (ctx->sender != ctx->self) {
        self->client = ctx->sender;
        r = odeon_send_after(ctx, NULL, msg->delay_ns, me, test_call, .front = msg->front,
                             .hops = msg->hops, .cost = msg->cost, ODEON_TEXT(key, msg->key));
    } else if (msg->hops > 0) {
        r = odeon_send(ctx, me, test_call, .front = msg->front, .hops = msg->hops - 1,
                       .cost = msg->cost, ODEON_TEXT(key, msg->key));
    } else {
        r = odeon_send(ctx, odeon_as(rate_front, msg->front), rate_take, .cost = msg->cost,
                       ODEON_TEXT(key, msg->key));
    }
    if (r < 0)
        odeon_test_fail("a call is not sent: %s", odeon_strerror(r));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(test_caller, rate_answer)
{
    odeon_send_any(ctx, self->client, rate_answer, .outcome = msg->outcome, .left = msg->left,
                   .wait_ms = msg->wait_ms);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(test_caller, ODEON_ON(test_caller, test_call), ODEON_ON(test_caller, rate_answer));
ODEON_ACTOR_TYPE(test_caller, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("rate-tested", "1.0.0", ODEON_TYPE(rate_front), ODEON_TYPE(rate_limiter),
             ODEON_TYPE(test_caller));

enum { CALLERS = 4, KEYS = 3, HOPS = 7, ROUNDS = 12 };

/* What each key was allowed in a round, and the time before the calls of the round were made. */
struct round {
    uint64_t at_ns, allowed[KEYS];
};

static uint32_t cost_in(uint32_t number, uint32_t caller)
{
    return 1 + (3 * number + caller) % BURST;
}

/* Each caller calls once, after `delay_ns`. */
static void call_at_once(struct odeon_test *world, rate_front_ref front,
                         const test_caller_ref callers[CALLERS], uint32_t number, uint64_t delay_ns,
                         struct round *round)
{
    static const char *const keys[CALLERS] = { "one", "two", "shared", "shared" };

    for (uint32_t i = 0; i < CALLERS; i++) {
        struct test_call call = { .front = front.ref,
                                  .delay_ns = delay_ns,
                                  .hops = (number + i) % HOPS,
                                  .cost = cost_in(number, i) };

        strcpy(call.key, keys[i]);
        odeon_test_post_at(world, i, callers[i].ref, odeon_message_of(test_call), &call,
                           sizeof(call), 0, __FILE__, __LINE__);
    }
    odeon_test_advance(world, delay_ns);
    round->at_ns = odeon_test_now_ns(world);
    for (uint32_t i = 0; i < CALLERS; i++) {
        struct rate_answer answer = answer_of(world, i);

        if (answer.outcome != RATE_ALLOWED && answer.outcome != RATE_LIMITED)
            odeon_test_fail("a call of round %u has the outcome %u", number, answer.outcome);
        if (answer.outcome == RATE_ALLOWED)
            round->allowed[i < 2 ? i : 2] += cost_in(number, i);
    }
}

/* From any round to the last one. */
static void look_at_windows(const struct round *rounds, uint32_t last, uint32_t key)
{
    uint64_t allowed = 0;

    for (uint32_t first = last + 1; first-- > 0;) {
        uint64_t passed_ns = rounds[last].at_ns - rounds[first].at_ns;

        allowed += rounds[first].allowed[key];
        if (allowed > BURST + passed_ns * RATE / (1000 * MS_NS))
            odeon_test_fail("key %u was allowed %llu in %llu ms", key, (unsigned long long)allowed,
                            (unsigned long long)(passed_ns / MS_NS));
    }
}

/* Two keys with a caller each, and one that two share, are called in the moment in which their
 * limiters are about to leave, and just behind it; the executor dies twice. There is room for these
 * keys and no other. Each call is answered, and in no stretch of time has a key more than a burst
 * and what comes back meanwhile, whatever the schedule is. */
static void never_allows_more(struct odeon_test *world, void *userdata)
{
    struct round rounds[ROUNDS] = { 0 };
    test_caller_ref callers[CALLERS];
    rate_front_ref front = open_front(world, KEYS);

    (void)userdata;
    for (uint32_t i = 0; i < CALLERS; i++)
        callers[i] = odeon_test_spawn(world, test_caller);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        call_at_once(world, front, callers, i, (i % 2 == 0 ? IDLE_MS : 10) * MS_NS, &rounds[i]);
        for (uint32_t key = 0; key < KEYS; key++)
            look_at_windows(rounds, i, key);
    }
    odeon_test_expect_none(world);
    odeon_test_assert(odeon_test_dead_letters(world) == 0);
}

int main(void)
{
    odeon_test_check(limits, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(refuses_what_is_no_key, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(forgets_what_is_not_used, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(keeps_what_is_not_full, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(rounds_down, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(believes_nobody, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(outlives_no_front, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(keeps_its_buckets, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_explore(500, never_allows_more, NULL, .plugin = &odeon_plugin_descriptor,
                       .ports = CALLERS, .crashes = 2);
    return odeon_test_done();
}
