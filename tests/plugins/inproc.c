/* SPDX-License-Identifier: Apache-2.0 */
/* libodeon without a service: the client's interface over actors in the client's own process, run
 * by the client's own thread whenever it waits. Plugins and clients are tested with it for what
 * they do themselves: no queue limits, no workers, no recovery; messages in one queue, first in,
 * first out; what a behaviour sends goes into it when the behaviour has returned.
 *
 * A test can set INPROC_CRASH=N: after N messages all actors lose their state and are initialised
 * again, as after a crash of the executor.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <odeon/admin.h>
#include <odeon/plugin.h>

enum { TYPES_MAX = 256, PORT_SLOT = 1 };

struct record {
    struct record *next;
    odeon_ref to, from;
    uint64_t correlation;
    uint32_t type;
    uint32_t size;
    unsigned char data[] __attribute__((aligned(8)));
};

struct list {
    struct record *first, **last;
};

struct actor {
    const struct odeon_actor_type *type; /* NULL: has ended */
    void *state;
    int ready; /* init has run */
    uint64_t args_size;
    unsigned char args[232];
};

struct odeon_port {
    struct list inbox;
    struct record *taken; /* not released */
    struct record *reserved;
};

struct odeon_client {
    struct odeon_port port;
};

static const struct odeon_message_type *messages[TYPES_MAX];
static uint32_t n_messages = 16;
static const struct odeon_actor_type *types[TYPES_MAX];
static uint32_t n_types = 1;
static struct actor *actors;
static uint32_t n_actors = 2, actors_size;
static struct list queue = { NULL, &queue.first }, outbox = { NULL, &outbox.first };
static struct odeon_port *the_port;
static uint64_t handled, next_call = 1;
static const char *error_text = "";

static int fail(int error, const char *text)
{
    error_text = text;
    errno = -error;
    return error;
}

const char *odeon_error_text(void)
{
    return error_text;
}

/* ---- records ---- */

static void list_add(struct list *list, struct record *record)
{
    record->next = NULL;
    *list->last = record;
    list->last = &record->next;
}

static struct record *list_take(struct list *list)
{
    struct record *record = list->first;
    if (record != NULL && (list->first = record->next) == NULL)
        list->last = &list->first;
    return record;
}

static struct record *record_new(odeon_ref to, odeon_ref from, uint32_t type, const void *head,
                                 size_t head_size,
                                 /* tail NULL: left to be filled */
                                 const void *tail, size_t tail_size)
{
    struct record *record = malloc(sizeof(*record) + head_size + tail_size);
    if (record == NULL)
        abort();
    *record = (struct record){
        .to = to, .from = from, .type = type, .size = (uint32_t)(head_size + tail_size)
    };
    if (head_size > 0)
        memcpy(record->data, head, head_size);
    if (tail != NULL)
        memcpy(record->data + head_size, tail, tail_size);
    return record;
}

/* ---- what plugins call ---- */

static uint32_t intern(const struct odeon_message_type *type)
{
    for (uint32_t i = 16; i < n_messages; i++)
        if (strcmp(messages[i]->name, type->name) == 0 && messages[i]->version == type->version)
            return messages[i]->size == type->size && strcmp(messages[i]->fields, type->fields) == 0
                       ? i
                       : 0;
    if (n_messages == TYPES_MAX)
        abort();
    messages[n_messages] = type;
    return n_messages++;
}

static int host_send_tail(struct odeon_context *ctx, odeon_ref to, uint32_t type,
                          uint32_t behaviour, const void *head, size_t head_size, const void *tail,
                          size_t tail_size)
{
    uint32_t slot = (uint32_t)to;
    if (head_size + tail_size > ODEON_PAYLOAD_LIMIT)
        return -EMSGSIZE;
    if (slot >= n_actors || to == ODEON_NOBODY)
        return -ESRCH;
    if (type >= 16 && (type >= n_messages || head_size + tail_size < messages[type]->size))
        abort(); /* a plugin that sends what it has not described */
    if (slot != PORT_SLOT && actors[slot].type != NULL && type >= 16 &&
        behaviour != ODEON_BEHAVIOUR_UNKNOWN &&
        (behaviour >= actors[slot].type->n_behaviours ||
         actors[slot].type->behaviours[behaviour].message->id != type))
        abort(); /* a wrong behaviour index */
    list_add(&outbox, record_new(to, ctx->self, type, head, head_size, tail, tail_size));
    return 0;
}

