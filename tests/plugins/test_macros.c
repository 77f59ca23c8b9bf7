/* SPDX-License-Identifier: Apache-2.0 */
/* What the macros make: loads the plugin `several` (argument 1) as the host would and looks at its
 * descriptor, then runs its behaviours against a host table of our own that writes down every call.
 * One thread.
 *
 * The messages of several.h are declared here, too, so this program has descriptions of its own:
 * message_macros.M1 says that those of the plugin are others. */
#include "several.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/plugin.h>

enum { CALLS_MAX = 32, BYTES_MAX = 256 };

/* One call of the host table. */
struct call {
    const char *what;
    odeon_ref to;
    uint32_t type, behaviour;
    size_t size;
    unsigned char bytes[BYTES_MAX];
};

static struct call calls[CALLS_MAX];
static unsigned n_calls;
static int answer; /* of the next spawn or lookup */
static const struct odeon_plugin *plugin;

static struct call *write_down(const char *what, odeon_ref to, uint32_t type, uint32_t behaviour)
{
    assert_true(n_calls < CALLS_MAX);
    struct call *call = &calls[n_calls++];
    *call = (struct call){ .what = what, .to = to, .type = type, .behaviour = behaviour };
    return call;
}

static void add_bytes(struct call *call, const void *data, size_t size)
{
    assert_true(call->size + size <= BYTES_MAX);
    if (size > 0)
        memcpy(call->bytes + call->size, data, size);
    call->size += size;
}

static int host_send(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                     const void *data, size_t size)
{
    (void)ctx;
    add_bytes(write_down("send", to, type, behaviour), data, size);
    return 0;
}

static int host_send_urgent(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                            uint32_t behaviour, const void *data, size_t size)
{
    (void)ctx;
    add_bytes(write_down("send_urgent", to, type, behaviour), data, size);
    return 0;
}

/* What comes behind the flags and the times is the message. */
static int host_send_after(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                           uint32_t behaviour, const void *data, size_t size,
                           const struct odeon_timer_options *options, odeon_timer *ret_timer)
{
    (void)ctx;
    assert_int_equal(options->struct_size, sizeof(*options));
    uint64_t flags = options->flags;
    struct call *call = write_down("send_after", to, type, behaviour);
    add_bytes(call, &flags, sizeof(flags));
    add_bytes(call, &options->delay_ns, sizeof(options->delay_ns));
    add_bytes(call, &options->period_ns, sizeof(options->period_ns));
    add_bytes(call, data, size);
    *ret_timer = 2000 + n_calls;
    return 0;
}

static int host_timer_cancel(struct odeon_context *ctx, odeon_timer timer)
{
    (void)ctx;
    write_down("timer_cancel", timer, 0, 0);
    return 0;
}

static int host_ask(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                    const void *data, size_t size, uint64_t timeout_ns, uint64_t *ret_token)
{
    (void)ctx;
    struct call *call = write_down("ask", to, type, behaviour);
    add_bytes(call, &timeout_ns, sizeof(timeout_ns));
    add_bytes(call, data, size);
    *ret_token = 3000 + n_calls;
    return 0;
}

static int host_monitor(struct odeon_context *ctx, odeon_ref ref, uint64_t *ret_monitor)
{
    (void)ctx;
    write_down("monitor", ref, 0, 0);
    *ret_monitor = 4000 + n_calls;
    return 0;
}

static int host_demonitor(struct odeon_context *ctx, uint64_t monitor)
{
    (void)ctx;
    write_down("demonitor", monitor, 0, 0);
    return 0;
}

static int host_reply_later(struct odeon_context *ctx, struct odeon_promise *ret_promise)
{
    write_down("reply_later", ctx->sender, 0, 0);
    *ret_promise = (struct odeon_promise){ 0 };
    return 0;
}

