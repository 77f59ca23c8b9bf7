/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of plugins, for C. Included by <odeon/plugin.h>; docs/plugins.md is the guide,
 * docs/examples the practice.
 *
 *     ODEON_STATE(counter, { int64_t total; });
 *     ODEON_RECEIVE(counter, counter_add)
 *     {
 *         self->total += msg->amount * msg->weight;
 *         return ODEON_NODELETE;
 *     }
 *     ODEON_HANDLERS(counter, ODEON_ON(counter, counter_add));
 *     ODEON_ACTOR_TYPE(counter);
 *     ODEON_PLUGIN("counter", "1.0.0", ODEON_TYPE(counter));
 *
 * The order is: interface (in the shared header), state, init, fini and receivers, handlers, actor
 * type, plugin; the last once in a shared object, the others may be spread over its source files,
 * one actor to a file.
 *
 * What holds:
 *  plugin_macros.P1  No cast of a function: what the host calls takes void pointers and calls the
 *      author's function, which is inlined.
 *  plugin_macros.P2  A send builds the struct on the stack and calls the host's function, with a
 *      constant size; nothing is between.
 *  plugin_macros.P3  Every argument of a macro is evaluated once.
 *  plugin_macros.P4  Nothing but `odeon_plugin_descriptor` is exported; dlsym() finds nothing else
 *      of these headers.
 *  plugin_macros.P5  Sending a message that the receiver does not accept, to a typed reference,
 *      does not compile.
 */
#ifndef ODEON_PLUGIN_MACROS_H
#define ODEON_PLUGIN_MACROS_H

#ifndef ODEON_PLUGIN_H
#error "include <odeon/plugin.h>"
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define ODEON_UNUSED_ __attribute__((unused))

/* ---- State, init and fini. ------------------------------------------------------------------
 * The state is zeroed before init. Its body as text is for `odeonctl plugin check` alone. Init and
 * fini are found by the linker: they are weak, and null when not written. */
#define ODEON_STATE_ALIGN_LIMIT 16 /* to so many bytes states are aligned, at most */
#define ODEON_STATE(actor_, ...)                                                                   \
    struct actor_##_state __VA_ARGS__;                                                             \
    _Static_assert(__alignof__(struct actor_##_state) <= ODEON_STATE_ALIGN_LIMIT,                  \
                   "state of " #actor_ " is to be aligned to more than 16 bytes");                 \
    enum { odeon_state_size_of_##actor_ = sizeof(struct actor_##_state) };                         \
    static const char odeon_state_text_of_##actor_[]                                               \
        __attribute__((section("odeon_states"), used ODEON_RETAIN_)) = #actor_ "\0" #__VA_ARGS__;  \
    ODEON_DECLARE_(actor_)

/* For an actor without state: `self` is then a pointer to nothing. */
#define ODEON_STATELESS(actor_)                                                                    \
    struct actor_##_state;                                                                         \
    enum { odeon_state_size_of_##actor_ = 0 };                                                     \
    ODEON_DECLARE_(actor_)

#define ODEON_DECLARE_(actor_)                                                                     \
    __attribute__((weak, visibility("hidden"))) int odeon_init_of_##actor_(                        \
        void *self_, const void *args_, size_t args_size_, struct odeon_context *ctx_);            \
    __attribute__((weak, visibility("hidden"))) void odeon_fini_of_##actor_(                       \
        void *self_, struct odeon_context *ctx_)

/* ODEON_INIT(counter) { ...; return 0; }                          gets self and ctx
 * ODEON_INIT(counter, struct counter_args) { ...; return 0; }     and args; with arguments of
 * another size it is not run: init has failed, with -EINVAL */
#define ODEON_INIT(...)                                                                            \
    ODEON_PICK_THIRD_(__VA_ARGS__, ODEON_INIT_ARGS_, ODEON_INIT_PLAIN_, 0)(__VA_ARGS__)
#define ODEON_PICK_THIRD_(a_, b_, c_, ...) c_

#define ODEON_INIT_PLAIN_(actor_)                                                                  \
    static inline int actor_##_init_(struct actor_##_state *self, struct odeon_context *ctx);      \
    int odeon_init_of_##actor_(void *self_, const void *args_ ODEON_UNUSED_,                       \
                               size_t args_size_ ODEON_UNUSED_, struct odeon_context *ctx_)        \
    {                                                                                              \
        return actor_##_init_((struct actor_##_state *)self_, ctx_);                               \
    }                                                                                              \
    static inline int actor_##_init_(struct actor_##_state *self ODEON_UNUSED_,                    \
                                     struct odeon_context *ctx ODEON_UNUSED_)

