/* SPDX-License-Identifier: Apache-2.0 */
/* The tests' own plugin: actors that send back, pass on, and keep count of what they see. */
#include "probe.h"

#include <errno.h>
#include <odeon/plugin.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/history/history.h"

enum { NS_PER_S = 1000000000 };

static _Atomic uint64_t inits, finis, reused, object_finis;
static void *_Atomic last_destroyed;

/* Echo: to the origin, or back. */
ODEON_STATELESS(probe_echo);

ODEON_RECEIVE(probe_echo, probe_number)
{
    if (msg->origin != ODEON_NOBODY)
        odeon_send_any(ctx, msg->origin, probe_number, .n = msg->n);
    else
        odeon_reply(ctx, probe_number, .n = msg->n);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_echo, probe_flood)
{
    for (uint64_t i = 0; i < msg->count; i++)
        if (odeon_send_any(ctx, ctx->sender, probe_block, .n = i) < 0)
            odeon_logf(ctx, ODEON_LOG_ERROR, "flood: block %llu was not sent",
                       (unsigned long long)i);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_echo, probe_block)
{
    odeon_reply(ctx, probe_number, .n = msg->n);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(probe_echo, ODEON_ON(probe_echo, probe_number), ODEON_ON(probe_echo, probe_flood),
               ODEON_ON(probe_echo, probe_block));
ODEON_ACTOR_TYPE(probe_echo);

/* Relay: to the actor that its arguments name. */
ODEON_STATE(probe_relay, { odeon_ref next; });

ODEON_INIT(probe_relay, odeon_ref)
{
    self->next = *args;
    return 0;
}

ODEON_RECEIVE(probe_relay, probe_number)
{
    odeon_send_any(ctx, self->next, probe_number, .n = msg->n,
                   .origin = msg->origin != ODEON_NOBODY ? msg->origin : ctx->sender);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(probe_relay, ODEON_ON(probe_relay, probe_number));
ODEON_ACTOR_TYPE(probe_relay);

/* Ledger: keeps count. */
ODEON_STATE(probe_ledger, {
    struct probe_told told;
    struct odeon_message_object *object;
});

ODEON_INIT(probe_ledger)
{
    atomic_fetch_add(&inits, 1);
    if (atomic_load(&last_destroyed) == (void *)self)
        atomic_fetch_add(&reused, 1);
    return self->told.count == 0 && !self->object ? 0 : -ENOTRECOVERABLE; /* the state is zeroed */
}

ODEON_FINI(probe_ledger)
{
    atomic_fetch_add(&finis, 1);
    atomic_store(&last_destroyed, (void *)self);
    if (self->object)
        odeon_msg_free(ctx, self->object);
}

ODEON_RECEIVE(probe_ledger, probe_number)
{
    self->told.count++;
    self->told.sum += msg->n;
    self->told.redelivered += ctx->redelivered;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_block)
{
    self->told.count++;
    self->told.sum += msg->n;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_work)
{
    uint64_t end = odeon_now_ns(ctx) + msg->ns;

    if (msg->n)
        odeon_logf(ctx, ODEON_LOG_NOTICE, "work %llu has begun", (unsigned long long)msg->n);
    self->told.redelivered += ctx->redelivered;
    while (odeon_now_ns(ctx) < end && !ctx->redelivered)
        ;
    return ODEON_NODELETE;
}

/* As a work, but that its worker waits in the kernel, where a signal finds it in any build: a
 * sanitizer keeps one that interrupts a computation for later. */
ODEON_RECEIVE(probe_ledger, probe_sleep)
{
    struct timespec left = { .tv_sec = (time_t)(msg->ns / NS_PER_S),
                             .tv_nsec = (long)(msg->ns % NS_PER_S) };

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_crash)
{
    if (ctx->attempts < msg->attempts)
        raise(SIGSEGV);
    self->told.count++;
    self->told.redelivered += ctx->redelivered;
    self->told.attempts = ctx->attempts;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_end)
{
    return msg->how;
}

static void object_fini(void *payload)
{
    const struct probe_number *number = payload;

    atomic_fetch_add(&object_finis, number->n == 7);
}

/* The object's message comes back as a number for this actor. A deleted object must not be touched
 * again. */
ODEON_RECEIVE(probe_ledger, probe_object)
{
    struct odeon_message_object *object = odeon_msg_new(ctx, probe_number);
    probe_ledger_ref me = odeon_as(probe_ledger, ctx->self);

    if (!object) {
        self->told.first = -ENOMEM;
        return ODEON_NODELETE;
    }
    odeon_msg_fields(object, probe_number)->n = 7;
    odeon_msg_set_fini(object, object_fini);
    if (msg->how < 0) { /* is never sent */
        self->object = object;
        return ODEON_NODELETE;
    }
    odeon_msg_set_allocation(object, (enum odeon_allocation)msg->how);
    self->told.first = odeon_msg_send(ctx, me, probe_number, object);
    if (msg->how == ODEON_NODELETE || msg->how == ODEON_FINISHED) {
        self->told.second = odeon_msg_send(ctx, me, probe_number, object);
        odeon_msg_free(ctx, object);
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_ask)
{
    struct probe_told told = self->told;

    odeon_reply(ctx, probe_told, .count = told.count, .sum = told.sum,
                .redelivered = told.redelivered, .attempts = told.attempts,
                .inits = atomic_load(&inits), .finis = atomic_load(&finis),
                .reused = atomic_load(&reused), .first = told.first, .second = told.second,
                .object_finis = atomic_load(&object_finis));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(probe_ledger, probe_note)
{
    odeon_log(ctx, (enum odeon_log_level)msg->level, msg->text);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(probe_ledger, ODEON_ON(probe_ledger, probe_number),
               ODEON_ON(probe_ledger, probe_block), ODEON_ON(probe_ledger, probe_work),
               ODEON_ON(probe_ledger, probe_sleep), ODEON_ON(probe_ledger, probe_crash),
               ODEON_ON(probe_ledger, probe_end), ODEON_ON(probe_ledger, probe_object),
               ODEON_ON(probe_ledger, probe_ask), ODEON_ON(probe_ledger, probe_note));
ODEON_ACTOR_TYPE(probe_ledger);

/* Ledgers for full queues, a type for each policy. */
static void note_run(struct history_log *log, const struct odeon_context *ctx, uint64_t n)
{
    history_log_note(log, &(struct history_record){ .sender = ctx->sender,
                                                    .receiver = ctx->self,
                                                    .sequence = n,
                                                    .kind = HISTORY_RUN,
                                                    .redelivered = ctx->redelivered != 0,
                                                    .attempt = ctx->attempts });
}

/* An executor that ends owes no fini to actors that live on in the segment, so a log that is open
 * then is no leak: it is named here for as long as the plugin is there. */
enum { LOGS_NAMED = 256 };
static struct history_log *_Atomic logs_named[LOGS_NAMED];
static _Atomic unsigned n_logs_named;

static struct history_log *log_named(struct history_log *log)
{
    atomic_store(&logs_named[atomic_fetch_add(&n_logs_named, 1) % LOGS_NAMED], log);
    return log;
}

#define LEDGER(actor, policy)                                                                      \
    ODEON_STATE(actor, { struct history_log *log; });                                              \
    ODEON_INIT(actor, struct probe_log)                                                            \
    {                                                                                              \
        self->log = log_named(history_log_open(args->path, PROBE_LOG_RECORDS));                    \
        return self->log ? 0 : -errno;                                                             \
    }                                                                                              \
    ODEON_FINI(actor)                                                                              \
    {                                                                                              \
        (void)ctx;                                                                                 \
        self->log = history_log_close(self->log);                                                  \
    }                                                                                              \
    ODEON_RECEIVE(actor, probe_number)                                                             \
    {                                                                                              \
        note_run(self->log, ctx, msg->n);                                                          \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE(actor, probe_work)                                                               \
    {                                                                                              \
        uint64_t end = odeon_now_ns(ctx) + msg->ns;                                                \
        note_run(self->log, ctx, msg->n);                                                          \
        while (odeon_now_ns(ctx) < end)                                                            \
            ;                                                                                      \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE(actor, probe_ask)                                                                \
    {                                                                                              \
        odeon_reply(ctx, probe_told, .count = 0);                                                  \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_HANDLERS(actor, ODEON_ON(actor, probe_number), ODEON_ON(actor, probe_work),              \
                   ODEON_ON(actor, probe_ask));                                                    \
    ODEON_ACTOR_TYPE(actor, ODEON_OVERFLOW(policy))

LEDGER(probe_reject, ODEON_OVERFLOW_REJECT);
LEDGER(probe_newest, ODEON_OVERFLOW_DROP_NEWEST);
LEDGER(probe_oldest, ODEON_OVERFLOW_DROP_OLDEST);
LEDGER(probe_stall, ODEON_OVERFLOW_STALL);

ODEON_PLUGIN("probe", "1.0.0", ODEON_TYPE(probe_echo), ODEON_TYPE(probe_relay),
             ODEON_TYPE(probe_ledger), ODEON_TYPE(probe_reject), ODEON_TYPE(probe_newest),
             ODEON_TYPE(probe_oldest), ODEON_TYPE(probe_stall));