static int host_send(struct odeon_context *ctx, odeon_ref to, uint32_t type, uint32_t behaviour,
                     const void *data, size_t size)
{
    return host_send_tail(ctx, to, type, behaviour, data, size, NULL, 0);
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

static int host_reply_tail(struct odeon_context *ctx, uint32_t type, const void *head,
                           size_t head_size, const void *tail, size_t tail_size)
{
    if (ctx->sender == ODEON_NOBODY)
        return -ENOTCONN;
    int r = host_send_tail(ctx, ctx->sender, type, ODEON_BEHAVIOUR_UNKNOWN, head, head_size, tail,
                           tail_size);
    if (r == 0) /* the last one of the outbox */
        ((struct record *)(void *)((char *)outbox.last - offsetof(struct record, next)))
            ->correlation = ctx->correlation;
    return r;
}

static int host_reply(struct odeon_context *ctx, uint32_t type, const void *data, size_t size)
{
    return host_reply_tail(ctx, type, data, size, NULL, 0);
}

static int spawn(const struct odeon_actor_type *type, const void *args, size_t args_size,
                 odeon_ref *ret_ref)
{
    if (n_actors >= actors_size) {
        actors_size = actors_size != 0 ? 2 * actors_size : 1024;
        actors = realloc(actors, actors_size * sizeof(actors[0]));
        if (actors == NULL)
            abort();
    }
    struct actor *actor = &actors[n_actors];
    *actor = (struct actor){ .type = type,
                             .state = calloc(1, type->state_size + 1u),
                             .args_size = args_size };
    if (args_size > sizeof(actor->args) || actor->state == NULL)
        return fail(-E2BIG, "too many arguments");
    if (args_size > 0)
        memcpy(actor->args, args, args_size);
    *ret_ref = (odeon_ref)1 << 32 | n_actors;
    n_actors++;
    return 0;
}

static int host_spawn(struct odeon_context *ctx, uint32_t type,
                      const struct odeon_spawn_options *options, odeon_ref *ret_ref)
{
    (void)ctx;
    if (type == 0 || type >= n_types || options->struct_size != sizeof(*options))
        return -ESRCH;
    int r = spawn(types[type], options->args, options->args_size, ret_ref);
    if (r == 0) /* its init runs even if nothing is ever sent to it */
        list_add(&outbox, record_new(*ret_ref, ctx->self, 1, NULL, 0, NULL, 0));
    return r;
}

static int host_find_type(struct odeon_context *ctx, const char *name, uint32_t *ret_type)
{
    (void)ctx;
    for (uint32_t i = 1; i < n_types; i++)
        if (strcmp(types[i]->name, name) == 0) {
            *ret_type = i;
            return 0;
        }
    return -ENOENT;
}

static int host_stop(struct odeon_context *ctx, odeon_ref ref, uint32_t how)
{
    return host_send(ctx, ref, ODEON_MSG_POISON_DELETE + how - 1, ODEON_BEHAVIOUR_UNKNOWN, NULL, 0);
}

static void host_log(struct odeon_context *ctx, uint32_t level, const char *text)
{
    (void)ctx;
    fprintf(stderr, "<%u> %s\n", level, text);
}

static struct odeon_message_object *
host_message_new(struct odeon_context *ctx, const struct odeon_message_type *type, size_t tail_size)
{
    (void)ctx;
    struct odeon_message_object *object = calloc(1, sizeof(*object) + type->size + tail_size);
    if (object == NULL)
        abort();
    *object = (struct odeon_message_object){ .type = type, .payload = object + 1 };
    return object;
}

static void host_message_free(struct odeon_context *ctx, struct odeon_message_object *object)
{
    (void)ctx;
    if (!object->sent)
        fprintf(stderr, "a message object of %s was never sent\n", object->type->name);
    free(object);
}

static int host_message_send(struct odeon_context *ctx, odeon_ref to, uint32_t behaviour,
                             struct odeon_message_object *object, size_t size)
{
    int r = host_send(ctx, to, object->type->id, behaviour, object->payload, size);
    if (r < 0)
        return r;
    object->sent = 1;
    if ((object->allocation == ODEON_DELETE || object->allocation == ODEON_DESTROY) &&
        object->fini != NULL)
        object->fini(object->payload);
    if (object->allocation == ODEON_DELETE || object->allocation == ODEON_DESTROY)
        free(object);
    return 0;
}

static uint64_t host_now_ns(struct odeon_context *ctx)
{
    (void)ctx;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nobody is told of an end here: test_room.c looks at that. */
static int host_monitor(struct odeon_context *ctx, odeon_ref ref, uint64_t *ret_monitor)
{
    (void)ctx;
    (void)ref;
    *ret_monitor = 1;
    return 0;
}

static const struct odeon_host host = {
    .struct_size = offsetof(struct odeon_host, demonitor) + sizeof(void *),
    .monitor = host_monitor,
    .send = host_send,
    .signal = host_signal,
    .send_word = host_send_word,
    .send_tail = host_send_tail,
    .reply = host_reply,
    .spawn = host_spawn,
    .reply_tail = host_reply_tail,
    .find_type = host_find_type,
    .stop = host_stop,
    .log = host_log,
    .now_ns = host_now_ns,
    .message_new = host_message_new,
    .message_send = host_message_send,
    .message_free = host_message_free,
};

/* ---- running ---- */

static void actor_end(uint32_t slot, int how, struct odeon_context *ctx)
{
    const struct odeon_actor_type *type = actors[slot].type;
    void *state = actors[slot].state;
    if (how != ODEON_FINISHED && type->fini != NULL && actors[slot].ready)
        type->fini(state, ctx);
    free(state);
    actors[slot].type = NULL;
    actors[slot].state = NULL;
}

/* As after a crash: what was in memory is lost (and here leaked), what was queued is not. */
static void crash(void)
{
    for (uint32_t i = 2; i < n_actors; i++) {
        if (actors[i].type == NULL)
            continue;
        memset(actors[i].state, 0, actors[i].type->state_size);
        actors[i].ready = 0;
    }
}

/* Runs one message; 0: there was none. */
static int run_one(void)
{
    static uint64_t crash_at = UINT64_MAX;
    const char *setting = getenv("INPROC_CRASH");
    struct record *record = list_take(&queue);
    if (record == NULL)
        return 0;
    if (setting != NULL && crash_at == UINT64_MAX)
        crash_at = strtoull(setting, NULL, 10);
    if (++handled == crash_at)
        crash();

    uint32_t slot = (uint32_t)record->to;
    if (slot == PORT_SLOT) {
        if (the_port == NULL)
            free(record);
        else
            list_add(&the_port->inbox, record);
        return 1;
    }
    struct odeon_context ctx = { .host = &host,
                                 .self = record->to,
                                 .sender = record->from,
                                 .message_size = record->size,
                                 .correlation = record->correlation,
                                 .message_type = record->type };
    int result = ODEON_NODELETE;
    if (actors[slot].type != NULL && !actors[slot].ready) {
        actors[slot].ready = 1;
        if (actors[slot].type->init != NULL &&
            actors[slot].type->init(actors[slot].state, actors[slot].args, actors[slot].args_size,
                                    &ctx) < 0)
            result = ODEON_FINISHED;
    }
    if (actors[slot].type == NULL) {
        fprintf(stderr, "dead letter of type %u to %u\n", record->type, slot);
    } else if (record->type >= ODEON_MSG_POISON_DELETE &&
               record->type <= ODEON_MSG_POISON_FINISHED) {
        result = (int)record->type - ODEON_MSG_POISON_DELETE + 1;
    } else if (record->type >= 16 && result == ODEON_NODELETE) {
        const struct odeon_actor_type *type = actors[slot].type;
        uint32_t i = 0;
        while (i < type->n_behaviours && type->behaviours[i].message->id != record->type)
            i++;
        if (i == type->n_behaviours)
            fprintf(stderr, "%s does not accept %s\n", type->name, messages[record->type]->name);
        else
            result = type->behaviours[i].run(actors[slot].state, record->data, &ctx);
    }
    if (result != ODEON_NODELETE && actors[slot].type != NULL)
        actor_end(slot, result, &ctx);
    while (outbox.first != NULL)
        list_add(&queue, list_take(&outbox));
    free(record);
    return 1;
}

/* ---- the client's interface ---- */

int odeon_client_connect(const char *path, const char *name, struct odeon_client **ret_client)
{
    (void)path;
    (void)name;
    *ret_client = calloc(1, sizeof(**ret_client));
    return *ret_client != NULL ? 0 : -ENOMEM;
}

struct odeon_client *odeon_client_disconnect(struct odeon_client *client)
{
    while (run_one())
        ;
    uint32_t live = 0;
    for (uint32_t i = 2; i < n_actors; i++)
        live += actors[i].type != NULL;
    fprintf(stderr, "inproc: %u actors left, %llu messages\n", live, (unsigned long long)handled);
    free(client);
    return NULL;
}

int odeon_message_id(struct odeon_client *client, const struct odeon_message_type *type,
                     uint32_t *ret_id)
{
    (void)client;
    *ret_id = intern(type);
    return *ret_id != 0 ? 0 : fail(-EBADMSG, "known with other fields");
}

int odeon_plugin_load(struct odeon_client *client, const char *path)
{
    (void)client;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct odeon_plugin *plugin = handle != NULL ? dlsym(handle, ODEON_PLUGIN_SYMBOL) : NULL;
    if (plugin == NULL)
        return fail(-EINVAL, dlerror());
    struct odeon_message_type *const *end =
        plugin->n_messages > 0 ? plugin->messages + plugin->n_messages : plugin->messages_end;
    for (struct odeon_message_type *const *m = plugin->messages; m < end; m++)
        if (((*m)->id = intern(*m)) == 0)
            return fail(-EBADMSG, "known with other fields");
    for (uint32_t i = 0; i < plugin->n_types; i++) {
        if (n_types == TYPES_MAX)
            abort();
        plugin->types[i]->id = n_types;
        types[n_types++] = plugin->types[i];
    }
    return plugin->init != NULL ? plugin->init(&host) : 0;
}

int odeon_actor_spawn(struct odeon_client *client, const char *type, const char *name,
                      const void *args, size_t args_size, odeon_ref *ret_ref)
{
    (void)client;
    (void)name;
    uint32_t id;
    if (host_find_type(NULL, type, &id) < 0)
        return fail(-ENOENT, "no such actor type");
    return spawn(types[id], args, args_size, ret_ref);
}

int odeon_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how)
{
    list_add(&queue, record_new(ref, odeon_port_ref(&client->port),
                                (uint32_t)(ODEON_MSG_POISON_DELETE + how - 1), NULL, 0, NULL, 0));
    return 0;
}

int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options,
                    struct odeon_port **ret_port)
{
    (void)options;
    client->port.inbox = (struct list){ NULL, &client->port.inbox.first };
    *ret_port = the_port = &client->port;
    return 0;
}