#define ODEON_INIT_ARGS_(actor_, args_type_)                                                       \
    _Static_assert(__alignof__(args_type_) <= ODEON_ALIGN_LIMIT,                                   \
                   "arguments of " #actor_ " are to be aligned to more than 8 bytes");             \
    static inline int actor_##_init_(struct actor_##_state *self, const args_type_ *args,          \
                                     struct odeon_context *ctx);                                   \
    int odeon_init_of_##actor_(void *self_, const void *args_, size_t args_size_,                  \
                               struct odeon_context *ctx_)                                         \
    {                                                                                              \
        if (args_size_ != sizeof(args_type_)) {                                                    \
            odeon_logf(ctx_, ODEON_LOG_ERROR,                                                      \
                       #actor_ ": spawned with %zu bytes of arguments, needs %zu (%s)",            \
                       args_size_, sizeof(args_type_), #args_type_);                               \
            return -EINVAL;                                                                        \
        }                                                                                          \
        return actor_##_init_((struct actor_##_state *)self_, (const args_type_ *)args_, ctx_);    \
    }                                                                                              \
    static inline int actor_##_init_(struct actor_##_state *self ODEON_UNUSED_,                    \
                                     const args_type_ *args ODEON_UNUSED_,                         \
                                     struct odeon_context *ctx ODEON_UNUSED_)

#define ODEON_FINI(actor_)                                                                         \
    static inline void actor_##_fini_(struct actor_##_state *self, struct odeon_context *ctx);     \
    void odeon_fini_of_##actor_(void *self_, struct odeon_context *ctx_)                           \
    {                                                                                              \
        actor_##_fini_((struct actor_##_state *)self_, ctx_);                                      \
    }                                                                                              \
    static inline void actor_##_fini_(struct actor_##_state *self ODEON_UNUSED_,                   \
                                      struct odeon_context *ctx ODEON_UNUSED_)

/* ---- Behaviours, types, the plugin. --------------------------------------------------------- */

/* The body gets self, msg and ctx, and returns an enum odeon_allocation. A signal's msg points to
 * nothing. */
#define ODEON_RECEIVE(actor_, message_)                                                            \
    static inline int actor_##_receive_##message_(                                                 \
        struct actor_##_state *self, const struct message_ *msg, struct odeon_context *ctx);       \
    static int actor_##_on_##message_(void *self_, const void *message_pointer_,                   \
                                      struct odeon_context *ctx_)                                  \
    {                                                                                              \
        return actor_##_receive_##message_((struct actor_##_state *)self_,                         \
                                           (const struct message_ *)message_pointer_, ctx_);       \
    }                                                                                              \
    static inline int actor_##_receive_##message_(struct actor_##_state *self ODEON_UNUSED_,       \
                                                  const struct message_ *msg ODEON_UNUSED_,        \
                                                  struct odeon_context *ctx ODEON_UNUSED_)

/* In the interface's order, whatever the order here. A message of the interface that is left out is
 * refused: by the compiler if it is the last one, else by the host when the plugin is loaded. */
