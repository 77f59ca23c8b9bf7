/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: which jobs wait, who takes any, and who has one.
 *
 * Jobs that wait have no place in its state: they are registered by the name QUEUE.NUMBER, and wait
 * from `first` to `next`. A job that is leased for the first time gets an entry of `flight`, and
 * has it until it has ended or is put away: so one that comes back always finds room, before those
 * that wait.
 *
 * That a job is done is told by its end (odeon_down), and so is that a consumer has ended.
 */
#include "work_actors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE_TURN_MAX = 16, QUEUE_NAME_MAX = WORK_QUEUE_MAX + 24 };

struct queue_flight {
    odeon_ref item, consumer; /* ODEON_NOBODY: it has come back, and waits for one */
    uint64_t monitor;
};
struct queue_consumer {
    odeon_ref ref;
    uint64_t monitor;
    uint16_t window, held;
    uint32_t full; /* nothing more before the next tick */
};
ODEON_STATE(work_queue, {
    uint64_t first, next; /* numbers of those that wait */
    uint64_t done, buried, lost, lease_ns;
    uint32_t attempts, jobs, n_flight, n_consumers, n_waiters;
    uint32_t turn;  /* whom to ask first for the next job */
    uint32_t going; /* a work_go is on the way */
    struct queue_flight flight[WORK_FLIGHT_MAX];
    struct queue_consumer consumers[WORK_CONSUMERS_MAX];
    struct odeon_promise waiters[WORK_WAITERS_MAX];
    char name[WORK_QUEUE_MAX];
});
_Static_assert(sizeof(struct work_queue_state) <= 4096, "a kept state");

ODEON_INIT(work_queue, struct work_queue_args)
{
    work_queue_ref named;

    if (memchr(args->name, '\0', sizeof(args->name)) == NULL ||
        odeon_lookup(ctx, args->name, &named) < 0 || named.ref != ctx->self) {
        odeon_logf(ctx, ODEON_LOG_ERROR,
                   "the queue is not registered as '%.15s', which its "
                   "arguments say",
                   args->name);
        return -EINVAL; /* its jobs find it by that */
    }
    memcpy(self->name, args->name, sizeof(self->name));
    self->lease_ns = (uint64_t)(args->lease_ms > 0 ? args->lease_ms : 60000) * 1000000;
    self->attempts = args->attempts;
    self->jobs = args->jobs > 0 ? args->jobs : 1000;
    self->first = self->next = 1;
    /* what had no room is tried again */
    return odeon_signal_every(ctx, NULL, ODEON_SECOND_NS, odeon_self(ctx, work_queue), work_tick);
}

static void queue_name(const struct work_queue_state *self, uint64_t number,
                       char name[static QUEUE_NAME_MAX])
{
    snprintf(name, QUEUE_NAME_MAX, "%s.%llu", self->name, (unsigned long long)number);
}

/* ---- Who has what ---- */

/* The job's entry; NULL: it has none. */
static struct queue_flight *queue_flight_of(struct work_queue_state *self, odeon_ref item)
{
    for (uint32_t i = 0; i < self->n_flight; i++)
        if (self->flight[i].item == item)
            return &self->flight[i];
    return NULL;
}

static void queue_remove_flight(struct work_queue_state *self, struct queue_flight *entry)
{
    struct queue_flight *end = self->flight + self->n_flight--;

    memmove(entry, entry + 1, (size_t)((char *)end - (char *)(entry + 1)));
}

static struct queue_consumer *queue_consumer_of(struct work_queue_state *self, odeon_ref ref)
{
    for (uint32_t i = 0; i < self->n_consumers; i++)
        if (self->consumers[i].ref == ref)
            return &self->consumers[i];
    return NULL;
}

static void queue_remove_consumer(struct work_queue_state *self, struct odeon_context *ctx,
                                  struct queue_consumer *consumer)
{
    uint32_t at = (uint32_t)(consumer - self->consumers);

    odeon_demonitor(ctx, consumer->monitor);
    memmove(consumer, consumer + 1, (--self->n_consumers - at) * sizeof(*consumer));
    if (self->turn > at)
        self->turn--; /* who is next has moved, too */
}