struct odeon_port *odeon_port_close(struct odeon_port *port)
{
    odeon_port_release(port);
    while (port->inbox.first != NULL)
        free(list_take(&port->inbox));
    the_port = NULL;
    return NULL;
}

odeon_ref odeon_port_ref(const struct odeon_port *port)
{
    (void)port;
    return (odeon_ref)1 << 32 | PORT_SLOT;
}

static int post(struct odeon_port *port, odeon_ref to, uint32_t type, uint64_t correlation,
                const void *data, size_t size)
{
    if (size > ODEON_PAYLOAD_LIMIT)
        return fail(-EMSGSIZE, "too large");
    struct record *record = record_new(to, odeon_port_ref(port), type, data, size, NULL, 0);
    record->correlation = correlation;
    list_add(&queue, record);
    return 0;
}

int odeon_port_post(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                    size_t size)
{
    return post(port, to, type, 0, data, size);
}

int odeon_port_post_wait(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                         size_t size, int64_t timeout_ns)
{
    (void)timeout_ns;
    return post(port, to, type, 0, data, size);
}

void *odeon_port_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, size_t size)
{
    struct record *record = record_new(to, odeon_port_ref(port), type, NULL, 0, NULL, size);
    record->size = (uint32_t)size;
    record->next = port->reserved;
    port->reserved = record;
    return record->data;
}

