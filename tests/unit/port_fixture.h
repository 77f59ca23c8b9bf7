/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of ports share: an echo actor, the policies to run under, and what a client
 * expects. The test is the client, on the shared words and rings alone. */
#pragma once

#include <sched.h>

#include <odeon/names.h>

#include "daemon/engine/ports/port.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"
#include "engine_client.h"
#include "engine_fixture.h"

enum { RING = CLIENT_RING, PORT = 3 };

static uint16_t number_type, bulk_type, reply_type, late_type, alien_type;
static uint32_t echo_type;
static actor_ref echo;
static struct {
    _Atomic uint64_t n, last, wrong;
    _Atomic uint32_t hold, inside;
    _Atomic actor_ref sender;
    _Atomic int late;
} seen;

static inline int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    uint64_t number = *(const uint64_t *)message;
    atomic_store(&seen.inside, 1);
    while (atomic_load(&seen.hold))
        sched_yield();
    seen.sender = ctx->sender;
    atomic_fetch_add(&seen.n, 1);
    if (number <= atomic_load(&seen.last))
        atomic_fetch_add(&seen.wrong, 1);
    atomic_store(&seen.last, number);
    (void)engine_ctx_reply(ctx, reply_type, &number, sizeof(number), NULL, 0);
    return ALLOCATION_NODELETE;
}

static inline int on_bulk(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    atomic_fetch_add(&seen.n, 1);
    (void)engine_ctx_reply(ctx, reply_type, message, ctx->message_size, NULL, 0);
    return ALLOCATION_NODELETE;
}

/* To whoever sent the last number, whether he is there or not; to nobody if nobody has, in each way
 * there is. */
static inline int on_late(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    int r = engine_ctx_send(ctx, seen.sender, reply_type, 0, message, 8);
    if (seen.sender == 0 && (engine_ctx_signal(ctx, 0, reply_type) != r ||
                             engine_ctx_send_word(ctx, 0, reply_type, 1) != r))
        r = 0;
    atomic_store(&seen.late, r);
    atomic_fetch_add(&seen.n, 1);
    return ALLOCATION_NODELETE;
}

static inline void types_register(struct engine_fixture *f)
{
    number_type = engine_fixture_message(f, "number", 8, false);
    bulk_type = engine_fixture_message(f, "bulk", 0, true);
    reply_type = engine_fixture_message(f, "reply", 0, true);
    late_type = engine_fixture_message(f, "late", 8, false);
    alien_type = engine_fixture_message(f, "alien", 8, false);
    const struct engine_behaviour behaviours[] = {
        { number_type, 8, false, on_number },
        { bulk_type, 0, true, on_bulk },
        { late_type, 8, false, on_late },
    };
    echo_type = engine_fixture_type(f, "echo", 8, NULL, NULL, behaviours, 3);
}

/* What a test runs under. */
static enum steal_policy_id policy;
static enum steal_mode mode;

static inline int under_defaults(void **state)
{
    (void)state;
    policy = STEAL_LONGEST_VICTIM;
    mode = STEAL_KEEP;
    return 0;
}

static inline int under_visit(void **state)
{
    (void)state;
    policy = STEAL_LOCALITY;
    mode = STEAL_VISIT;
    return 0;
}

static inline int under_share(void **state)
{
    (void)state;
    policy = STEAL_SHARE;
    mode = STEAL_KEEP;
    return 0;
}

static inline void fixture_begin(struct engine_fixture *f, uint32_t workers, uint64_t limit)
{
    struct engine_config config = engine_fixture_config(workers, 2);
    config.stealing = policy;
    config.mode = mode;
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = limit;
    config.outbox_bytes = 1 << 20;
    config.backlog_bytes = 1 << 17;
    engine_fixture_open(f, config);
    types_register(f);
    memset(&seen, 0, sizeof(seen));
    echo = engine_fixture_spawn(f, echo_type, NULL, 0);
}

static inline void fixture_end(struct engine_fixture *f)
{
    if (f->engine->started)
        engine_stop(f->engine);
    assert_int_equal(atomic_load(&seen.wrong), 0);
    engine_fixture_close(f);
}

/* ---- what is delivered ---- */

static inline void client_expect_number(struct client *c, uint64_t number)
{
    const struct envelope *at = client_wait(c);
    assert_int_equal(at->type, reply_type);
    assert_int_equal(at->length, 8);
    assert_int_equal(*(const uint64_t *)envelope_payload(at), number);
}

static inline struct refusal client_expect_refusal(struct client *c, actor_ref to, uint16_t type,
                                                   enum envelope_reason reason)
{
    const struct envelope *at = client_wait(c);
    struct refusal refusal;
    assert_int_equal(at->type, MESSAGE_TYPE_REFUSAL);
    assert_int_equal(at->length, sizeof(refusal));
    memcpy(&refusal, envelope_payload(at), sizeof(refusal));
    assert_int_equal(refusal.to, to);
    assert_int_equal(refusal.type, type);
    assert_string_equal(odeon_reason_name(refusal.reason), odeon_reason_name(reason));
    return refusal;
}

/* Waits for the end of a port; *ret_why of the report that it was broken, 0: it was not. */
static inline void expect_removed(struct engine_fixture *f, uint32_t id, uint32_t generation,
                                  uint32_t *ret_why)
{
    struct engine_event event;
    *ret_why = 0;
    for (bool removed = false; !removed;) {
        assert_true(engine_fixture_until(client_event_next(f->engine, &event)));
        assert_int_equal(event.id, id);
        assert_int_equal(event.generation, generation);
        if (event.kind == ENGINE_EVENT_PORT_BROKEN)
            *ret_why = event.why;
        removed = event.kind == ENGINE_EVENT_PORT_REMOVED;
    }
}

#define port_test(function, under)                                                                 \
    {                                                                                              \
        .name = #function " " #under, .test_func = function, .setup_func = under                   \
    }