static int host_answer(struct odeon_context *ctx, const struct odeon_promise *promise,
                       uint32_t type, const void *data, size_t size)
{
    (void)promise;
    add_bytes(write_down("answer", ctx->sender, type, 0), data, size);
    return 0;
}

static int host_forward(struct odeon_context *ctx, odeon_ref to, const void *message)
{
    add_bytes(write_down("forward", to, 0, 0), message, ctx->message_size);
    return 0;
}

/* The short forms are the same message to whoever receives it. */
static int host_signal(struct odeon_context *ctx, odeon_ref to, uint64_t kind)
{
    return host_send(ctx, to, (uint32_t)kind, (uint32_t)(kind >> 32), NULL, 0);
}

static int host_send_word(struct odeon_context *ctx, odeon_ref to, uint64_t kind, uint64_t word)
{
    return host_send(ctx, to, (uint32_t)kind, (uint32_t)(kind >> 32), &word, sizeof(word));
}

static int host_send_tail(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                          uint32_t behaviour, const void *head, size_t head_size, const void *tail,
                          size_t tail_size)
{
    (void)ctx;
    struct call *call = write_down("send_tail", to, type, behaviour);
    add_bytes(call, head, head_size);
    add_bytes(call, tail, tail_size);
    return 0;
}

static int host_reply(struct odeon_context *ctx, uint32_t type, const void *data, size_t size)
{
    add_bytes(write_down("reply", ctx->sender, type, ODEON_BEHAVIOUR_UNKNOWN), data, size);
    return 0;
}

static int host_reply_tail(struct odeon_context *ctx, uint32_t type, const void *head,
                           size_t head_size, const void *tail, size_t tail_size)
{
    struct call *call = write_down("reply_tail", ctx->sender, type, ODEON_BEHAVIOUR_UNKNOWN);
    add_bytes(call, head, head_size);
    add_bytes(call, tail, tail_size);
    return 0;
}

static int host_spawn(struct odeon_context *ctx, uint32_t type,
                      const struct odeon_spawn_options *options, odeon_ref *ret_ref)
{
    (void)ctx;
    assert_int_equal(options->struct_size, sizeof(*options));
    struct call *call = write_down("spawn", options->placement, type, 0);
    add_bytes(call, options->args, options->args_size);
    if (answer < 0)
        return answer;
    *ret_ref = 1000 + n_calls;
    return 0;
}

static int host_find_type(struct odeon_context *ctx, const char *name, uint32_t *ret_type)
{
    (void)ctx;
    assert_string_equal(name, "bare");
    write_down("find_type", 0, 0, 0);
    *ret_type = 77;
    return 0;
}

static int host_stop(struct odeon_context *ctx, odeon_ref ref, uint32_t how)
{
    (void)ctx;
    write_down("stop", ref, how, 0);
    return 0;
}

static int host_lookup(struct odeon_context *ctx, const char *name, odeon_ref *ret_ref)
{
    (void)ctx;
    assert_string_equal(name, "peer");
    write_down("lookup", 0, 0, 0);
    *ret_ref = 500;
    return answer;
}

static void host_log(struct odeon_context *ctx, uint32_t level, const char *text)
{
    (void)ctx;
    add_bytes(write_down("log", 0, level, 0), text, strlen(text) + 1);
}

static struct odeon_message_object *
host_message_new(struct odeon_context *ctx, const struct odeon_message_type *type, size_t tail_size)
{
    (void)ctx;
    struct odeon_message_object *object = calloc(1, sizeof(*object) + type->size + tail_size);
    assert_non_null(object);
    *object = (struct odeon_message_object){ .type = type, .payload = object + 1 };
    return object;
}

static int host_message_send(struct odeon_context *ctx, odeon_ref to, uint32_t behaviour,
                             struct odeon_message_object *object, size_t size)
{
    (void)ctx;
    add_bytes(write_down("message_send", to, object->type->id, behaviour), object->payload, size);
    object->sent = 1;
    if (object->allocation == ODEON_DELETE)
        free(object);
    return 0;
}