/* A consumer has one job less. */
static void queue_release(struct work_queue_state *self, struct odeon_context *ctx,
                          struct queue_flight *entry)
{
    struct queue_consumer *consumer = queue_consumer_of(self, entry->consumer);

    entry->consumer = ODEON_NOBODY;
    if (!consumer)
        return;
    if (consumer->held > 0)
        consumer->held--;
    if (consumer->window == 0 && consumer->held == 0)
        queue_remove_consumer(self, ctx, consumer);
}

/* The next one behind the last that has got something, if it may have one more; NULL: none. */
static struct queue_consumer *queue_choose(struct work_queue_state *self)
{
    for (uint32_t i = 0; i < self->n_consumers; i++) {
        uint32_t at = (self->turn + i) % self->n_consumers;
        struct queue_consumer *consumer = &self->consumers[at];

        if (consumer->held < consumer->window && !consumer->full)
            return consumer;
    }
    return NULL;
}

/* ---- Leasing ---- */

/* One that waits gets an entry. NULL: there is none, or no room for it now. */
static struct queue_flight *queue_take_waiting(struct work_queue_state *self,
                                               struct odeon_context *ctx)
{
    char name[QUEUE_NAME_MAX];
    struct queue_flight *entry = &self->flight[self->n_flight];
    work_item_ref item;

    while (self->first < self->next && self->n_flight < WORK_FLIGHT_MAX) {
        queue_name(self, self->first, name);
        if (odeon_lookup(ctx, name, &item) < 0) { /* somebody has stopped it */
            self->first++;
            self->lost++;
            continue;
        }
        entry->item = item.ref;
        entry->consumer = ODEON_NOBODY;
        if (odeon_monitor(ctx, &entry->monitor, item) < 0)
            return NULL;
        self->first++;
        self->n_flight++;
        return entry;
    }
    return NULL;
}

static struct queue_flight *queue_next_item(struct work_queue_state *self,
                                            struct odeon_context *ctx)
{
    for (uint32_t i = 0; i < self->n_flight; i++)
        if (self->flight[i].consumer == ODEON_NOBODY)
            return &self->flight[i];
    return queue_take_waiting(self, ctx);
}

/* True: a job has gone to a consumer. */
static bool queue_lease(struct work_queue_state *self, struct odeon_context *ctx)
{
    struct queue_consumer *consumer = queue_choose(self);
    struct queue_flight *entry = consumer ? queue_next_item(self, ctx) : NULL;

    if (!entry || odeon_send(ctx, odeon_as(work_item, entry->item), work_lease,
                             .consumer = consumer->ref) < 0)
        return false; /* the tick tries again */
    entry->consumer = consumer->ref;
    consumer->held++;
    self->turn = (uint32_t)(consumer - self->consumers) + 1; /* who gets nothing has had none */
    return true;
}

/* Whatever has changed, somebody may take something now. */
static void queue_go(struct work_queue_state *self, struct odeon_context *ctx)
{
    if (!self->going && self->n_consumers > 0 &&
        odeon_signal(ctx, odeon_self(ctx, work_queue), work_go) == 0)
        self->going = true;
}

ODEON_RECEIVE(work_queue, work_go)
{
    uint32_t n = 0;

    if (ctx->sender != ctx->self)
        return ODEON_NODELETE;
    self->going = false;
    while (n < QUEUE_TURN_MAX && queue_lease(self, ctx))
        n++;
    if (n == QUEUE_TURN_MAX)
        queue_go(self, ctx);
    return ODEON_NODELETE;
}

/* ---- Producers ---- */

/* Who waits until nothing is left is told when that is so. */
static void queue_tell_waiters(struct work_queue_state *self, struct odeon_context *ctx)
{
    if (self->first != self->next || self->n_flight > 0)
        return;
    while (self->n_waiters > 0 &&
           odeon_answer(ctx, &self->waiters[self->n_waiters - 1], work_empty, .done = self->done,
                        .buried = self->buried, .lost = self->lost) != -EAGAIN)
        self->n_waiters--;
}

