/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of phases, and of messages that are put off, for C. Included by
 * <odeon/plugin.h>; what the calls do stands there, at struct odeon_host.
 *
 *     ODEON_RECEIVE(door, knock) { ... odeon_become(ctx, "open"); ... }
 *     ODEON_RECEIVE_IN(door, open, knock) { ... }
 *
 *     ODEON_HANDLERS(door, ODEON_ON(door, knock), ODEON_ON(door, count));
 *     ODEON_HANDLERS_IN(door, open, ODEON_ON_IN(door, open, knock), ODEON_ON(door, count));
 *     ODEON_ACTOR_TYPE(door, ODEON_BEHAVIOURS_NAME("closed"),
 *                      ODEON_PHASES(ODEON_PHASE(door, open)));
 *
 *     ODEON_RECEIVE(door, enter) { ... odeon_stash(ctx, msg); ... }      not now
 *     ODEON_RECEIVE(door, unlock) { ... odeon_unstash(ctx); ... }        now, in their order
 *
 * A service that is older than this: -ENOSYS.
 */
#ifndef ODEON_PHASE_MACROS_H
#define ODEON_PHASE_MACROS_H

#ifndef ODEON_PLUGIN_MACROS_H
#error "include <odeon/plugin.h>"
#endif

/* As ODEON_RECEIVE, for one phase; a behaviour of ODEON_RECEIVE may be in several. */
#define ODEON_RECEIVE_IN(actor_, phase_, message_)                                                 \
    static inline int actor_##_receive_##message_##_in_##phase_(                                   \
        struct actor_##_state *self, const struct message_ *msg, struct odeon_context *ctx);       \
    static int actor_##_on_##message_##_in_##phase_(void *self_, const void *message_pointer_,     \
                                                    struct odeon_context *ctx_)                    \
    {                                                                                              \
        return actor_##_receive_##message_##_in_##phase_(                                          \
            (struct actor_##_state *)self_, (const struct message_ *)message_pointer_, ctx_);      \
    }                                                                                              \
    static inline int actor_##_receive_##message_##_in_##phase_(                                   \
        struct actor_##_state *self ODEON_UNUSED_, const struct message_ *msg ODEON_UNUSED_,       \
        struct odeon_context *ctx ODEON_UNUSED_)

#define ODEON_ON_IN(actor_, phase_, message_)                                                      \
    [__builtin_offsetof(struct actor_##_accepts, message_)] = {                                    \
        .message = odeon_message_of(message_), .run = actor_##_on_##message_##_in_##phase_         \
    }

/* Each message of the interface, as for ODEON_HANDLERS; the phase's name is `phase_`. */
#define ODEON_HANDLERS_IN(actor_, phase_, ...)                                                     \
    static const struct odeon_behaviour actor_##_behaviours_in_##phase_[] = { __VA_ARGS__ };       \
    _Static_assert(sizeof(actor_##_behaviours_in_##phase_) ==                                      \
                       sizeof(struct actor_##_accepts) * sizeof(struct odeon_behaviour),           \
                   #actor_ ": a message of its interface has no ODEON_ON in " #phase_);            \
    static const struct odeon_behaviour_set actor_##_phase_##phase_ = {                            \
        .struct_size = sizeof(struct odeon_behaviour_set),                                         \
        .n_behaviours = sizeof(actor_##_behaviours_in_##phase_) / sizeof(struct odeon_behaviour),  \
        .name = #phase_,                                                                           \
        .behaviours = actor_##_behaviours_in_##phase_,                                             \
    }

/* Among the settings of ODEON_ACTOR_TYPE: ODEON_PHASES(ODEON_PHASE(door, open), ...) */
#define ODEON_PHASE(actor_, phase_) &actor_##_phase_##phase_
#define ODEON_PHASES(...)                                                                          \
    .phases = (const struct odeon_behaviour_set *const[]){ __VA_ARGS__ },                          \
    .n_phases =                                                                                    \
        sizeof((const struct odeon_behaviour_set *const[]){ __VA_ARGS__ }) / sizeof(void *)

static inline ODEON_UNUSED_ int odeon_become(struct odeon_context *ctx, const char *name)
{
    return ctx->host->struct_size >= offsetof(struct odeon_host, become) + sizeof(void *)
               ? (ctx->host->become)(ctx, name)
               : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_has_stash_(const struct odeon_context *ctx)
{
    return ctx->host->struct_size >= offsetof(struct odeon_host, unstash) + sizeof(void *);
}

/* `message`: what the behaviour was handed, `msg`. */
static inline ODEON_UNUSED_ int odeon_stash(struct odeon_context *ctx, const void *message)
{
    return odeon_has_stash_(ctx) ? (ctx->host->stash)(ctx, message) : -ENOSYS;
}

/* All of them, or `most` at most: how many. */
static inline ODEON_UNUSED_ int odeon_unstash_some(struct odeon_context *ctx, uint32_t most)
{
    return odeon_has_stash_(ctx) ? (ctx->host->unstash)(ctx, most) : -ENOSYS;
}
static inline ODEON_UNUSED_ int odeon_unstash(struct odeon_context *ctx)
{
    return odeon_unstash_some(ctx, 0);
}

#endif