#define ODEON_HANDLERS(actor_, ...)                                                                \
    static const struct odeon_behaviour actor_##_behaviours_[] = { __VA_ARGS__ };                  \
    _Static_assert(sizeof(actor_##_behaviours_) ==                                                 \
                       sizeof(struct actor_##_accepts) * sizeof(struct odeon_behaviour),           \
                   #actor_ ": a message of its interface has no ODEON_ON")
#define ODEON_ON(actor_, message_)                                                                 \
    [__builtin_offsetof(struct actor_##_accepts, message_)] = { .message =                         \
                                                                    odeon_message_of(message_),    \
                                                                .run = actor_##_on_##message_ }

/* ODEON_ACTOR_TYPE(counter) or, with settings: ODEON_ACTOR_TYPE(counter,
 * ODEON_POLICY(ODEON_RESTART_STOP), ODEON_OVERFLOW(ODEON_OVERFLOW_DROP_OLDEST),
 * ODEON_TYPE_VERSION(2)). Without: version 1, init again after a crash, reject what a full queue
 * has no room for. */
#define ODEON_ACTOR_TYPE(...)                                                                      \
    ODEON_ACTOR_TYPE_(__VA_ARGS__, .struct_size = sizeof(struct odeon_actor_type))
#define ODEON_POLICY(restart_)       .restart = (restart_)
#define ODEON_OVERFLOW(overflow_)    .overflow = (overflow_)
#define ODEON_TYPE_VERSION(version_) .version = (version_)
/* ODEON_ARGUMENTS(counter_args, { int64_t start; }); declares the struct, and ODEON_TAKES(
 * counter_args) among the settings of the type says that it is spawned with that: tools then fill
 * it by name. */
#define ODEON_ARGUMENTS(args_, ...)                                                                \
    struct args_ __VA_ARGS__;                                                                      \
    _Static_assert(sizeof(struct args_) <= ODEON_ARGS_LIMIT,                                       \
                   "arguments " #args_ " exceed 232 bytes");                                       \
    _Static_assert(__alignof__(struct args_) <= ODEON_ALIGN_LIMIT,                                 \
                   "arguments " #args_ " are to be aligned to more than 8 bytes");                 \
    _Static_assert(sizeof(#__VA_ARGS__) <= ODEON_FIELDS_LIMIT + 1,                                 \
                   "body of " #args_ " exceeds 447 characters");                                   \
    static const char odeon_fields_of_##args_[] ODEON_UNUSED_ = #__VA_ARGS__
#define ODEON_TAKES(args_) .args_fields = odeon_fields_of_##args_, .args_size = sizeof(struct args_)
/* The name of its behaviours as a set. */
#define ODEON_BEHAVIOURS_NAME(name_) .behaviours_name = (name_)
#define ODEON_ACTOR_TYPE_(actor_, ...)                                                             \
    _Pragma("GCC diagnostic push")                                                                 \
        _Pragma("GCC diagnostic ignored \"-Woverride-init\"") /* of the default version */         \
        struct odeon_actor_type odeon_type_of_##actor_ = {                                         \
            .version = 1,                                                                          \
            .name = #actor_,                                                                       \
            .state_size = odeon_state_size_of_##actor_,                                            \
            .n_behaviours = sizeof(actor_##_behaviours_) / sizeof(actor_##_behaviours_[0]),        \
            .behaviour_size = sizeof(struct odeon_behaviour),                                      \
            .behaviours = actor_##_behaviours_,                                                    \
            .init = odeon_init_of_##actor_,                                                        \
            .fini = odeon_fini_of_##actor_,                                                        \
            __VA_ARGS__,                                                                           \
        };                                                                                         \
    _Pragma("GCC diagnostic pop") extern                                                           \
        __attribute__((visibility("hidden"))) struct odeon_actor_type odeon_type_of_##actor_

#define ODEON_TYPE(actor_) &odeon_type_of_##actor_

/* Once in a plugin; the types may come from any of its source files: where this one does not see
 * their interface, it says ODEON_DECLARE_TYPE(counter); */
#define ODEON_DECLARE_TYPE(actor_)                                                                 \
    extern __attribute__((visibility("hidden"))) struct odeon_actor_type odeon_type_of_##actor_
/* The linker makes these two, at the ends of the section that the messages' declarations fill; they
 * are null when there is no message. */
#define ODEON_SECTION_END_ __attribute__((weak, visibility("hidden")))
#define ODEON_PLUGIN(name_, version_, ...)                                                         \
    _Static_assert(sizeof(name_) > 1 && sizeof(name_) <= ODEON_NAME_LIMIT + 1,                     \
                   "a plugin's name has 1 to 63 bytes");                                           \
    static struct odeon_actor_type *const odeon_plugin_types_[] = { __VA_ARGS__ };                 \
    extern ODEON_SECTION_END_ struct odeon_message_type *__start_odeon_messages[];                 \
    extern ODEON_SECTION_END_ struct odeon_message_type *__stop_odeon_messages[];                  \
    extern __attribute__((visibility("default")))                                                  \
    const struct odeon_plugin odeon_plugin_descriptor;                                             \
    const struct odeon_plugin odeon_plugin_descriptor = {                                          \
        .struct_size = sizeof(struct odeon_plugin),                                                \
        .abi_major = ODEON_PLUGIN_ABI_MAJOR,                                                       \
        .abi_minor = ODEON_PLUGIN_ABI_MINOR,                                                       \
        .context_size = sizeof(struct odeon_context),                                              \
        .message_type_size = sizeof(struct odeon_message_type),                                    \
        .name = (name_),                                                                           \
        .version = (version_),                                                                     \
        .n_types = sizeof(odeon_plugin_types_) / sizeof(odeon_plugin_types_[0]),                   \
        .types = odeon_plugin_types_,                                                              \
        .messages = __start_odeon_messages,                                                        \
        .messages_end = __stop_odeon_messages,                                                     \
        .init = odeon_plugin_init_,                                                                \
        .fini = odeon_plugin_fini_,                                                                \
        .start = odeon_plugin_start_,                                                              \
    }

/* Optional, anywhere in a plugin: called once after loading (not 0: refused), and before
 * unloading. */
#define ODEON_PLUGIN_INIT(host_)                                                                   \
    int odeon_plugin_init_(const struct odeon_host *host_ ODEON_UNUSED_)
#define ODEON_PLUGIN_FINI() void odeon_plugin_fini_(void)
/* ODEON_PLUGIN_START() { ...; return 0; }  gets ctx; called when the plugin's types can be spawned,
 * at each start of the executor again. It may spawn actors that have a name. */
#define ODEON_PLUGIN_START() int odeon_plugin_start_(struct odeon_context *ctx ODEON_UNUSED_)

__attribute__((weak, visibility("hidden"))) int odeon_plugin_init_(const struct odeon_host *host);
__attribute__((weak, visibility("hidden"))) void odeon_plugin_fini_(void);
__attribute__((weak, visibility("hidden"))) int odeon_plugin_start_(struct odeon_context *ctx);

/* ---- Sending.  0 or a negative errno, as struct odeon_host says. ----------------------------
 * `to` is a typed reference; the forms that end in _any take an odeon_ref, and the service checks
 * when the message arrives. A message with fields needs at least one initialiser; fields that are
 * not named are zero.
 *
 *     odeon_send(ctx, ref, room_enter, .port = port, ODEON_TEXT(name, variable));
 *
 * ODEON_TEXT is the initialiser of a field `char name[24]` from a `const char *`, which C has none
 * for; NULL is "". A text that does not fit, its ending 0 included, is not cut off: nothing is
 * sent, and the result is -ENAMETOOLONG. */
#define odeon_send(ctx_, to_, message_, ...)                                                       \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_((ctx_), ODEON_REF_(to_), odeon_message_of(message_)->id,             \
                              ODEON_INDEX_(to_, message_), &odeon_filled_, sizeof(odeon_filled_)), \
                  __VA_ARGS__)
#define odeon_send_any(ctx_, to_, message_, ...)                                                   \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_((ctx_), (to_), odeon_message_of(message_)->id,                       \
                              ODEON_BEHAVIOUR_UNKNOWN, &odeon_filled_, sizeof(odeon_filled_)),     \
                  __VA_ARGS__)

#define ODEON_FILLED_(message_, call_, ...)                                                        \
    __extension__({                                                                                \
        struct odeon_text_ *odeon_texts_ = NULL;                                                   \
        struct message_ odeon_filled_ = { __VA_ARGS__ };                                           \
        odeon_texts_ == NULL || odeon_texts_put_(odeon_texts_, &odeon_filled_) ? (call_)           \
                                                                               : -ENAMETOOLONG;    \
    })
#define ODEON_TEXT(field_, text_)                                                                  \
    .field_ = { odeon_text_later_(                                                                 \
        &odeon_texts_,                                                                             \
        &(struct odeon_text_){ .at = __builtin_offsetof(__typeof__(odeon_filled_), field_),        \
                               .size = ODEON_SIZE_OF_TEXT_(odeon_filled_.field_),                  \
                               .text = (text_) }) }
#define ODEON_SIZE_OF_TEXT_(array_)                                                                \
    (sizeof(array_) +                                                                              \
     0 * sizeof(struct {                                                                           \
         _Static_assert(_Generic(&(array_), char(*)[sizeof(array_)] : 1, default : 0),             \
                        "ODEON_TEXT is for fields that are arrays of char");                       \
         char unused;                                                                              \
     }))

#define odeon_signal(ctx_, to_, message_)                                                          \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_((ctx_), ODEON_REF_(to_), odeon_message_of(message_)->id,                          \
                 ODEON_INDEX_(to_, message_), NULL, 0))
#define odeon_signal_any(ctx_, to_, message_)                                                      \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_((ctx_), (to_), odeon_message_of(message_)->id, ODEON_BEHAVIOUR_UNKNOWN, NULL, 0))

/* Overtakes what waits for the receiver (struct odeon_host.send_urgent). */
#define odeon_send_urgent(ctx_, to_, message_, ...)                                                \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_urgent_((ctx_), ODEON_REF_(to_), odeon_message_of(message_)->id,      \
                                     ODEON_INDEX_(to_, message_), &odeon_filled_,                  \
                                     sizeof(odeon_filled_)),                                       \
                  __VA_ARGS__)
#define odeon_send_urgent_any(ctx_, to_, message_, ...)                                            \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_urgent_((ctx_), (to_), odeon_message_of(message_)->id,                \
                                     ODEON_BEHAVIOUR_UNKNOWN, &odeon_filled_,                      \
                                     sizeof(odeon_filled_)),                                       \
                  __VA_ARGS__)