static void host_message_free(struct odeon_context *ctx, struct odeon_message_object *object)
{
    (void)ctx;
    write_down("message_free", 0, object->sent, 0);
    free(object);
}

static uint64_t host_now_ns(struct odeon_context *ctx)
{
    (void)ctx;
    return 1;
}

static const struct odeon_host host = {
    .struct_size = sizeof(struct odeon_host),
    .minor = ODEON_PLUGIN_ABI_MINOR,
    .send = host_send,
    .signal = host_signal,
    .send_word = host_send_word,
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
    .send_urgent = host_send_urgent,
    .send_after = host_send_after,
    .timer_cancel = host_timer_cancel,
    .ask = host_ask,
    .reply_later = host_reply_later,
    .answer = host_answer,
    .forward = host_forward,
    .monitor = host_monitor,
    .demonitor = host_demonitor,
};

static struct odeon_context begin(uint64_t message_size)
{
    n_calls = 0;
    answer = 0;
    return (struct odeon_context){
        .host = &host, .self = 42, .sender = 43, .message_size = message_size
    };
}

static const struct odeon_actor_type *type_named(const char *name)
{
    for (uint32_t i = 0; i < plugin->n_types; i++)
        if (strcmp(plugin->types[i]->name, name) == 0)
            return plugin->types[i];
    fail_msg("no actor type %s", name);
    abort(); /* not reached */
}

static struct odeon_message_type *message_named(const char *name)
{
    for (struct odeon_message_type *const *m = plugin->messages; m < plugin->messages_end; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    fail_msg("no message %s", name);
    abort(); /* not reached */
}

static void expect_call(unsigned index, const char *what, odeon_ref to, uint32_t type,
                        uint32_t behaviour, size_t size)
{
    assert_true(index < n_calls);
    assert_string_equal(calls[index].what, what);
    assert_int_equal(calls[index].to, to);
    assert_int_equal(calls[index].type, type);
    assert_int_equal(calls[index].behaviour, behaviour);
    assert_int_equal(calls[index].size, size);
}

static void test_descriptor(void **state)
{
    (void)state;
    assert_int_equal(plugin->struct_size, sizeof(struct odeon_plugin));
    assert_int_equal(plugin->abi_major, ODEON_PLUGIN_ABI_MAJOR);
    assert_int_equal(plugin->context_size, sizeof(struct odeon_context));
    assert_int_equal(plugin->message_type_size, sizeof(struct odeon_message_type));
    assert_string_equal(plugin->name, "several");
    assert_string_equal(plugin->version, "2.1.0");
    assert_int_equal(plugin->n_types, 7);
    assert_non_null(plugin->init);
    assert_non_null(plugin->fini);
    assert_int_equal(plugin->init(&host), 0);

    const struct odeon_actor_type *left = type_named("left");
    assert_int_equal(left->struct_size, sizeof(*left));
    assert_int_equal(left->behaviour_size, sizeof(struct odeon_behaviour));
    assert_int_equal(left->version, 4);
    assert_int_equal(left->restart, ODEON_RESTART_STOP);
    assert_int_equal(left->overflow, ODEON_OVERFLOW_DROP_OLDEST);
    assert_non_null(left->init);
    assert_non_null(left->fini);
    const struct odeon_actor_type *right = type_named("right");
    assert_int_equal(right->version, 1);
    assert_int_equal(right->restart, ODEON_RESTART_INIT);
    assert_int_equal(right->overflow, ODEON_OVERFLOW_REJECT);
    assert_null(right->init);
    assert_null(right->fini);
    assert_int_equal(right->state_size, sizeof(void *));
    assert_int_equal(type_named("bare")->state_size, 0);
}

static void test_messages(void **state)
{
    (void)state;
    const struct odeon_message_type *point = message_named("several_point");
    assert_int_equal(point->struct_size, sizeof(*point));
    assert_int_equal(point->version, 3);
    assert_int_equal(point->size, 24);
    assert_int_equal(point->has_tail, 0);
    assert_string_equal(point->fields, "{ int32_t x, y; char label[SEVERAL_LABEL_SIZE]; }");
    const struct odeon_message_type *tick = message_named("several_tick");
    assert_int_equal(tick->version, 2);
    assert_int_equal(tick->size, 0);
    assert_string_equal(tick->fields, "");
    assert_int_equal(message_named("several_array")->has_tail, 0);
    static const char *const tails[] = { "several_text", "several_tight", "several_loose",
                                         "several_pixels" };
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        assert_int_equal(message_named(tails[i])->has_tail, 1);
        assert_int_equal(message_named(tails[i])->tail_offset, message_named(tails[i])->size);
    }
}

