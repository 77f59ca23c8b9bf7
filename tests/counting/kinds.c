/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of traffic: who sends to whom. */
#include <string.h>

#include "tests/counting/send.h"

enum {
    GROUP = 100,
    FAN = 4,
    CLIENTS = 32,
    /* what a handler works for: long enough for all others to fall asleep; and some time */
    CALLER_NS = 20000,
    SELF_NS = 1000,
};

static uint32_t two(const struct wish *wish)
{
    (void)wish;
    return 2;
}

static uint32_t one(const struct wish *wish)
{
    (void)wish;
    return 1;
}

static uint32_t many_clients(const struct wish *wish)
{
    (void)wish;
    return CLIENTS;
}

static uint32_t one_each(const struct wish *wish)
{
    return wish->workers;
}

static uint32_t half(const struct wish *wish)
{
    return (wish->workers + 1) / 2;
}

static uint32_t some_each(const struct wish *wish)
{
    return 1 + FAN * wish->workers;
}

/* As bench/plugins/executor.c: round its group. */
static int run_executor(uint32_t index, struct engine_context *ctx)
{
    struct member *m = &members[index];
    uint32_t to = index / GROUP * GROUP + m->sent++ % GROUP;
    return send_to(ctx, to < n_members ? to : index);
}

static int run_random(uint32_t index, struct engine_context *ctx)
{
    (void)index;
    return send_to(ctx, random_below(&members[index].random, n_members));
}

static int run_pingpong(uint32_t index, struct engine_context *ctx)
{
    return send_to(ctx, index ^ 1);
}

static int run_self(uint32_t index, struct engine_context *ctx)
{
    sim_sleep_ns(SELF_NS);
    return send_to(ctx, index);
}

/* The first one calls another, who is on another worker and asleep, and hears from him. */
static int run_wake(uint32_t index, struct engine_context *ctx)
{
    if (index)
        return send_to(ctx, 0);
    sim_sleep_ns(CALLER_NS);
    return send_to(ctx, 1 + random_below(&members[0].random, n_members - 1));
}

/* The first one sends to all others, and again when all have answered. */
static int run_burst(uint32_t index, struct engine_context *ctx)
{
    struct member *first = &members[0];
    if (index)
        return send_to(ctx, 0);
    if (first->sent && ++first->answers < n_members - 1)
        return 0;
    first->answers = 0;
    first->sent = 1;
    int r = 0;
    for (uint32_t i = 1; i < n_members && r == 0; i++)
        r = send_to(ctx, i);
    return r;
}

static int run_echo(uint32_t index, struct engine_context *ctx)
{
    (void)index;
    return send_answer(ctx);
}

const struct traffic traffics[] = {
    { .name = "executor",
      .what = "actors send round their group of 100",
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = 50000,
      .run = run_executor },
    { .name = "random",
      .what = "each message is answered by one to any actor",
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = 50000,
      .payload = 24,
      .run = run_random },
    { .name = "pingpong",
      .what = "two actors of two workers; all others sleep",
      .pinned = true,
      .actors = two,
      .stealing = STEAL_NONE,
      .spin_ns = 50000,
      .payload = 8,
      .one_begins = true,
      .run = run_pingpong },
    { .name = "search",
      .what = "every other worker has one actor, who sends to himself, and nothing to steal",
      .pinned = true,
      .actors = half,
      .clients = half,
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = UINT64_C(1000000000),
      .run = run_self },
    { .name = "lone",
      .what = "one actor sends to himself, all other workers find nothing to steal",
      .actors = one,
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = UINT64_C(1000000000),
      .run = run_self },
    { .name = "lone-ports",
      .what = "the same, beside 32 clients that post nothing",
      .actors = one,
      .clients = many_clients,
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = UINT64_C(1000000000),
      .run = run_self },
    { .name = "wake",
      .what = "one actor calls others, each on a worker that sleeps",
      .pinned = true,
      .actors = one_each,
      .stealing = STEAL_LONGEST_VICTIM,
      .one_begins = true,
      .run = run_wake },
    { .name = "burst",
      .what = "one actor sends to four for each worker at once, all of which answer",
      .actors = some_each,
      .stealing = STEAL_LONGEST_VICTIM,
      .one_begins = true,
      .run = run_burst },
    { .name = "ports",
      .what = "a client for every other worker posts, sixteen at a time, and is answered",
      .actors = one_each,
      .clients = half,
      .stealing = STEAL_LONGEST_VICTIM,
      .spin_ns = 50000,
      .payload = 24,
      .posts = true,
      .run = run_echo },
    { .name = NULL },
};

const struct traffic *traffic_find(const char *name)
{
    for (const struct traffic *t = traffics; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}