#define odeon_signal_urgent(ctx_, to_, message_)                                                   \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_urgent_((ctx_), ODEON_REF_(to_), odeon_message_of(message_)->id,                   \
                        ODEON_INDEX_(to_, message_), NULL, 0))
#define odeon_signal_urgent_any(ctx_, to_, message_)                                               \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_urgent_((ctx_), (to_), odeon_message_of(message_)->id, ODEON_BEHAVIOUR_UNKNOWN,    \
                        NULL, 0))

/* A message that ends in a tail: the bytes of the tail and their number come before the fields. */
#define odeon_send_tail(ctx_, to_, message_, bytes_, size_, ...)                                   \
    (ODEON_ASSERT_TAIL_(message_),                                                                 \
     ODEON_FILLED_(message_,                                                                       \
                   odeon_send_tail_((ctx_), ODEON_REF_(to_), odeon_message_of(message_)->id,       \
                                    ODEON_INDEX_(to_, message_), &odeon_filled_,                   \
                                    sizeof(odeon_filled_), (bytes_), (size_)),                     \
                   __VA_ARGS__))
#define odeon_send_tail_any(ctx_, to_, message_, bytes_, size_, ...)                               \
    (ODEON_ASSERT_TAIL_(message_),                                                                 \
     ODEON_FILLED_(message_,                                                                       \
                   odeon_send_tail_((ctx_), (to_), odeon_message_of(message_)->id,                 \
                                    ODEON_BEHAVIOUR_UNKNOWN, &odeon_filled_,                       \
                                    sizeof(odeon_filled_), (bytes_), (size_)),                     \
                   __VA_ARGS__))