/* message_macros.M1, message_macros.M2: eight messages, however often the section names them; and
 * this program's own are others. */
static void test_one_description_in_a_shared_object(void **state)
{
    (void)state;
    for (struct odeon_message_type *const *m = plugin->messages; m < plugin->messages_end; m++)
        assert_ptr_equal(*m, message_named((*m)->name));
    assert_true(plugin->messages_end - plugin->messages >= 8);
    assert_ptr_not_equal(message_named("several_point"), odeon_message_of(several_point));

    /* both source files mean the same one: what `right` (one file) has seen is what `left` (the
     * other) accepts */
    struct odeon_context ctx = begin(24);
    const struct odeon_message_type *seen = NULL;
    struct several_point point = { .x = 1 };
    type_named("right")->behaviours[0].run(&seen, &point, &ctx);
    assert_ptr_equal(seen, message_named("several_point"));
    assert_ptr_equal(type_named("left")->behaviours[1].message, seen);
}

static void test_nothing_exported(void **state)
{
    static const char *const hidden[] = {
        "__start_odeon_messages", "__stop_odeon_messages",
        "odeon_type_of_left",     "odeon_message_type_of_several_point",
        "odeon_init_of_left",     "odeon_plugin_init_"
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        assert_null(dlsym(*state, hidden[i]));
    assert_non_null(dlsym(*state, ODEON_PLUGIN_SYMBOL));
}

static void test_behaviour_indices(void **state)
{
    (void)state;
    static const char *const order[] = { "several_tick", "several_point", "several_text",
                                         "several_stop" };
    const struct odeon_actor_type *left = type_named("left");
    assert_int_equal(left->n_behaviours, 4);
    for (uint32_t i = 0; i < left->n_behaviours; i++) {
        assert_string_equal(left->behaviours[i].message->name, order[i]);
        assert_non_null(left->behaviours[i].run);
    }
}

struct left_view { /* as in several_left.c */
    int64_t total, ticks;
    odeon_ref peer;
    bool ended;
};

static void test_init_and_fini(void **state)
{
    (void)state;
    const struct odeon_actor_type *left = type_named("left");
    struct odeon_context ctx = begin(0);
    struct left_view self = { 0 };
    assert_int_equal(left->state_size, sizeof(self));
    struct left_args args = { .start = 7 };
    assert_int_equal(left->init(&self, &args, sizeof(args), &ctx), 0);
    assert_int_equal(self.total, 7);
    assert_int_equal(left->init(&self, &args, sizeof(args) - 1, &ctx), -EINVAL);
    expect_call(0, "log", 0, ODEON_LOG_ERROR, 0, strlen((char *)calls[0].bytes) + 1);
    left->fini(&self, &ctx);
    assert_true(self.ended);
    assert_string_equal((char *)calls[1].bytes, "left ends with 7");
}

static void test_sends(void **state)
{
    (void)state;
    const struct odeon_actor_type *left = type_named("left");
    struct odeon_context ctx = begin(0);
    struct left_view self = { 0 };
    assert_int_equal(left->behaviours[0].run(&self, NULL, &ctx), ODEON_NODELETE);
    assert_int_equal(n_calls, 18);
    expect_call(0, "spawn", ODEON_PLACE_HERE, type_named("right")->id, 0, 0);
    assert_int_equal(self.peer, 1001);
    expect_call(1, "send", 1001, message_named("several_point")->id, 0,
                sizeof(struct several_point));
    struct several_point point;
    memcpy(&point, calls[1].bytes, sizeof(point));
    assert_int_equal(point.x, 1);
    assert_int_equal(point.y, 2);
    assert_string_equal(point.label, "here");
    expect_call(2, "send_tail", 1001, message_named("several_tight")->id, 1, 5);
    assert_memory_equal(calls[2].bytes + 2, "abc", 3);
    expect_call(3, "send", 1001, message_named("several_array")->id, ODEON_BEHAVIOUR_UNKNOWN, 32);
    expect_call(4, "send", 42, message_named("several_stop")->id, 3, 0);
    expect_call(5, "send", 42, message_named("several_tick")->id, ODEON_BEHAVIOUR_UNKNOWN, 0);
    expect_call(6, "send_urgent", 1001, message_named("several_point")->id, 0, sizeof(point));
    memcpy(&point, calls[6].bytes, sizeof(point));
    assert_int_equal(point.x, 5);
    assert_string_equal(point.label, "now");
    expect_call(7, "send_urgent", 1001, message_named("several_array")->id, ODEON_BEHAVIOUR_UNKNOWN,
                32);
    expect_call(8, "send_urgent", 42, message_named("several_stop")->id, 3, 0);
    expect_call(9, "send_urgent", 42, message_named("several_tick")->id, ODEON_BEHAVIOUR_UNKNOWN,
                0);
    uint64_t times[3];
    expect_call(10, "send_after", 1001, message_named("several_point")->id, 0,
                sizeof(times) + sizeof(point));
    memcpy(times, calls[10].bytes, sizeof(times));
    memcpy(&point, calls[10].bytes + sizeof(times), sizeof(point));
    assert_true(times[0] == 0 && times[1] == 1000 && times[2] == 0 && point.x == 8);
    expect_call(11, "send_after", 1001, message_named("several_array")->id, ODEON_BEHAVIOUR_UNKNOWN,
                sizeof(times) + 32);
    expect_call(12, "send_after", 42, message_named("several_stop")->id, 3, sizeof(times));
    expect_call(13, "send_after", 42, message_named("several_tick")->id, 0, sizeof(times));
    memcpy(times, calls[13].bytes, sizeof(times));
    assert_true(times[0] == 0 && times[1] == ODEON_SECOND_NS && times[2] == ODEON_SECOND_NS);
    for (size_t i = 14; i <= 15; i++) {
        expect_call(i, "send_after", 42,
                    message_named(i == 14 ? "several_stop" : "several_tick")->id, i == 14 ? 3 : 0,
                    sizeof(times));
        memcpy(times, calls[i].bytes, sizeof(times));
        assert_int_equal(times[0], ODEON_TIMER_BOOT);
        assert_int_equal(times[1], 1000);
        assert_int_equal(times[2], i == 14 ? 0 : 1000);
    }
    expect_call(16, "send_after", 42, message_named("several_tick")->id, 0, sizeof(times));
    memcpy(times, calls[16].bytes, sizeof(times));
    assert_int_equal(times[2], 1);                  /* too short a period, instead of none */
    expect_call(17, "timer_cancel", 2011, 0, 0, 0); /* that of the eleventh call */
}

struct filler_view { /* as in several_right.c */
    const char *label;
    int32_t x, asked;
    int result;
};

/* plugin_macros.P3: each argument is evaluated once, also that of a text. One that does not fit
 * goes nowhere, and nothing of it. */
static void test_texts_from_variables(void **state)
{
    (void)state;
    static const char *const labels[] = { NULL, "", "here", "fifteen letters" };
    const struct odeon_actor_type *filler = type_named("filler");
    struct filler_view self = { 0 };
    struct several_point point;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        struct odeon_context ctx = begin(sizeof(point));
        self = (struct filler_view){ .label = labels[i] };
        filler->behaviours[0].run(&self, &point, &ctx);
        assert_int_equal(self.result, 0);
        assert_int_equal(self.x, 1);
        assert_int_equal(self.asked, 101);
        assert_int_equal(n_calls, 2);
        expect_call(0, "send", 42, message_named("several_point")->id, 0, sizeof(point));
        memcpy(&point, calls[0].bytes, sizeof(point));
        assert_int_equal(point.x, 1);
        assert_int_equal(point.y, 7);
        assert_string_equal(point.label, labels[i] ? labels[i] : "");
        memcpy(&point, calls[1].bytes, sizeof(point));
        assert_string_equal(point.label, labels[i] ? labels[i] : "");
    }
    struct odeon_context ctx = begin(sizeof(point));
    self = (struct filler_view){ .label = "sixteen letters." };
    filler->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, -ENAMETOOLONG);
    assert_int_equal(self.asked, 100);
    assert_int_equal(n_calls, 0);
}

