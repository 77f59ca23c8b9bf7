/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h. */
#include "daemon/executor/host.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/common/log.h"
#include "daemon/engine/engine_context.h"
#include "daemon/executor/message_object.h"
#include "daemon/executor/ref_text.h"

/* host.H1 */
#define SAME_FIELD(a, b)                                                                           \
    static_assert(offsetof(struct odeon_context, a) == offsetof(struct engine_context, b) &&       \
                      sizeof(((struct odeon_context *)0)->a) ==                                    \
                          sizeof(((struct engine_context *)0)->b),                                 \
                  "a plugin's context is the engine's: " #a)
static_assert(sizeof(struct odeon_context) == sizeof(struct engine_context),
              "a plugin's context is the engine's");
SAME_FIELD(host, host);
SAME_FIELD(hops, hops);
SAME_FIELD(trace, trace);
SAME_FIELD(self, self);
SAME_FIELD(sender, sender);
SAME_FIELD(message_size, message_size);
SAME_FIELD(correlation, correlation);
SAME_FIELD(message_type, message_type);
SAME_FIELD(redelivered, redelivered);
SAME_FIELD(attempts, attempts);
SAME_FIELD(worker, worker);
SAME_FIELD(inline_block, inline_block);
SAME_FIELD(kind, kind);
SAME_FIELD(reserved_words, reserved_words);
static_assert(ODEON_REF_SLOT_BITS == (int)ACTOR_REF_SLOT_BITS &&
                  ODEON_EXECUTOR == (unsigned)ACTOR_REF_EXECUTOR &&
                  ODEON_REF_SLOT_BITS + ODEON_REF_EXECUTOR_BITS == 32,
              "references");
static_assert(sizeof(struct odeon_promise) == sizeof(struct engine_promise), "promises");
/* Constants that plugins pass and the engine understands. */
static_assert(ODEON_NODELETE == (int)ALLOCATION_NODELETE &&
                  ODEON_DELETE == (int)ALLOCATION_DELETE &&
                  ODEON_DESTROY == (int)ALLOCATION_DESTROY &&
                  ODEON_FINISHED == (int)ALLOCATION_FINISHED,
              "allocation results");
static_assert(ODEON_MSG_POISON_DELETE == (int)MESSAGE_TYPE_POISON_DELETE &&
                  ODEON_MSG_POISON_DESTROY == (int)MESSAGE_TYPE_POISON_DESTROY &&
                  ODEON_MSG_POISON_FINISHED == (int)MESSAGE_TYPE_POISON_FINISHED,
              "poison messages");
static_assert(ODEON_RESTART_INIT == (int)RESTART_INIT && ODEON_RESTART_STOP == (int)RESTART_STOP &&
                  ODEON_RESTART_KEEP == (int)RESTART_KEEP,
              "restart policies");
static_assert(ODEON_OVERFLOW_REJECT == (int)OVERFLOW_POLICY_REJECT &&
                  ODEON_OVERFLOW_DROP_NEWEST == (int)OVERFLOW_POLICY_DROP_NEWEST &&
                  ODEON_OVERFLOW_DROP_OLDEST == (int)OVERFLOW_POLICY_DROP_OLDEST &&
                  ODEON_OVERFLOW_STALL == (int)OVERFLOW_POLICY_STALL,
              "overflow policies");
static_assert(ODEON_LOG_ERROR == (int)LOG_LEVEL_ERROR && ODEON_LOG_DEBUG == (int)LOG_LEVEL_DEBUG,
              "log levels");

enum { LOG_TEXT_MAX = 4096 };

/* No version of it opens it yet: one for all contexts. */
static const struct odeon_inline_block inline_block_closed = { .version = 1,
                                                               .executor_bits = ACTOR_REF_OWN };

struct host {
    struct odeon_host table; /* first: a context's host pointer leads here */
    struct message_pool *pool;
};

/* Plugins see their struct, the engine its own; host.H1 makes them one. The project is compiled
 * without strict aliasing. */
static struct engine_context *host_engine_ctx(struct odeon_context *ctx)
{
    return (struct engine_context *)ctx;
}

static struct host *host_ctx_host(struct odeon_context *ctx)
{
    return (struct host *)(uintptr_t)ctx->host;
}

/* Sends are thin on purpose: compilers make jumps of them. */
/* The calls that are made for every message go straight to the engine: the two signatures differ
 * only in the name of what host.H1 makes one struct. */
typedef int (*host_send_fn)(struct odeon_context *, odeon_ref, uint32_t, uint32_t, const void *,
                            size_t);
typedef int (*host_signal_fn)(struct odeon_context *, odeon_ref, uint64_t);
typedef int (*host_send_word_fn)(struct odeon_context *, odeon_ref, uint64_t, uint64_t);
static const union {
    int (*engine)(struct engine_context *, actor_ref, uint32_t, uint32_t, const void *, size_t);
    host_send_fn host;
} direct_send = { .engine = engine_ctx_send },
  direct_send_urgent = { .engine = engine_ctx_send_urgent };
static const union {
    int (*engine)(struct engine_context *, actor_ref, uint64_t);
    host_signal_fn host;
} direct_signal = { .engine = engine_ctx_signal };
static const union {
    int (*engine)(struct engine_context *, actor_ref, uint64_t, uint64_t);
    host_send_word_fn host;
} direct_send_word = { .engine = engine_ctx_send_word };

static int host_send_tail(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                          uint32_t behaviour, const void *head, size_t head_size, const void *tail,
                          size_t tail_size)
{
    return engine_ctx_send_tail(host_engine_ctx(ctx), to, type, behaviour, head, head_size, tail,
                                tail_size);
}

static int host_reply(struct odeon_context *ctx, uint32_t type, const void *data, size_t size)
{
    return engine_ctx_reply(host_engine_ctx(ctx), type, data, size, NULL, 0);
}

static int host_reply_tail(struct odeon_context *ctx, uint32_t type, const void *head,
                           size_t head_size, const void *tail, size_t tail_size)
{
    return engine_ctx_reply(host_engine_ctx(ctx), type, head, head_size, tail, tail_size);
}

/* Without the place; and more than any version of the header will have. */
enum {
    SPAWN_OPTIONS_SIZE_FIRST = offsetof(struct odeon_spawn_options, place),
    OPTIONS_SIZE_MAX = 1024
};

/* Of a newer plugin's options, what this host does not know. */
static bool host_options_end_in_zeros(const void *options, size_t size, size_t known)
{
    const uint8_t *bytes = options;

    if (size > OPTIONS_SIZE_MAX)
        return false;
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* A plugin's options, of its own version of the structure, in the engine's words. */
static bool host_spawn_is_wrong(const struct odeon_spawn_options *options)
{
    return options->reserved || options->link > 1 || options->find > 1 ||
           (options->find && !options->name);
}

/* link, find, reserved: 0, nothing of them is asked for. */
static inline uint32_t host_spawn_words(const struct odeon_spawn_options *options)
{
    uint32_t words;
    memcpy(&words, &options->link, sizeof(words));
    return words;
}

static inline int host_spawn_read(const struct odeon_spawn_options *options,
                                  struct engine_spawn *ret_spawn)
{
    static const enum engine_placement placements[] = {
        [ODEON_PLACE_SPREAD] = PLACE_SPREAD,     [ODEON_PLACE_HERE] = PLACE_NEAR,
        [ODEON_PLACE_NODE] = PLACE_NODE,         [ODEON_PLACE_PINNED] = PLACE_PINNED,
        [ODEON_PLACE_PINNED_TO] = PLACE_PINNED,  [ODEON_PLACE_FOLLOW] = PLACE_FOLLOW,
        [ODEON_PLACE_DETACHED] = PLACE_DETACHED, [ODEON_PLACE_EACH] = PLACE_EACH,
    };
    /* field by field: the plugin has just written them so, and a wider load would have to wait for
     * its stores */
    bool full = options->struct_size >= sizeof(*options);
    uint32_t placement = options->placement, place = full ? options->place : 0;

    if ((!full && options->struct_size != SPAWN_OPTIONS_SIZE_FIRST) ||
        !host_options_end_in_zeros(options, options->struct_size, sizeof(*options)))
        return -EINVAL;
    if (placement >= sizeof(placements) / sizeof(placements[0]) ||
        (options->args_size > 0 && !options->args) || (full && host_spawn_is_wrong(options)))
        return -EINVAL;
    if (options->args_size > ODEON_SPAWN_ARGS_MAX)
        return -E2BIG;
    /* all of it: what nobody says is not what lay there before */
    *ret_spawn = (struct engine_spawn){
        .placement = placements[placement],
        .place = placement == ODEON_PLACE_PINNED ? ENGINE_ANYWHERE : place,
        .name = options->name,
        .args = options->args,
        .args_size = options->args_size,
        .link = full && options->link,
        .find = full && options->find,
    };
    return 0;
}

int host_read_spawn(const struct odeon_spawn_options *options, struct engine_spawn *ret_spawn)
{
    return host_spawn_read(options, ret_spawn);
}

static __attribute__((noinline)) int host_spawn_otherwise(struct odeon_context *ctx, uint32_t type,
                                                          const struct odeon_spawn_options *options,
                                                          odeon_ref *ret_ref)
{
    static const struct engine_spawn plain = { .placement = PLACE_SPREAD };
    struct engine_spawn spawn;
    odeon_ref ref;
    int r;

    /* A plugin's start, which runs again with each executor: a name is what makes it do nothing
     * twice. */
    if (ctx->self == ODEON_NOBODY && (!options || !options->name))
        return -EINVAL;
    if (!ret_ref)
        ret_ref = &ref;
    if (!options)
        return engine_ctx_spawn(host_engine_ctx(ctx), type, &plain, ret_ref);
    r = host_spawn_read(options, &spawn);
    return r < 0 ? r : engine_ctx_spawn(host_engine_ctx(ctx), type, &spawn, ret_ref);
}

/* An actor that asks for nothing but a queue is passed on without being put together. */
static int host_spawn(struct odeon_context *ctx, uint32_t type,
                      const struct odeon_spawn_options *options, odeon_ref *ret_ref)
{
    static_assert(ODEON_PLACE_SPREAD == (int)PLACE_SPREAD && ODEON_PLACE_HERE == (int)PLACE_NEAR,
                  "places of plain spawns");
    if (!options || !ret_ref || ctx->self == ODEON_NOBODY ||
        options->struct_size != sizeof(*options) || options->placement > ODEON_PLACE_HERE ||
        options->name || options->args_size > 0 || options->place | host_spawn_words(options))
        return host_spawn_otherwise(ctx, type, options, ret_ref);
    return engine_ctx_spawn_plain(host_engine_ctx(ctx), type,
                                  (enum engine_placement)options->placement, ret_ref);
}

static int host_find_type(struct odeon_context *ctx, const char *name, uint32_t *ret_type)
{
    if (!name || !ret_type)
        return -EINVAL;
    return engine_ctx_find_type(host_engine_ctx(ctx), name, ret_type);
}

static int host_stop(struct odeon_context *ctx, odeon_ref ref, uint32_t how)
{
    static const uint32_t poison[] = {
        [ODEON_DELETE] = ODEON_MSG_POISON_DELETE,
        [ODEON_DESTROY] = ODEON_MSG_POISON_DESTROY,
        [ODEON_FINISHED] = ODEON_MSG_POISON_FINISHED,
    };

    if (how < ODEON_DELETE || how > ODEON_FINISHED)
        return -EINVAL;
    return engine_ctx_send(host_engine_ctx(ctx), ref, poison[how], ODEON_BEHAVIOUR_UNKNOWN, NULL,
                           0);
}

/* Any version's options up to `period_ns`; of a newer plugin's, zeros. */
static int host_send_after(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                           uint32_t behaviour, const void *data, size_t size,
                           const struct odeon_timer_options *options, odeon_timer *ret_timer)
{
    struct engine_timer_times times;

    if (!options || !ret_timer || (size > 0 && !data) ||
        (options->flags & ~(unsigned)ODEON_TIMER_BOOT) || options->struct_size < sizeof(*options) ||
        !host_options_end_in_zeros(options, options->struct_size, sizeof(*options)))
        return -EINVAL;
    times = (struct engine_timer_times){ .delay_ns = options->delay_ns,
                                         .period_ns = options->period_ns,
                                         .by_boot_time = options->flags & ODEON_TIMER_BOOT };
    return engine_ctx_send_after(host_engine_ctx(ctx), to, type, behaviour, data, size, &times,
                                 ret_timer);
}

static int host_timer_cancel(struct odeon_context *ctx, odeon_timer timer)
{
    return engine_ctx_timer_cancel(host_engine_ctx(ctx), timer);
}

static int host_ask(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                    const void *data, size_t size, uint64_t timeout_ns, uint64_t *ret_token)
{
    const struct engine_pieces pieces = { .head = data, .head_size = size };

    if (!ret_token || (size > 0 && !data))
        return -EINVAL;
    return engine_ctx_ask(host_engine_ctx(ctx), to, type, behaviour, &pieces, timeout_ns,
                          ret_token);
}

static int host_ask_cancel(struct odeon_context *ctx, uint64_t token)
{
    return engine_ctx_ask_cancel(host_engine_ctx(ctx), token);
}

static int host_reply_later(struct odeon_context *ctx, struct odeon_promise *ret_promise)
{
    struct engine_promise promise;
    int r;

    if (!ret_promise)
        return -EINVAL;
    r = engine_ctx_reply_later(host_engine_ctx(ctx), &promise);
    if (r == 0)
        memcpy(ret_promise, &promise, sizeof(*ret_promise));
    return r;
}

static int host_answer(struct odeon_context *ctx, const struct odeon_promise *promise,
                       uint32_t type, const void *data, size_t size)
{
    const struct engine_pieces pieces = { .head = data, .head_size = size };
    struct engine_promise read;

    if (!promise || (size > 0 && !data))
        return -EINVAL;
    memcpy(&read, promise, sizeof(read));
    return engine_ctx_answer(host_engine_ctx(ctx), &read, type, &pieces);
}

static int host_forward(struct odeon_context *ctx, odeon_ref to, const void *message)
{
    if (!message && ctx->message_size > 0)
        return -EINVAL;
    return engine_ctx_forward(host_engine_ctx(ctx), to, message);
}

static int host_monitor(struct odeon_context *ctx, odeon_ref ref, uint64_t *ret_monitor)
{
    if (!ret_monitor)
        return -EINVAL;
    return engine_ctx_monitor(host_engine_ctx(ctx), ref, ret_monitor);
}

static int host_demonitor(struct odeon_context *ctx, uint64_t monitor)
{
    return engine_ctx_demonitor(host_engine_ctx(ctx), monitor);
}

static int host_become(struct odeon_context *ctx, const char *name)
{
    return name ? engine_ctx_become(host_engine_ctx(ctx), name) : -EINVAL;
}

static int host_stash(struct odeon_context *ctx, const void *message)
{
    if (!message && ctx->message_size > 0)
        return -EINVAL;
    return engine_ctx_stash(host_engine_ctx(ctx), message);
}

static int host_unstash(struct odeon_context *ctx, uint32_t most)
{
    return engine_ctx_unstash(host_engine_ctx(ctx), most);
}

static int host_join(struct odeon_context *ctx, const char *group)
{
    return group ? engine_ctx_join(host_engine_ctx(ctx), group) : -EINVAL;
}

static int host_leave(struct odeon_context *ctx, const char *group)
{
    return group ? engine_ctx_leave(host_engine_ctx(ctx), group) : -EINVAL;
}

static int host_publish(struct odeon_context *ctx, const char *group, uint32_t type,
                        const void *head, size_t head_size, const void *tail, size_t tail_size)
{
    const struct engine_pieces pieces = {
        .head = head, .head_size = head_size, .tail = tail, .tail_size = tail_size
    };

    if (!group || (head_size > 0 && !head) || (tail_size > 0 && !tail))
        return -EINVAL;
    return engine_ctx_publish(host_engine_ctx(ctx), group, type, &pieces);
}

static int host_lookup(struct odeon_context *ctx, const char *name, odeon_ref *ret_ref)
{
    if (!name || !ret_ref)
        return -EINVAL;
    return engine_ctx_lookup(host_engine_ctx(ctx), name, ret_ref);
}

/* A line with the running actor's identity as fields, where there is one. */
static void host_log_actor(struct odeon_context *ctx, enum log_level level, const char *text)
{
    char plugin_field[ODEON_NAME_MAX + 32], type_field[ODEON_NAME_MAX + 32], actor_field[64];
    const char *const fields[] = { plugin_field, type_field, actor_field, NULL };
    const char *type = "", *plugin = "";

    if (ctx->self == ODEON_NOBODY) { /* a plugin's start */
        log_write(level, "%s", text);
        return;
    }
    engine_ctx_describe(host_engine_ctx(ctx), &type, &plugin);
    snprintf(plugin_field, sizeof(plugin_field), "ODEON_PLUGIN=%s", plugin);
    snprintf(type_field, sizeof(type_field), "ODEON_ACTOR_TYPE=%s", type);
    snprintf(actor_field, sizeof(actor_field), "ODEON_ACTOR=" REF_FORMAT, REF_ARGS(ctx->self));
    log_fields(level, fields, "%s", text);
}

static void host_log(struct odeon_context *ctx, uint32_t level, const char *text)
{
    char line[LOG_TEXT_MAX];
    size_t n;

    if (!text)
        return;
    n = strnlen(text, sizeof(line) - 1);
    memcpy(line, text, n);
    line[n] = '\0';
    host_log_actor(ctx,
                   level < LOG_LEVEL_ERROR   ? LOG_LEVEL_ERROR
                   : level > LOG_LEVEL_DEBUG ? LOG_LEVEL_DEBUG
                                             : (enum log_level)level,
                   line);
}

static struct odeon_message_object *
host_message_new(struct odeon_context *ctx, const struct odeon_message_type *type, size_t tail_size)
{
    return message_object_new(host_ctx_host(ctx)->pool, ctx->worker, type, tail_size);
}

static int host_message_send(struct odeon_context *ctx, odeon_ref to, uint32_t behaviour,
                             struct odeon_message_object *object, size_t size)
{
    struct message_pool *pool = host_ctx_host(ctx)->pool;
    int r = message_object_check(pool, object, size);

    if (r < 0)
        return r;
    r = engine_ctx_send(host_engine_ctx(ctx), to, object->type->id, behaviour, object->payload,
                        size);
    if (r == 0)
        message_object_sent(pool, ctx->worker, object);
    return r;
}

static void host_message_free(struct odeon_context *ctx, struct odeon_message_object *object)
{
    int r;

    if (!object)
        return;
    r = message_object_free(host_ctx_host(ctx)->pool, ctx->worker, object);
    if (r < 0)
        host_log_actor(ctx, LOG_LEVEL_ERROR,
                       "message_free: this is no message object, or it has been freed already");
    /* the first, second, fourth, ... one: all are counted, few are told */
    else if (r > 0 && (r & (r - 1)) == 0)
        host_log_actor(ctx, LOG_LEVEL_WARNING,
                       "a message object was freed without ever having been sent");
}

static uint64_t host_now_ns(struct odeon_context *ctx)
{
    (void)ctx;
    return clock_now_ns();
}

int host_new(unsigned n_workers, struct host **ret_host)
{
    struct host *host = calloc(1, sizeof(*host));
    int r;

    if (!host)
        return -ENOMEM;
    host->table = (struct odeon_host){
        .struct_size = sizeof(struct odeon_host),
        .minor = ODEON_PLUGIN_ABI_MINOR,
        .send = direct_send.host,
        .send_tail = host_send_tail,
        .reply = host_reply,
        .reply_tail = host_reply_tail,
        .spawn = host_spawn,
        .find_type = host_find_type,
        .stop = host_stop,
        .lookup = host_lookup,
        .log = host_log,
        .message_new = host_message_new,
        .message_send = host_message_send,
        .message_free = host_message_free,
        .now_ns = host_now_ns,
        .signal = direct_signal.host,
        .send_word = direct_send_word.host,
        .send_urgent = direct_send_urgent.host,
        .send_after = host_send_after,
        .timer_cancel = host_timer_cancel,
        .ask = host_ask,
        .ask_cancel = host_ask_cancel,
        .reply_later = host_reply_later,
        .answer = host_answer,
        .forward = host_forward,
        .monitor = host_monitor,
        .demonitor = host_demonitor,
        .become = host_become,
        .stash = host_stash,
        .unstash = host_unstash,
        .join = host_join,
        .leave = host_leave,
        .publish = host_publish,
    };
    r = message_pool_new(n_workers, &host->pool);
    if (r < 0) {
        free(host);
        return r;
    }
    *ret_host = host;
    return 0;
}

struct host *host_free(struct host *host)
{
    if (host) {
        message_pool_free(host->pool);
        free(host);
    }
    return NULL;
}

const struct odeon_host *host_get_table(const struct host *host)
{
    return &host->table;
}

uint64_t host_count_unsent(const struct host *host)
{
    struct message_pool_totals totals;

    message_pool_get_totals(host->pool, &totals);
    return totals.made - totals.sent;
}

/* Function types that differ in the name of one struct only (host.H1). By way of void (*)(void),
 * which compilers accept as "I mean it". */
const void *host_get_inline_block(void)
{
    return &inline_block_closed;
}

engine_run_fn host_adapt_start(int (*start)(struct odeon_context *ctx))
{
    return (engine_run_fn)(void (*)(void))start;
}

engine_behaviour_fn host_adapt_behaviour(odeon_behaviour_fn run)
{
    return (engine_behaviour_fn)(void (*)(void))run;
}

engine_init_fn host_adapt_init(odeon_init_fn init)
{
    return (engine_init_fn)(void (*)(void))init;
}

engine_fini_fn host_adapt_fini(odeon_fini_fn fini)
{
    return (engine_fini_fn)(void (*)(void))fini;
}