/* To the sender of the running message. */
#define odeon_reply(ctx_, message_, ...)                                                           \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_reply_((ctx_), odeon_message_of(message_)->id, &odeon_filled_,             \
                               sizeof(odeon_filled_)),                                             \
                  __VA_ARGS__)
#define odeon_reply_signal(ctx_, message_)                                                         \
    (ODEON_ASSERT_SIGNAL_(message_), odeon_reply_((ctx_), odeon_message_of(message_)->id, NULL, 0))
#define odeon_reply_tail(ctx_, message_, bytes_, size_, ...)                                       \
    (ODEON_ASSERT_TAIL_(message_),                                                                 \
     ODEON_FILLED_(message_,                                                                       \
                   odeon_reply_tail_((ctx_), odeon_message_of(message_)->id, &odeon_filled_,       \
                                     sizeof(odeon_filled_), (bytes_), (size_)),                    \
                   __VA_ARGS__))

#define ODEON_ASSERT_SIGNAL_(message_)                                                             \
    ((void)sizeof(struct {                                                                         \
        _Static_assert(odeon_size_of_##message_ == 0, #message_ " has fields: use odeon_send");    \
        char unused;                                                                               \
    }))

/* A text that is still to be put into a message. */
struct odeon_text_ {
    size_t at, size; /* of its field */
    const char *text;
    struct odeon_text_ *next;
};

/* The field's first byte until then. */
static inline ODEON_UNUSED_ char odeon_text_later_(struct odeon_text_ **texts,
                                                   struct odeon_text_ *text)
{
    text->next = *texts;
    *texts = text;
    return 0;
}

/* 0: one of them does not fit. */
static inline ODEON_UNUSED_ int odeon_texts_put_(const struct odeon_text_ *texts, void *message)
{
    for (; texts != NULL; texts = texts->next) {
        size_t length = texts->text != NULL ? strlen(texts->text) : 0;
        if (length >= texts->size)
            return 0;
        if (length > 0)
            __builtin_memcpy((char *)message + texts->at, texts->text, length);
    }
    return 1;
}

static inline ODEON_UNUSED_ int odeon_send_urgent_(struct odeon_context *ctx, odeon_ref to,
                                                   uint32_t type, uint32_t behaviour,
                                                   const void *data, size_t size)
{
    return (ctx->host->send_urgent)(ctx, to, type, behaviour, data, size);
}

static inline ODEON_UNUSED_ int odeon_send_(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                                            uint32_t behaviour, const void *data, size_t size)
{
    if (__builtin_constant_p(size) && size == 0)
        return (ctx->host->signal)(ctx, to, type | (uint64_t)behaviour << 32);
    if (__builtin_constant_p(size) && size == sizeof(uint64_t)) {
        uint64_t word;
        __builtin_memcpy(&word, data, sizeof(word));
        return (ctx->host->send_word)(ctx, to, type | (uint64_t)behaviour << 32, word);
    }
    return (ctx->host->send)(ctx, to, type, behaviour, data, size);
}

static inline ODEON_UNUSED_ int odeon_send_tail_(struct odeon_context *ctx, odeon_ref to,
                                                 uint32_t type, uint32_t behaviour,
                                                 const void *head, size_t head_size,
                                                 const void *tail, size_t tail_size)
{
    return (ctx->host->send_tail)(ctx, to, type, behaviour, head, head_size, tail, tail_size);
}

static inline ODEON_UNUSED_ int odeon_reply_(struct odeon_context *ctx, uint32_t type,
                                             const void *data, size_t size)
{
    return (ctx->host->reply)(ctx, type, data, size);
}

static inline ODEON_UNUSED_ int odeon_reply_tail_(struct odeon_context *ctx, uint32_t type,
                                                  const void *head, size_t head_size,
                                                  const void *tail, size_t tail_size)
{
    return (ctx->host->reply_tail)(ctx, type, head, head_size, tail, tail_size);
}

/* ---- Actors. --------------------------------------------------------------------------------
 * counter_ref c = odeon_spawn(ctx, counter);      its .ref is ODEON_NOBODY if that failed
 * counter_ref c = odeon_spawn(ctx, counter, .name = "total", .placement = ODEON_PLACE_HERE,
 *                             ODEON_ARGS(struct counter_args, .start = 7));
 * odeon_spawn_into(ctx, &c, counter, ...)         the same, returns 0 or a negative errno
 * odeon_spawn_foreign_into(ctx, &c, counter, ...) a type of another plugin, found by its name */
#define odeon_spawn(ctx_, ...)                                                                     \
    ODEON_SPAWN_(ctx_, __VA_ARGS__, .struct_size = sizeof(struct odeon_spawn_options))
#define ODEON_SPAWN_(ctx_, actor_, ...)                                                            \
    __extension__({                                                                                \
        odeon_as(actor_, odeon_spawn_((ctx_), odeon_type_of_##actor_.id,                           \
                                      &(const struct odeon_spawn_options){ __VA_ARGS__ }));        \
    })

#define odeon_spawn_into(ctx_, ret_, ...)                                                          \
    ODEON_SPAWN_INTO_(ctx_, ret_, __VA_ARGS__, .struct_size = sizeof(struct odeon_spawn_options))
#define ODEON_SPAWN_INTO_(ctx_, ret_, actor_, ...)                                                 \
    odeon_spawn_into_((ctx_), odeon_type_of_##actor_.id,                                           \
                      &(const struct odeon_spawn_options){ __VA_ARGS__ },                          \
                      ODEON_REF_OF_(actor_, ret_))

#define odeon_spawn_foreign_into(ctx_, ret_, ...)                                                  \
    ODEON_SPAWN_FOREIGN_(ctx_, ret_, __VA_ARGS__, .struct_size = sizeof(struct odeon_spawn_options))
#define ODEON_SPAWN_FOREIGN_(ctx_, ret_, actor_, ...)                                              \
    odeon_spawn_foreign_((ctx_), #actor_, &(const struct odeon_spawn_options){ __VA_ARGS__ },      \
                         ODEON_REF_OF_(actor_, ret_))

#define ODEON_ARGS(args_type_, ...)                                                                \
    .args = &(const args_type_){ __VA_ARGS__ }, .args_size = sizeof(args_type_)

/* The odeon_ref within a typed one; `ret_` of another type is an error. */
#define ODEON_REF_OF_(actor_, ret_) (&((actor_##_ref *){ (ret_) })->ref)

static inline ODEON_UNUSED_ int odeon_spawn_into_(struct odeon_context *ctx, uint32_t type,
                                                  const struct odeon_spawn_options *options,
                                                  odeon_ref *ret)
{
    *ret = ODEON_NOBODY;
    return (ctx->host->spawn)(ctx, type, options, ret);
}

static inline ODEON_UNUSED_ odeon_ref odeon_spawn_(struct odeon_context *ctx, uint32_t type,
                                                   const struct odeon_spawn_options *options)
{
    odeon_ref ref = ODEON_NOBODY;
    return (ctx->host->spawn)(ctx, type, options, &ref) < 0 ? ODEON_NOBODY : ref;
}

static inline ODEON_UNUSED_ int odeon_spawn_foreign_(struct odeon_context *ctx, const char *name,
                                                     const struct odeon_spawn_options *options,
                                                     odeon_ref *ret)
{
    uint32_t type = 0;
    int r = (ctx->host->find_type)(ctx, name, &type);
    *ret = ODEON_NOBODY;
    return r < 0 ? r : (ctx->host->spawn)(ctx, type, options, ret);
}

/* The running actor, as one of type `actor_`: counter_ref me = odeon_self(ctx, counter). */
#define odeon_self(ctx_, actor_) odeon_as(actor_, (ctx_)->self)

/* By name: counter_ref c; odeon_lookup(ctx, "total", &c). The service checks what it is when
 * something is sent to it. */
#define odeon_lookup(ctx_, name_, ret_)     odeon_lookup_((ctx_), (name_), &(ret_)->ref)
#define odeon_lookup_any(ctx_, name_, ret_) odeon_lookup_((ctx_), (name_), (ret_))

static inline ODEON_UNUSED_ int odeon_lookup_(struct odeon_context *ctx, const char *name,
                                              odeon_ref *ret)
{
    *ret = ODEON_NOBODY;
    return (ctx->host->lookup)(ctx, name, ret);
}

/* Poison: ends the actor when what was sent to it before has been handled. `how_`: ODEON_DELETE,
 * _DESTROY, _FINISHED. */
#define odeon_stop(ctx_, to_, how_)      odeon_stop_((ctx_), ODEON_REF_(to_), (how_))
#define odeon_stop_any(ctx_, to_, how_)  odeon_stop_((ctx_), (to_), (how_))
#define odeon_poison_delete(ctx_, to_)   odeon_stop(ctx_, to_, ODEON_DELETE)
#define odeon_poison_destroy(ctx_, to_)  odeon_stop(ctx_, to_, ODEON_DESTROY)
#define odeon_poison_finished(ctx_, to_) odeon_stop(ctx_, to_, ODEON_FINISHED)

static inline ODEON_UNUSED_ int odeon_stop_(struct odeon_context *ctx, odeon_ref to, uint32_t how)
{
    return (ctx->host->stop)(ctx, to, how);
}

/* ---- Message objects: filled first, sent later, several times if wanted. --------------------
 *     struct odeon_message_object *object = odeon_msg_new(ctx, counter_add);  -- NULL: see errno
 *     odeon_msg_fields(object, counter_add)->amount = 3;
 *     odeon_msg_set_allocation(object, ODEON_DELETE);  -- the default is ODEON_NODELETE
 *     odeon_msg_send(ctx, ref, counter_add, object);   -- the object is gone now, if sent
 *
 * After a send:
 *   NODELETE  it can be sent again;
 *   DELETE    fini has run and it is freed;
 *   DESTROY   fini has run, its storage is kept for the next object of the type;
 *   FINISHED  it is done with, and stays until odeon_msg_free(); sending it again: -ESTALE.
 * A send that fails changes nothing. NULL of odeon_msg_new(): ENOMEM, or EINVAL (a type that the
 * service does not know) or EMSGSIZE (a tail of more than 32,768 bytes). */
#define odeon_msg_new(ctx_, message_) odeon_msg_new_((ctx_), odeon_message_of(message_), 0)
#define odeon_msg_new_tail(ctx_, message_, tail_size_)                                             \
    (ODEON_ASSERT_TAIL_(message_), odeon_msg_new_((ctx_), odeon_message_of(message_), (tail_size_)))
#define odeon_msg_fields(object_, message_) ((struct message_ *)(object_)->payload)
#define odeon_msg_send(ctx_, to_, message_, object_)                                               \
    odeon_msg_send_((ctx_), ODEON_REF_(to_), odeon_message_of(message_),                           \
                    ODEON_INDEX_(to_, message_), (object_), 0)
#define odeon_msg_send_any(ctx_, to_, message_, object_)                                           \
    odeon_msg_send_((ctx_), (to_), odeon_message_of(message_), ODEON_BEHAVIOUR_UNKNOWN, (object_), \
                    0)
#define odeon_msg_send_tail(ctx_, to_, message_, object_, tail_size_)                              \
    (ODEON_ASSERT_TAIL_(message_),                                                                 \
     odeon_msg_send_((ctx_), ODEON_REF_(to_), odeon_message_of(message_),                          \
                     ODEON_INDEX_(to_, message_), (object_), (tail_size_)))

static inline ODEON_UNUSED_ struct odeon_message_object *
odeon_msg_new_(struct odeon_context *ctx, const struct odeon_message_type *type, size_t tail_size)
{
    return (ctx->host->message_new)(ctx, type, tail_size);
}

/* -EINVAL: an object of another message type. */
static inline ODEON_UNUSED_ int
odeon_msg_send_(struct odeon_context *ctx, odeon_ref to, const struct odeon_message_type *type,
                uint32_t behaviour, struct odeon_message_object *object, size_t tail_size)
{
    if (object->type != type)
        return -EINVAL;
    return (ctx->host->message_send)(ctx, to, behaviour, object, type->size + tail_size);
}

static inline ODEON_UNUSED_ void odeon_msg_set_allocation(struct odeon_message_object *object,
                                                          enum odeon_allocation allocation)
{
    object->allocation = (uint32_t)allocation;
}

/* Run on the payload by ODEON_DELETE and ODEON_DESTROY. */
static inline ODEON_UNUSED_ void odeon_msg_set_fini(struct odeon_message_object *object,
                                                    void (*fini)(void *payload))
{
    object->fini = fini;
}

static inline ODEON_UNUSED_ void odeon_msg_free(struct odeon_context *ctx,
                                                struct odeon_message_object *object)
{
    (ctx->host->message_free)(ctx, object);
}

/* ---- The journal and the clock. ------------------------------------------------------------- */

static inline ODEON_UNUSED_ void odeon_log(struct odeon_context *ctx, enum odeon_log_level level,
                                           const char *text)
{
    (ctx->host->log)(ctx, (uint32_t)level, text);
}

/* Cut off after 511 bytes. */
static inline ODEON_UNUSED_ __attribute__((format(printf, 3, 4))) void
odeon_logf(struct odeon_context *ctx, enum odeon_log_level level, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    (ctx->host->log)(ctx, (uint32_t)level, n < 0 ? format : text);
}

/* ---- Timers. --------------------------------------------------------------------------------
 *     odeon_timer timer;
 *     int r = odeon_send_after(ctx, &timer, 5 * ODEON_SECOND_NS, ref, counter_add, .amount = 1);
 *     odeon_signal_every(ctx, NULL, ODEON_SECOND_NS, odeon_self(ctx, counter), counter_get);
 *     odeon_timer_cancel(ctx, timer);
 *     odeon_signal_every(ctx, NULL, ODEON_BOOT_TIME(ODEON_SECOND_NS), ref, counter_get);
 *
 * What struct odeon_host.send_after says; `ret_` NULL: it will not be cancelled. A service that is
 * older than timers: -ENOSYS. */
#define ODEON_SECOND_NS UINT64_C(1000000000)

#define odeon_send_after(ctx_, ret_, delay_ns_, to_, message_, ...)                                \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_after_((ctx_), (ret_), (delay_ns_), 0, ODEON_REF_(to_),               \
                                    odeon_message_of(message_)->id, ODEON_INDEX_(to_, message_),   \
                                    &odeon_filled_, sizeof(odeon_filled_)),                        \
                  __VA_ARGS__)