/* Who has given up says nothing, so the oldest makes room. */
ODEON_RECEIVE(work_queue, work_wait)
{
    if (self->n_waiters == WORK_WAITERS_MAX) {
        if (odeon_answer(ctx, &self->waiters[0], work_refused, .outcome = WORK_FULL) == -EAGAIN)
            return ODEON_NODELETE; /* no room for any answer now */
        memmove(&self->waiters[0], &self->waiters[1], --self->n_waiters * sizeof(self->waiters[0]));
    }
    if (odeon_reply_later(ctx, &self->waiters[self->n_waiters]) == 0)
        self->n_waiters++;
    queue_tell_waiters(self, ctx);
    return ODEON_NODELETE;
}

/* The job's actor is found again if it was made and could not be handed the job. */
static int queue_put(struct work_queue_state *self, struct odeon_context *ctx,
                     const struct work_put *msg)
{
    struct work_item_args args = { self->next, self->lease_ns, self->attempts, "" };
    char name[QUEUE_NAME_MAX];
    work_item_ref item;
    int r;

    queue_name(self, self->next, name);
    memcpy(args.queue, self->name, sizeof(args.queue));
    r = odeon_spawn_into(ctx, &item, work_item, .name = name, .link = 1, .find = 1, .args = &args,
                         .args_size = sizeof(args));
    return r < 0 ? r : odeon_forward(ctx, item, msg);
}

