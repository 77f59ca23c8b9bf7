/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_executor.c - executor, balance-one and balance-multi: many actors that send round their
 * group.
 *
 * Actors are in adjacent groups of `set`. On each message an actor sends one message to the next
 * member of its group, itself included, until it has received set * rounds messages; on one more it
 * ends. All messages are one shared object without content.
 *
 * balance-one: all these actors lie on worker 0, as many dummies, which end on their first message,
 * on the others. balance-multi: on each of workers 0, 2, 4, ... there are as many such actors, and
 * dummies on those between.
 *
 * The driver owns the actors. recs and sends of an actor are touched only by its behaviour; group
 * is constant.
 *
 * Invariants:
 *  1. Every actor is sent exactly set * rounds + 1 messages: one by the driver, and `rounds` by
 *     each of its group. So each ends by itself, after the last message to it, and none is lost.
 *  2. sends is recs modulo set, kept by counting, which is cheaper than dividing.
 */
#include "bench.h"

/* Two to a cache line; a line of its own for each would cost more in capacity than it saves in
 * sharing. */
struct member {
    struct actor actor;
    struct member *group; /* the first of the group */
    uint32_t recs;
    uint32_t sends;
};

/* Set by the driver before the workers are released, and constant until they have ended. */
static uint32_t group_set;
static uint32_t group_max;
static uint32_t busy_steps;
static struct message nothing;

static enum allocation bench_executor_member_receive(struct actor *actor, struct message *message)
{
    struct member *self = (struct member *)actor;
    uint32_t recs = self->recs;
    if (__builtin_expect(recs == group_max, 0)) {
        return ALLOCATION_FINISHED;
    }
    uint32_t sends = self->sends;
    struct member *to = &self->group[sends];
    self->recs = recs + 1;
    self->sends = sends + 1 == group_set ? 0 : sends + 1;
    actor_send(&to->actor, message, bench_executor_member_receive);
    return ALLOCATION_NODELETE;
}

/* busy(k): k steps of a generator whose result is kept alive. */
static inline void bench_executor_busy(uint32_t steps, uint32_t seed)
{
    uint32_t x = seed | 1u;
    for (uint32_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    __asm__ __volatile__("" : : "r"(x));
}

static enum allocation bench_executor_member_receive_busy(struct actor *actor,
                                                          struct message *message)
{
    struct member *self = (struct member *)actor;
    uint32_t recs = self->recs;
    if (recs == group_max) {
        return ALLOCATION_FINISHED;
    }
    uint32_t sends = self->sends;
    struct member *to = &self->group[sends];
    self->recs = recs + 1;
    self->sends = sends + 1 == group_set ? 0 : sends + 1;
    bench_executor_busy(busy_steps, recs);
    actor_send(&to->actor, message, bench_executor_member_receive_busy);
    return ALLOCATION_NODELETE;
}

static enum allocation bench_executor_dummy_receive(struct actor *actor, struct message *message)
{
    (void)actor;
    (void)message;
    return ALLOCATION_FINISHED;
}

static void bench_executor_group_configure(const struct bench_options *options, uint32_t rounds)
{
    group_set = options->set != 0 ? options->set : 100;
    group_max = group_set * (options->rounds != 0 ? options->rounds : rounds);
    busy_steps = options->work;
    message_init(&nothing, ALLOCATION_NODELETE);
}

/* Rounded up to whole groups. */
static uint32_t bench_executor_group_actors(const struct bench_options *options, uint32_t actors)
{
    uint32_t wanted = options->actors != 0 ? options->actors : actors;
    return (wanted + group_set - 1) / group_set * group_set;
}

static void bench_executor_member_init(struct member *members, uint32_t index)
{
    struct member *self = &members[index];
    self->group = &members[index / group_set * group_set];
    self->recs = 0;
    self->sends = 0;
}

static struct bench_result bench_executor_group_result(const struct executor *executor,
                                                       uint32_t actors, uint64_t begin)
{
    return (struct bench_result){
        .messages = (uint64_t)actors * ((uint64_t)group_max + 1),
        .elapsed_ns = executor->ended_ns - begin,
    };
}

struct bench_result bench_executor(const struct bench_options *options)
{
    bench_executor_group_configure(options, 100);
    uint32_t actors = bench_executor_group_actors(options, 40000);
    struct member *members = executor_alloc(actors, sizeof(*members));
    struct executor *executor = executor_create(&options->executor);
    for (uint32_t i = 0; i < actors; i++) {
        bench_executor_member_init(members, i);
        actor_init(executor, &members[i].actor);
    }
    executor_release(executor);

    uint64_t begin = executor_now_ns();
    for (uint32_t i = 0; i < actors; i++) {
        actor_send(&members[i].actor, &nothing, bench_executor_member_receive);
    }
    executor_run(executor);

    struct bench_result result = bench_executor_group_result(executor, actors, begin);
    executor_destroy(executor);
    free(members);
    return result;
}

/*
 * Begins working actors and dummies in the order that puts the former on the loaded workers, one in
 * `apart`, by the ticket alone: in each turn round all queues, the first `range` tickets lie on
 * worker 0, the next on worker 1. Sends each its first message while the workers wait.
 */
static uint32_t bench_executor_balance_deal(struct executor *executor, struct member *members,
                                            uint32_t actors, struct actor *dummies, unsigned apart)
{
    behaviour *receive =
        busy_steps != 0 ? bench_executor_member_receive_busy : bench_executor_member_receive;
    uint32_t made = 0;
    uint32_t dummy = 0;
    for (unsigned queue = 0; made < actors; queue = queue + 1 == executor->queues ? 0 : queue + 1) {
        if (queue / executor->range % apart == 0) {
            bench_executor_member_init(members, made);
            actor_init(executor, &members[made++].actor);
        } else {
            actor_init(executor, &dummies[dummy++]);
        }
    }
    for (uint32_t i = 0; i < actors; i++) {
        actor_send(&members[i].actor, &nothing, receive);
    }
    for (uint32_t i = 0; i < dummy; i++) {
        actor_send(&dummies[i], &nothing, bench_executor_dummy_receive);
    }
    return dummy;
}

static struct bench_result bench_executor_balance(const struct bench_options *options,
                                                  unsigned apart)
{
    unsigned workers = options->executor.workers;
    bench_executor_group_configure(options, 20);
    uint32_t actors = bench_executor_group_actors(options, 4000) * ((workers + apart - 1) / apart);
    struct member *members = executor_alloc(actors, sizeof(*members));
    /* Dummies: at most those of whole turns round all queues. */
    size_t room = ((size_t)actors + options->executor.queues_per_worker) * workers;
    struct actor *dummies = executor_alloc(room, sizeof(*dummies));
    struct executor *executor = executor_create(&options->executor);

    uint32_t extra = bench_executor_balance_deal(executor, members, actors, dummies, apart);
    uint64_t begin = executor_now_ns();
    executor_run(executor);

    struct bench_result result = bench_executor_group_result(executor, actors, begin);
    result.messages += extra;
    executor_destroy(executor);
    free(dummies);
    free(members);
    return result;
}

struct bench_result bench_balance_one(const struct bench_options *options)
{
    return bench_executor_balance(options, options->executor.workers);
}

struct bench_result bench_balance_multi(const struct bench_options *options)
{
    return bench_executor_balance(options, 2);
}