#define odeon_send_after_any(ctx_, ret_, delay_ns_, to_, message_, ...)                            \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_after_((ctx_), (ret_), (delay_ns_), 0, (to_),                         \
                                    odeon_message_of(message_)->id, ODEON_BEHAVIOUR_UNKNOWN,       \
                                    &odeon_filled_, sizeof(odeon_filled_)),                        \
                  __VA_ARGS__)
#define odeon_signal_after(ctx_, ret_, delay_ns_, to_, message_)                                   \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_after_((ctx_), (ret_), (delay_ns_), 0, ODEON_REF_(to_),                            \
                       odeon_message_of(message_)->id, ODEON_INDEX_(to_, message_), NULL, 0))
/* The first time is a period from now. A period of 0 is one that is too short, -ERANGE. */
static inline ODEON_UNUSED_ uint64_t odeon_period_(uint64_t ns)
{
    return ns & ~ODEON_BOOT_TIME_BIT_ ? ns : 1;
}
#define odeon_send_every(ctx_, ret_, period_ns_, to_, message_, ...)                               \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_send_after_((ctx_), (ret_), 0, odeon_period_(period_ns_), ODEON_REF_(to_), \
                                    odeon_message_of(message_)->id, ODEON_INDEX_(to_, message_),   \
                                    &odeon_filled_, sizeof(odeon_filled_)),                        \
                  __VA_ARGS__)
