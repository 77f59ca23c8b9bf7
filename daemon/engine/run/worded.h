/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with optional words that are simply run all the same: calls, questions, their answers,
 * and what has been passed on. Their receiver is there, nothing is to be said of it or of them,
 * nobody traces them, and their behaviour is known to be quick. All others are special.h's, which
 * does the same for these, and looks at more.
 *
 * worded.WD1  What it does not run it leaves untouched: no question is taken, nothing is counted.
 *
 * Threads: a worker's own, from within a turn. Inline, for its one user.
 */
#pragma once

#include "daemon/engine/asks/ask.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/run/special.h"

/* Those that say more of a message, and ask nothing of who runs it. */
enum { WORDED_PREFIX = PREFIX_CORRELATION | PREFIX_ACCEPTED };

/* What is looked at more than once. */
struct worded {
    uint64_t meta;
    unsigned prefix;
    uint32_t prefix_bytes, payload_size;
    const uint64_t *payload;
};

static inline struct worded worded_read(const struct envelope *envelope)
{
    struct worded m = { .meta = *(const uint64_t *)&envelope->type };
    m.prefix = (unsigned)(m.meta >> 56);
    m.prefix_bytes = likely(m.prefix == PREFIX_CORRELATION)
                         ? (uint32_t)sizeof(uint64_t)
                         : envelope_prefix_bytes(m.prefix & WORDED_PREFIX);
    m.payload_size = envelope->length - m.prefix_bytes;
    m.payload = (const uint64_t *)(envelope + 1) + m.prefix_bytes / 8;
    return m;
}

static inline bool worded_is_plain_otherwise(const struct worded *m)
{
    const uint64_t others = (uint64_t)(uint8_t)~WORDED_PREFIX << 56 | UINT64_C(0xff) << 48 |
                            (uint64_t)(uint8_t)~ENVELOPE_REPLY << 40;
    return (m->meta & others) == 0 && (uint16_t)m->meta >= MESSAGE_TYPE_FIRST_PLAIN &&
           (uint16_t)m->meta < ODEON_MESSAGE_TYPES_MAX &&
           (uint16_t)(m->meta >> 16) >= m->prefix_bytes;
}

/* As of a plain message (turn.c). */
static inline engine_behaviour_fn worded_behaviour(const struct worker *w, const struct worded *m,
                                                   actor_ref to, const struct actor *actor)
{
    uint64_t key = load_relaxed(&actor->key);
    if ((key & ~ACTOR_KEY_TYPE_MASK) != (actor_ref_upper(to) | w->turn.key_live))
        return NULL;
    const struct actor_type *type = load_relaxed(&w->turn.types[actor_key_type(key)]);
    uint8_t index = type->index_of[(uint16_t)m->meta];
    const struct behaviour_shape *shape = &type->shapes[index];
    uint32_t longer = m->payload_size - shape->size;
    return longer <= shape->slack && pace_is_quick(type, index) ? type->behaviours[index].run
                                                                : NULL;
}

/* The words lie in the order of their bits: the correlation id first, hops last. */
static inline uint64_t worded_correlation(const struct envelope *envelope, const struct worded *m)
{
    return m->prefix & PREFIX_CORRELATION ? *(const uint64_t *)(envelope + 1) : 0;
}

static inline void worded_context_set(struct engine_context *ctx, const struct envelope *envelope,
                                      const struct worded *m)
{
    ctx->sender = envelope->from;
    ctx->message_type = (uint16_t)m->meta;
    ctx->message_size = (uint16_t)m->payload_size;
    ctx->correlation = worded_correlation(envelope, m);
    ctx->hops = m->prefix & PREFIX_ACCEPTED ? m->payload[-1] & 0xff : 0;
}

/* What became of one: it is not such a message; it was run and committed as a plain one is; or it
 * was by a longer way, behind which anything may have changed. */
enum worded_outcome { WORDED_NOT, WORDED_RUN, WORDED_ENDED };

/* Runs the message, which ends at `cursor`, and commits it, as special_run() does. */
static inline enum worded_outcome worded_run(struct worker *w, const struct envelope *envelope,
                                             struct actor *actor, uint64_t cursor)
{
    const struct worded m = worded_read(envelope);
    actor_ref to = envelope->to;
    engine_behaviour_fn run =
        worded_is_plain_otherwise(&m) ? worded_behaviour(w, &m, to, actor) : NULL;
    if (unlikely(!run))
        return WORDED_NOT;
    w->ctx.self = to; /* whose question an answer ends */
    if (m.meta >> 40 & ENVELOPE_REPLY) {
        if (unlikely(ask_take(w, worded_correlation(envelope, &m)) < 0))
            return WORDED_NOT;
        w->ctx.kind = (uint64_t)KIND_ANSWER << 56;
    }
    worded_context_set(&w->ctx, envelope, &m);
    int result = run(w->turn.states[actor_ref_slot(to)], m.payload, &w->ctx);
    bool plain = result == ALLOCATION_NODELETE && !w->place.newborn && !outbox_wants_flip(w);
    if (likely(plain)) {
        POINT(handler);
        commit_message(w, cursor);
    } else {
        special_end(w, actor, envelope, result, REASON_FINISHED, cursor);
    }
    w->ctx.correlation = 0;
    w->ctx.kind = 0;
    w->ctx.hops = 0;
    return likely(plain) ? WORDED_RUN : WORDED_ENDED;
}