struct asker_view { /* as in several_right.c */
    const char *label;
    uint64_t token;
    int asked, result;
};

/* plugin_macros.P3 of questions and answers; what is passed on is the message itself. */
static void test_questions_with_texts(void **state)
{
    (void)state;
    const struct odeon_actor_type *asker = type_named("asker");
    const uint32_t point_id = message_named("several_point")->id;
    struct several_point point = { .x = 5 }, sent;
    struct odeon_context ctx = begin(sizeof(point));
    struct asker_view self = { .label = "fifteen letters" };
    uint64_t timeout_ns;
    asker->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, 0);
    assert_int_equal(self.asked, 2);
    assert_int_equal(self.token, 3001);
    assert_int_equal(n_calls, 4);
    expect_call(0, "ask", 42, point_id, 0, sizeof(timeout_ns) + sizeof(sent));
    memcpy(&timeout_ns, calls[0].bytes, sizeof(timeout_ns));
    assert_true(timeout_ns == ODEON_SECOND_NS);
    memcpy(&sent, calls[0].bytes + sizeof(timeout_ns), sizeof(sent));
    assert_int_equal(sent.y, 7);
    assert_string_equal(sent.label, "fifteen letters");
    expect_call(1, "reply_later", 43, 0, 0, 0);
    expect_call(2, "answer", 43, point_id, 0, sizeof(sent));
    memcpy(&sent, calls[2].bytes, sizeof(sent));
    assert_string_equal(sent.label, "fifteen letters");
    expect_call(3, "forward", 42, 0, 0, sizeof(sent));
    memcpy(&sent, calls[3].bytes, sizeof(sent));
    assert_int_equal(sent.x, 5);
    ctx = begin(sizeof(point));
    self = (struct asker_view){ .label = "sixteen letters." };
    asker->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, -ENAMETOOLONG);
    assert_int_equal(n_calls, 0);
}