ODEON_RECEIVE(work_queue, work_put)
{
    enum work_outcome outcome = WORK_OK;

    if (odeon_tail_size(ctx, msg) > WORK_BYTES_MAX)
        outcome = WORK_TOO_LARGE;
    else if (self->next - self->first + self->n_flight >= self->jobs)
        outcome = WORK_FULL;
    else if (queue_put(self, ctx, msg) < 0)
        outcome = WORK_BUSY;
    if (outcome != WORK_OK) {
        odeon_reply(ctx, work_taken, .outcome = outcome);
        return ODEON_NODELETE;
    }
    self->next++; /* the job itself answers */
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

/* ---- Consumers ---- */

/* The sender, `consumer` if it is known, is monitored anew: this may be another life, and the queue
 * has still to hear of the former one's end. What that one had counts until it comes back. NULL:
 * there is no room. */
static struct queue_consumer *queue_hear_consumer(struct work_queue_state *self,
                                                  struct odeon_context *ctx,
                                                  struct queue_consumer *consumer)
{
    uint64_t monitor;

    if ((!consumer && self->n_consumers == WORK_CONSUMERS_MAX) || ctx->sender == ODEON_NOBODY ||
        odeon_monitor_any(ctx, &monitor, ctx->sender) < 0)
        return NULL;
    if (consumer) {
        odeon_demonitor(ctx, consumer->monitor);
    } else {
        consumer = &self->consumers[self->n_consumers++];
        *consumer = (struct queue_consumer){ .ref = ctx->sender };
        for (uint32_t i = 0; i < self->n_flight; i++)
            consumer->held += self->flight[i].consumer == ctx->sender;
    }
    consumer->monitor = monitor;
    return consumer;
}

ODEON_RECEIVE(work_queue, work_ready)
{
    struct queue_consumer *known = queue_consumer_of(self, ctx->sender), *consumer = known;

    if (!known && msg->window == 0)
        return ODEON_NODELETE;
    if (msg->window > 0)
        consumer = queue_hear_consumer(self, ctx, known);
    if (!consumer) {
        if (known) /* who is refused is lent nothing more; what it has comes back by itself */
            queue_remove_consumer(self, ctx, known);
        odeon_reply(ctx, work_refused, .outcome = WORK_FULL);
        return ODEON_NODELETE;
    }
    consumer->window = (uint16_t)(msg->window < WORK_FLIGHT_MAX ? msg->window : WORK_FLIGHT_MAX);
    if (consumer->window == 0 && consumer->held == 0)
        queue_remove_consumer(self, ctx, consumer);
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

/* A job comes back, and goes on before those that wait; or it has had its last attempt. */
ODEON_RECEIVE(work_queue, work_back)
{
    struct queue_flight *entry = queue_flight_of(self, ctx->sender);
    struct queue_consumer *consumer;

    if (!entry || entry->consumer == ODEON_NOBODY)
        return ODEON_NODELETE;
    consumer = queue_consumer_of(self, entry->consumer);
    if (consumer) /* who has gone may have begun anew: the queue's own monitor tells of its end */
        consumer->full = msg->why != WORK_WHY_OVER;
    queue_release(self, ctx, entry);
    if (msg->buried) {
        odeon_demonitor(ctx, entry->monitor);
        queue_remove_flight(self, entry);
        self->buried++;
#ifdef WORK_FORGETS_WAITERS /* a mistake: this, too, may have been the last one */
        queue_go(self, ctx);
        return ODEON_NODELETE;
#endif
        queue_tell_waiters(self, ctx);
    }
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

/* A job has ended: it is done, or somebody has stopped it. */
static void queue_end_item(struct work_queue_state *self, struct odeon_context *ctx,
                           struct queue_flight *entry, uint32_t reason)
{
    *(reason == ODEON_REASON_FINISHED ? &self->done : &self->lost) += 1;
    queue_release(self, ctx, entry);
    queue_remove_flight(self, entry);
    queue_tell_waiters(self, ctx);
}

ODEON_RECEIVE(work_queue, odeon_down)
{
    struct queue_flight *entry = queue_flight_of(self, msg->ref);
    struct queue_consumer *consumer = queue_consumer_of(self, msg->ref);

    if (entry && entry->monitor == msg->monitor)
        queue_end_item(self, ctx, entry, msg->reason);
    else if (consumer && consumer->monitor == msg->monitor)
        queue_remove_consumer(self, ctx, consumer); /* its jobs come back by themselves */
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

/* ---- Operators, and what had no room ---- */

ODEON_RECEIVE(work_queue, work_look)
{
    struct work_books books = { .waiting = self->next - self->first,
                                .done = self->done,
                                .buried = self->buried,
                                .lost = self->lost,
                                .consumers = self->n_consumers };

    for (uint32_t i = 0; i < self->n_flight; i++)
        *(self->flight[i].consumer == ODEON_NOBODY ? &books.returned : &books.leased) += 1;
    for (uint32_t i = 0; i < self->n_consumers; i++)
        books.window += self->consumers[i].window;
    odeon_reply(ctx, work_books, .waiting = books.waiting, .leased = books.leased,
                .returned = books.returned, .done = books.done, .buried = books.buried,
                .lost = books.lost, .consumers = books.consumers, .window = books.window);
    return ODEON_NODELETE;
}

/* The job itself knows whether it was put away, and stays where it is if it was not. */
static enum work_outcome queue_kick(struct work_queue_state *self, struct odeon_context *ctx,
                                    uint64_t number)
{
    struct queue_flight *entry = &self->flight[self->n_flight];
    char name[QUEUE_NAME_MAX];
    work_item_ref item;

    queue_name(self, number, name);
    if (number == 0 || number >= self->first || odeon_lookup(ctx, name, &item) < 0 ||
        queue_flight_of(self, item.ref))
        return WORK_NO_SUCH;
    if (self->n_flight == WORK_FLIGHT_MAX)
        return WORK_FULL;
    *entry = (struct queue_flight){ .item = item.ref };
    if (odeon_monitor(ctx, &entry->monitor, item) < 0)
        return WORK_BUSY;
    self->n_flight++;
    if (self->buried > 0)
        self->buried--;
    return WORK_OK;
}

ODEON_RECEIVE(work_queue, work_kick)
{
    odeon_reply(ctx, work_taken, .number = msg->number,
                .outcome = queue_kick(self, ctx, msg->number));
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(work_queue, work_tick)
{
    if (ctx->sender != ctx->self)
        return ODEON_NODELETE;
    for (uint32_t i = 0; i < self->n_consumers; i++)
        self->consumers[i].full = false;
    queue_tell_waiters(self, ctx);
    queue_go(self, ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(work_queue, ODEON_ON(work_queue, work_put), ODEON_ON(work_queue, work_wait),
               ODEON_ON(work_queue, work_ready), ODEON_ON(work_queue, work_look),
               ODEON_ON(work_queue, work_kick), ODEON_ON(work_queue, work_go),
               ODEON_ON(work_queue, work_tick), ODEON_ON(work_queue, work_back),
               ODEON_ON(work_queue, odeon_down));
ODEON_ACTOR_TYPE(work_queue, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_TAKES(work_queue_args));