#define odeon_signal_every(ctx_, ret_, period_ns_, to_, message_)                                  \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_send_after_((ctx_), (ret_), 0, odeon_period_(period_ns_), ODEON_REF_(to_),              \
                       odeon_message_of(message_)->id, ODEON_INDEX_(to_, message_), NULL, 0))

static inline ODEON_UNUSED_ int odeon_send_after_(struct odeon_context *ctx, odeon_timer *ret,
                                                  uint64_t delay_ns, uint64_t period_ns,
                                                  odeon_ref to, uint32_t type, uint32_t behaviour,
                                                  const void *data, size_t size)
{
    uint64_t first_ns = period_ns ? period_ns : delay_ns;
    const struct odeon_timer_options options = {
        .struct_size = sizeof(options),
        .flags = first_ns & ODEON_BOOT_TIME_BIT_ ? ODEON_TIMER_BOOT : 0,
        .delay_ns = first_ns & ~ODEON_BOOT_TIME_BIT_,
        .period_ns = period_ns & ~ODEON_BOOT_TIME_BIT_,
    };
    odeon_timer timer = 0;
    if (ctx->host->struct_size < offsetof(struct odeon_host, timer_cancel) + sizeof(void *))
        return -ENOSYS;
    return (ctx->host->send_after)(ctx, to, type, behaviour, data, size, &options,
                                   ret ? ret : &timer);
}