/* A service of before questions. */
static void test_questions_of_an_older_service(void **state)
{
    (void)state;
    struct odeon_host older = host;
    older.struct_size = offsetof(struct odeon_host, ask);
    older.ask = NULL;
    struct several_point point = { .x = 5 };
    struct odeon_context ctx = begin(sizeof(point));
    struct asker_view self = { 0 };
    ctx.host = &older;
    type_named("asker")->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, -ENOSYS);
    assert_int_equal(n_calls, 0);
}

struct watcher_view { /* as in several_right.c */
    uint64_t monitor, down;
    int result;
};

static void test_monitors(void **state)
{
    (void)state;
    const struct odeon_actor_type *watcher = type_named("watcher");
    struct several_point point = { .x = 5 };
    struct odeon_down down = { .ref = 43, .monitor = 4002 };
    struct odeon_context ctx = begin(sizeof(point));
    struct watcher_view self = { 0 };
    watcher->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, 0);
    assert_int_equal(n_calls, 3);
    expect_call(0, "monitor", 42, 0, 0, 0);
    expect_call(1, "monitor", 43, 0, 0, 0);
    expect_call(2, "demonitor", 4001, 0, 0, 0); /* that of the first call */
    watcher->behaviours[1].run(&self, &down, &ctx);
    assert_int_equal(self.down, 4002);
}