int odeon_port_commit(struct odeon_port *port)
{
    struct record *in_order = NULL;
    while (port->reserved != NULL) {
        struct record *record = port->reserved;
        port->reserved = record->next;
        record->next = in_order;
        in_order = record;
    }
    while (in_order != NULL) {
        struct record *record = in_order;
        in_order = record->next;
        list_add(&queue, record);
    }
    return 0;
}

const char *odeon_outcome_name(int outcome)
{
    return outcome == ODEON_CALL_REPLY ? "reply" : "none";
}

const char *odeon_reason_name(unsigned reason)
{
    (void)reason;
    return "refused"; /* nothing is */
}

int odeon_port_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    while (port->inbox.first == NULL && run_one())
        ;
    struct record *record = list_take(&port->inbox);
    if (record == NULL)
        return 0;
    record->next = port->taken;
    port->taken = record;
    *ret_delivery = (struct odeon_delivery){ .from = record->from,
                                             .correlation = record->correlation,
                                             .type = record->type,
                                             .size = record->size,
                                             .data = record->data };
    return 1;
}

int odeon_port_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery,
                            int64_t timeout_ns)
{
    (void)timeout_ns;
    int r = odeon_port_receive(port, ret_delivery);
    return r != 0 ? r : fail(-ETIMEDOUT, "nothing to receive, and nothing left to run");
}

void odeon_port_release(struct odeon_port *port)
{
    while (port->taken != NULL) {
        struct record *next = port->taken->next;
        free(port->taken);
        port->taken = next;
    }
}

int odeon_port_call(struct odeon_port *port, odeon_ref to, uint32_t type, const void *data,
                    size_t size, int64_t timeout_ns, struct odeon_delivery *ret_reply)
{
    uint64_t correlation = next_call++;
    int r = post(port, to, type, correlation, data, size);
    if (r < 0)
        return r;
    do
        r = odeon_port_receive_wait(port, ret_reply, timeout_ns);
    while (r == 1 && ret_reply->correlation != correlation);
    return r == 1 ? ODEON_CALL_REPLY : ODEON_CALL_EXPIRED;
}

int odeon_service_status(struct odeon_client *client, struct odeon_status **ret)
{
    (void)client;
    *ret = calloc(1, sizeof(**ret));
    if (*ret == NULL)
        return -ENOMEM;
    (*ret)->workers = 1;
    return 0;
}

void odeon_result_free(void *result)
{
    free(result);
}