static inline ODEON_UNUSED_ int odeon_timer_cancel(struct odeon_context *ctx, odeon_timer timer)
{
    if (ctx->host->struct_size < offsetof(struct odeon_host, timer_cancel) + sizeof(void *))
        return -ENOSYS;
    return (ctx->host->timer_cancel)(ctx, timer);
}

/* Has a timer sent the running message? And of a periodic one: so many times went by unsent. */
static inline ODEON_UNUSED_ int odeon_is_timer(const struct odeon_context *ctx)
{
    return ctx->kind >> 56 == 1;
}
static inline ODEON_UNUSED_ uint32_t odeon_timer_missed(const struct odeon_context *ctx)
{
    return odeon_is_timer(ctx) ? (uint32_t)ctx->kind : 0;
}

/* The id of the trace that the running message is in (a post's option `.trace`, odeonctl actor send
 * --trace), for what leaves the service by other ways than messages: a line of a log, a request to
 * somebody else. What is sent has it without that. 0: none, or the service is older than this. */
static inline ODEON_UNUSED_ uint64_t odeon_trace_id(const struct odeon_context *ctx)
{
    return ctx->trace;
}

static inline ODEON_UNUSED_ uint64_t odeon_now_ns(struct odeon_context *ctx)
{
    return (ctx->host->now_ns)(ctx);
}

#endif