/* A service of before monitors. */
static void test_monitors_of_an_older_service(void **state)
{
    (void)state;
    struct odeon_host older = host;
    older.struct_size = offsetof(struct odeon_host, monitor);
    older.monitor = NULL;
    struct several_point point = { .x = 5 };
    struct odeon_context ctx = begin(sizeof(point));
    struct watcher_view self = { 0 };
    ctx.host = &older;
    type_named("watcher")->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, -ENOSYS);
    assert_int_equal(n_calls, 0);
}

static void test_a_tail_of_another_name(void **state)
{
    (void)state;
    static const unsigned char payload[] = { 2, 0, 0, 0, 'p', 'i', 'x' };
    struct odeon_context ctx = begin(sizeof(payload));
    struct filler_view self = { 0 };
    type_named("filler")->behaviours[1].run(&self, payload, &ctx);
    assert_int_equal(self.asked, 1);
    expect_call(0, "send_tail", 42, message_named("several_pixels")->id, 1, sizeof(payload));
    assert_memory_equal(calls[0].bytes, "\3\0\0\0pix", sizeof(payload));
}

/* A service of before timers has a shorter table: no word behind it is read. */
static void test_sends_of_an_older_service(void **state)
{
    (void)state;
    struct odeon_host older = host;
    older.struct_size = offsetof(struct odeon_host, send_after);
    older.send_after = NULL;
    older.timer_cancel = NULL;
    struct odeon_context ctx = begin(0);
    struct left_view self = { 0 };
    ctx.host = &older;
    assert_int_equal(type_named("left")->behaviours[0].run(&self, NULL, &ctx), ODEON_NODELETE);
    assert_int_equal(n_calls, 10);
    assert_false(odeon_is_timer(&ctx));
    ctx.kind = UINT64_C(1) << 56 | 7;
    assert_true(odeon_is_timer(&ctx));
    assert_int_equal(odeon_timer_missed(&ctx), 7);
    assert_int_equal(odeon_trace_id(&ctx), 0);
    ctx.trace = UINT64_MAX;
    assert_true(odeon_trace_id(&ctx) == UINT64_MAX);
}

static void test_spawn_that_fails(void **state)
{
    (void)state;
    struct odeon_context ctx = begin(0);
    struct left_view self = { 0 };
    answer = -ENOSPC;
    assert_int_equal(type_named("left")->behaviours[0].run(&self, NULL, &ctx), ODEON_FINISHED);
    assert_int_equal(self.peer, ODEON_NOBODY);
    expect_call(1, "log", 0, ODEON_LOG_ERROR, 0, sizeof("no peer: -28"));
}

static void test_replies(void **state)
{
    (void)state;
    const struct odeon_actor_type *left = type_named("left");
    struct odeon_context ctx = begin(sizeof(struct several_point));
    struct left_view self = { .total = 1 };
    struct several_point point = { .x = 3, .y = 4 };
    left->behaviours[1].run(&self, &point, &ctx);
    expect_call(0, "reply", 43, message_named("several_point")->id, ODEON_BEHAVIOUR_UNKNOWN,
                sizeof(point));
    expect_call(1, "reply", 43, message_named("several_tick")->id, ODEON_BEHAVIOUR_UNKNOWN, 0);
    assert_int_equal(self.total, 13);

    static const struct several_text text = { .line = 5 };
    unsigned char payload[sizeof(text) + 4];
    memcpy(payload, &text, sizeof(text));
    memcpy(payload + sizeof(text), "tail", 4);
    ctx = begin(sizeof(payload));
    left->behaviours[2].run(&self, payload, &ctx);
    expect_call(0, "reply_tail", 43, message_named("several_text")->id, ODEON_BEHAVIOUR_UNKNOWN,
                sizeof(payload));
    assert_memory_equal(calls[0].bytes + sizeof(text), "tail", 4);
}

static void test_stops(void **state)
{
    (void)state;
    struct odeon_context ctx = begin(0);
    struct left_view self = { 0 };
    assert_int_equal(type_named("left")->behaviours[3].run(&self, NULL, &ctx), ODEON_DELETE);
    expect_call(1, "stop", 500, ODEON_DESTROY, 0, 0);
    expect_call(2, "stop", 42, ODEON_DELETE, 0, 0);

    ctx = begin(0);
    assert_int_equal(type_named("bare")->behaviours[0].run(NULL, NULL, &ctx), ODEON_DESTROY);
    expect_call(1, "spawn", ODEON_PLACE_SPREAD, type_named("left")->id, 0,
                sizeof(struct left_args));
    expect_call(2, "find_type", 0, 0, 0, 0);
    expect_call(3, "spawn", ODEON_PLACE_SPREAD, 77, 0, 0);
    expect_call(4, "stop", 1001, ODEON_DELETE, 0, 0);
    expect_call(5, "stop", 1002, ODEON_FINISHED, 0, 0);
    expect_call(6, "spawn", ODEON_PLACE_SPREAD, type_named("right")->id, 0, 0);
}

static void test_message_objects(void **state)
{
    (void)state;
    const struct odeon_actor_type *right = type_named("right");
    struct odeon_context ctx = begin(sizeof(struct several_point));
    const void *self = NULL;
    struct several_point point = { .x = 3 };
    right->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(n_calls, 1);
    expect_call(0, "message_send", 43, message_named("several_point")->id, 1, sizeof(point));
    memcpy(&point, calls[0].bytes, sizeof(point));
    assert_int_equal(point.x, 4);

    static const unsigned char payload[] = { 9, 0, 'x', 'y' };
    ctx = begin(sizeof(payload));
    right->behaviours[1].run(&self, payload, &ctx);
    expect_call(0, "message_send", 43, message_named("several_text")->id, 2,
                sizeof(struct several_text) + 2);
    assert_memory_equal(calls[0].bytes + sizeof(struct several_text), "xy", 2);
    /* the wrong type was refused in between, without a call */
    expect_call(1, "message_free", 0, 1, 0, 0);
    assert_int_equal(n_calls, 2);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s several.so\n", argv[0]);
        return 2;
    }
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    plugin = handle != NULL ? dlsym(handle, ODEON_PLUGIN_SYMBOL) : NULL;
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    /* What the host does after loading: gives out ids. */
    uint32_t id = 100;
    for (uint32_t i = 0; i < plugin->n_types; i++)
        plugin->types[i]->id = 10 + i;
    for (struct odeon_message_type *const *m = plugin->messages; m < plugin->messages_end; m++)
        if ((*m)->id == 0)
            (*m)->id = id++;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_one_description_in_a_shared_object),
        cmocka_unit_test_prestate(test_nothing_exported, handle),
        cmocka_unit_test(test_behaviour_indices),
        cmocka_unit_test(test_init_and_fini),
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_texts_from_variables),
        cmocka_unit_test(test_questions_with_texts),
        cmocka_unit_test(test_questions_of_an_older_service),
        cmocka_unit_test(test_monitors),
        cmocka_unit_test(test_monitors_of_an_older_service),
        cmocka_unit_test(test_a_tail_of_another_name),
        cmocka_unit_test(test_sends_of_an_older_service),
        cmocka_unit_test(test_spawn_that_fails),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_message_objects),
    };
    int failed = cmocka_run_group_tests_name("macros", tests, NULL, NULL);
    dlclose(handle);
    return failed;
}
