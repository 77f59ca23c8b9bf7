/* SPDX-License-Identifier: Apache-2.0 */
/* The library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/src/error.h"
#include "proto/reference.h"

struct fake fake;
static const char *const accepts[] = { "counter_add", "counter_get" };

void fake_reset(void)
{
    fake = (struct fake){ .text = "",
                          .n_actors = 3,
                          .client_name = "wordcount",
                          .state = "running",
                          .message_fields = "{ int64_t amount, weight; char name[16]; }",
                          .message_size = 32,
                          .args_fields = "{ int64_t start; uint8_t step; char name[7]; }",
                          .args_size = 16,
                          .answer_name = "counter_value",
                          .answer_fields = "{ int64_t total; }",
                          .answer = 42,
                          .answer_size = sizeof(fake.answer),
                          .delivery_type = 40,
                          .delivery = &fake.answer,
                          .delivery_size = sizeof(fake.answer),
                          .signal = SIGINT,
                          .supervisor_pid = (uint32_t)getpid(),
                          .executor_pid = (uint32_t)getpid() };
    fake_say("");
}

void *fake_alloc(size_t size)
{
    void *p = calloc(1, size);

    if (!p)
        abort();
    fake.n_leaked++;
    return p;
}

void odeon_result_free(void *result)
{
    if (result)
        fake.n_leaked--;
    free(result);
}

void odeon_list_free(struct odeon_list *list)
{
    odeon_result_free(list);
}

void fake_say(const char *text)
{
    fake.text = text;
    error_set_literal(0, text);
}

struct odeon_client {
    int unused;
};

int odeon_client_connect(const char *path, const char *name, struct odeon_client **ret_client)
{
    (void)name;
    snprintf(fake.path, sizeof(fake.path), "%s", path);
    if (fake.connect_result < 0)
        return fake.connect_result;
    fake.n_connects++;
    *ret_client = fake_alloc(sizeof(**ret_client));
    return 0;
}

struct odeon_client *odeon_client_disconnect(struct odeon_client *client)
{
    fake.n_disconnects += client != NULL;
    odeon_result_free(client);
    return NULL;
}

int odeon_client_set_patience(struct odeon_client *client, int64_t timeout_ns)
{
    return client && timeout_ns >= 0 ? 0 : -EINVAL;
}

int odeon_client_set_timeout(struct odeon_client *client, int64_t timeout_ns)
{
    (void)client;
    (void)timeout_ns;
    return 0;
}

int odeon_actor_find(struct odeon_client *client, const char *name, odeon_ref *ret_ref)
{
    (void)client;
    if (strcmp(name, "total") != 0)
        return -ENOENT;
    *ret_ref = actor_ref_make(7, 5);
    return 0;
}

int odeon_actor_spawn_at(struct odeon_client *client, const char *type, const char *name,
                         const void *args, size_t args_size, const struct odeon_spawn_where *where,
                         odeon_ref *ret_ref)
{
    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    if (strcmp(type, "counter") != 0)
        return -ENOENT;
    fake.where = *where;
    snprintf(fake.spawned_type, sizeof(fake.spawned_type), "%s", type);
    snprintf(fake.spawned_name, sizeof(fake.spawned_name), "%s", name ? name : "");
    if (args_size && args_size <= FAKE_PAYLOAD_MAX)
        memcpy(fake.payload, args, args_size);
    fake.payload_size = args_size;
    *ret_ref = actor_ref_make(42, 1);
    return 0;
}

int odeon_plugin_load(struct odeon_client *client, const char *path)
{
    (void)client;
    snprintf(fake.path, sizeof(fake.path), "%s", path);
    return fake.call_result;
}

int odeon_service_status(struct odeon_client *client, struct odeon_status **ret)
{
    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_status){ .struct_size = sizeof(**ret),
                                   .version = "0.1.0",
                                   .state = "running",
                                   .stealing = "random",
                                   .steal_mode = "visit",
                                   .reconfigurations = 3,
                                   .reconfigure_last_ns = 84000,
                                   .reconfigure_longest_ns = 2500000,
                                   .control_waits = 4,
                                   .control_turn_longest_ns = 320000,
                                   .control_turn_work = "request spawn",
                                   .supervisor_turn_longest_ns = 410000,
                                   .supervisor_turn_work = "a connection",
                                   .runtime_dir = "/run/odeon",
                                   .your_uid = 0,
                                   .your_pid = 100,
                                   .your_roles = "observe, post",
                                   .supervisor_pid = 10,
                                   .workers = 2,
                                   .uptime_ns = UINT64_C(61000000000) };
    return 0;
}

int odeon_executor_show(struct odeon_client *client, struct odeon_executor_info **ret)
{
    static struct odeon_setting_info settings[] = {
        { "stealing", "random", "policy", 1, "longest-victim" },
        { "throughput", "64", "messages a gulp", 1, "4096" },
        { "workers", "2", "threads", 0, "4" }
    };

    (void)client;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_executor_info){
        .struct_size = sizeof(**ret),
        .pid = 11,
        .boots = 1,
        .n_settings = 3,
        .settings = settings,
        .reconfigurations = 3,
        .reconfigure_last_ns = 84000,
        .reconfigure_longest_ns = 2500000,
    };
    return 0;
}

int odeon_executor_set(struct odeon_client *client, const char *const *keys,
                       const char *const *values, size_t n, struct odeon_reconfigured *ret)
{
    ret->pause_ns = 84000;
    ret->moved = 12;
    size_t used = 0;

    (void)client;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(fake.settings + used, sizeof(fake.settings) - used, "%s=%s;",
                                 keys[i], values[i]);
    return fake.call_result;
}

/* A page of `n` rows of `size` bytes. */
struct odeon_list *fake_list(size_t n, size_t size)
{
    struct odeon_list *list = fake_alloc(sizeof(*list) + n * size);

    list->n = n;
    list->rows = list + 1;
    fake.n_pages++;
    return list;
}

int odeon_plugin_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                      struct odeon_list **ret)
{
    static const char *types[] = { "counter" };

    (void)client, (void)after, (void)rows;
    *ret = fake_list(1, sizeof(struct odeon_plugin_info));
    *(struct odeon_plugin_info *)(*ret)->rows = (struct odeon_plugin_info){ .name = "counter",
                                                                            .version = "1.0.0",
                                                                            .path = "/x/counter.so",
                                                                            .actors = 3,
                                                                            .n_types = 1,
                                                                            .types = types };
    return 0;
}

int odeon_plugin_unload(struct odeon_client *client, const char *name)
{
    (void)client;
    return fake.call_result < 0 ? fake.call_result : strcmp(name, "counter") != 0 ? -ENOENT : 0;
}

int odeon_type_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                    struct odeon_list **ret)
{
    (void)client, (void)after, (void)rows;
    *ret = fake_list(1, sizeof(struct odeon_type_info));
    *(struct odeon_type_info *)(*ret)->rows =
        (struct odeon_type_info){ .name = "counter",
                                  .plugin = "counter",
                                  .restart = "init",
                                  .overflow = "reject",
                                  .loaded = !fake.type_unloaded,
                                  .actors = 3,
                                  .state_size = 16,
                                  .args_fields = fake.args_fields,
                                  .args_size = fake.args_size,
                                  .n_accepts = 2,
                                  .accepts = (const char **)accepts };
    return 0;
}

int odeon_message_find(struct odeon_client *client, const char *name, uint32_t version,
                       struct odeon_message_info **ret)
{
    (void)client, (void)version;
    if (strcmp(name, "counter_add") != 0)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_message_info){ .struct_size = sizeof(**ret),
                                         .version = 1,
                                         .name = "counter_add",
                                         .fields = fake.message_fields,
                                         .size = fake.message_size,
                                         .has_tail = fake.message_tail };
    return 0;
}

int odeon_message_show(struct odeon_client *client, uint32_t id, struct odeon_message_info **ret)
{
    (void)client;
    if (id == FAKE_UNKNOWN_TYPE)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_message_info){ .struct_size = sizeof(**ret),
                                         .id = id,
                                         .version = 1,
                                         .name = fake.answer_name,
                                         .fields = fake.answer_fields,
                                         .size = fake.answer_size,
                                         .has_tail = fake.answer_tail };
    return 0;
}

static void fake_detail(struct odeon_message_detail *d)
{
    static const char *plugins[] = { "counter" };

    *d = (struct odeon_message_detail){ .struct_size = sizeof(*d),
                                        .message = { .struct_size = sizeof(d->message),
                                                     .version = 1,
                                                     .name = "counter_add",
                                                     .fields = fake.message_fields,
                                                     .size = fake.message_size,
                                                     .has_tail = fake.message_tail },
                                        .by_user = fake.message_by_user,
                                        .user = 1000,
                                        .accepting = 2,
                                        .n_plugins = fake.message_by_user ? 0 : 1,
                                        .plugins = plugins };
}

int odeon_message_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                       struct odeon_list **ret)
{
    (void)client, (void)after, (void)rows;
    *ret = fake_list(1, sizeof(struct odeon_message_detail));
    fake_detail((*ret)->rows);
    return 0;
}

int odeon_message_detail(struct odeon_client *client, const char *name, uint32_t version,
                         struct odeon_message_detail **ret)
{
    static const char *types[] = { "counter" };

    (void)client;
    if (strcmp(name, "counter_add") != 0 || version > 1)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    fake_detail(*ret);
    (*ret)->n_accepted_by = 1;
    (*ret)->accepted_by = types;
    return 0;
}

int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options,
                    struct odeon_port **ret_port)
{
    (void)client, (void)options;
    if (fake.call_result < 0)
        return fake.call_result;
    *ret_port = fake_alloc(1);
    return 0;
}

struct odeon_port *odeon_port_close(struct odeon_port *port)
{
    odeon_result_free(port);
    return NULL;
}

odeon_ref odeon_port_ref(const struct odeon_port *port)
{
    (void)port;
    return actor_ref_make(3, 1);
}

int odeon_port_register(struct odeon_port *port, const char *name)
{
    (void)port;
    if (strcmp(name, "total") == 0)
        return -EEXIST;
    snprintf(fake.port_name, sizeof(fake.port_name), "%s", name);
    return 0;
}

int odeon_port_receive(struct odeon_port *port, struct odeon_delivery *ret_delivery)
{
    (void)port;
    if (fake.n_deliveries == 0)
        return fake.receive_result;
    fake.n_deliveries--;
    *ret_delivery = (struct odeon_delivery){ .from = actor_ref_make(7, 5),
                                             .type = fake.delivery_type,
                                             .size = (uint32_t)fake.delivery_size,
                                             .data = fake.delivery };
    return 1;
}

/* As if somebody pressed Ctrl-C, when nothing is to come. */
int odeon_port_receive_wait(struct odeon_port *port, struct odeon_delivery *ret_delivery,
                            int64_t timeout_ns)
{
    (void)timeout_ns;
    if (fake.n_deliveries == 0 && fake.receive_result == 0)
        raise(fake.signal);
    return odeon_port_receive(port, ret_delivery);
}

void odeon_port_release(struct odeon_port *port)
{
    (void)port;
}

uint64_t odeon_port_dropped(const struct odeon_port *port)
{
    (void)port;
    return fake.dropped;
}

int odeon_actor_list(struct odeon_client *client, const char *type, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    size_t left = after < fake.n_actors ? fake.n_actors - after : 0, n = left < rows ? left : rows;

    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    snprintf(fake.type_filter, sizeof(fake.type_filter), "%s", type ? type : "");
    *ret = fake_list(n, sizeof(struct odeon_actor_info));
    for (size_t i = 0; i < n; i++)
        ((struct odeon_actor_info *)(*ret)->rows)[i] =
            (struct odeon_actor_info){ .ref = actor_ref_make((uint32_t)(after + i), 1),
                                       .type = "counter",
                                       .name = "",
                                       .state = "idle",
                                       .worker = UINT32_MAX,
                                       .kind = "ordinary" };
    (*ret)->more = n < left;
    (*ret)->next = fake.pages_go_round ? 0 : after + n;
    return 0;
}

int odeon_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                     struct odeon_actor_detail **ret)
{
    (void)client;
    if ((name && strcmp(name, "total") != 0) || ref == FAKE_GONE)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_actor_detail){ .struct_size = sizeof(**ret),
                                         .actor = { .ref = ref ? ref : actor_ref_make(7, 5),
                                                    .type = "counter",
                                                    .name = "total",
                                                    .state = "idle",
                                                    .kind = "pinned" },
                                         .phase = "open",
                                         .n_accepts = 2,
                                         .accepts = (const char **)accepts };
    return 0;
}

int odeon_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                     const void *payload, size_t size)
{
    (void)client;
    fake.to = ref;
    snprintf(fake.message, sizeof(fake.message), "%s", message);
    if (size <= FAKE_PAYLOAD_MAX)
        memcpy(fake.payload, payload, size);
    fake.payload_size = size;
    return fake.call_result;
}

int odeon_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how)
{
    (void)client;
    fake.to = ref;
    fake.how = (int)how;
    return fake.call_result;
}

int odeon_queue_list(struct odeon_client *client, const char *kind, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    (void)client, (void)rows;
    fake.n_lists++;
    if (fake.list_result < 0)
        return fake.list_result;
    snprintf(fake.kind_filter, sizeof(fake.kind_filter), "%s", kind ? kind : "");
    *ret = fake_list(1, sizeof(struct odeon_queue_info));
    (*ret)->more = after < fake.more_queues;
    (*ret)->next = after + 1;
    *(struct odeon_queue_info *)(*ret)->rows =
        (struct odeon_queue_info){ .id = 33 + (uint32_t)after,
                                   .home = 2,
                                   .owner = 1,
                                   .bytes = 4096 * (after + 1),
                                   .urgent_bytes = 96,
                                   .actors = 7,
                                   .retiring = 1,
                                   .kind = "pinned",
                                   .oldest_to = after ? ODEON_NOBODY : odeon_ref_make(1, 9, 3),
                                   .oldest_ns = after ? 0 : UINT64_C(2500000000),
                                   .oldest_name = after ? "" : "one",
                                   .oldest_type = after ? "" : "counter" };
    return 0;
}

int odeon_monitor_list(struct odeon_client *client, odeon_ref of, uint64_t after, uint32_t rows,
                       struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    fake.to = of;
    *ret = fake_list(1, sizeof(struct odeon_monitor_info));
    *(struct odeon_monitor_info *)(*ret)->rows = (struct odeon_monitor_info){
        .id = 78, .watcher = odeon_ref_make(1, 5, 2), .watched = odeon_ref_make(1, 6, 3), .link = 1
    };
    return 0;
}

int odeon_group_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    *ret = fake_list(1, sizeof(struct odeon_group_info));
    *(struct odeon_group_info *)(*ret)->rows =
        (struct odeon_group_info){ .ref = odeon_ref_make(1, 7, 1), .name = "prices", .members = 2 };
    return 0;
}

int odeon_group_member_list(struct odeon_client *client, odeon_ref group, uint64_t after,
                            uint32_t rows, struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    fake.to = group;
    *ret = fake_list(1, sizeof(struct odeon_group_member_info));
    *(struct odeon_group_member_info *)(*ret)->rows =
        (struct odeon_group_member_info){ .member = odeon_ref_make(1, 8, 4), .group = group };
    return 0;
}

int odeon_timer_list(struct odeon_client *client, odeon_ref owner, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    (void)client, (void)rows;
    fake.to = owner;
    /* the first page is empty */
    *ret = fake_list(after > 0, sizeof(struct odeon_timer_info));
    (*ret)->more = after == 0;
    (*ret)->next = 4096;
    if (after > 0)
        *(struct odeon_timer_info *)(*ret)->rows =
            (struct odeon_timer_info){ .id = 77,
                                       .owner = odeon_ref_make(1, 5, 2),
                                       .to = odeon_ref_make(1, 6, 3),
                                       .message = "tick",
                                       .size = 8,
                                       .due_in_ns = UINT64_C(5000000000),
                                       .period_ns = 250000 };
    return 0;
}

int odeon_memory_show(struct odeon_client *client, const char *by, struct odeon_memory **ret)
{
    static struct odeon_memory_part parts[] = {
        { .what = "message queues", .bytes = 3 << 20 },
        { .what = "rings of posts", .bytes = 1 << 20, .of_clients = 1 },
        { .what = "odeon-executor", .bytes = 5 << 20 },
        { .what = "states of actors", .bytes = 1 << 10, .within = 1 },
    };
    static struct odeon_memory_holder holders[] = {
        { .uid = 1000, .clients = 2, .ports = 3, .name = "", .rings = 4096, .waiting = 17 },
    };

    (void)client, (void)by;
    fake.n_lists++;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_memory){ .struct_size = sizeof(**ret),
                                   .bytes = 8 << 20,
                                   .shared = 1 << 20,
                                   .n_parts = 4,
                                   .n_holders = 1,
                                   .parts = parts,
                                   .holders = holders,
                                   .others = 2,
                                   .others_bytes = 100 };
    return 0;
}

/* Three a page, of two types in turn, every third one for another reason. */
static void fake_letters(uint64_t after, struct odeon_list **ret)
{
    size_t from = after ? (size_t)after - 1 : 0,
           n = fake.n_letters - from < 3 ? fake.n_letters - from : 3;
    struct odeon_dead_letter_info *rows;

    *ret = fake_list(n, sizeof(*rows));
    rows = (*ret)->rows;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct odeon_dead_letter_info){
            .id = from + i + 1,
            .to = 0x101000009,
            .type = (from + i) % 2 ? "account" : "counter",
            .message = "go",
            .reason = (from + i) % 3 ? "queue-full" : "quarantined",
            .size = 10,
            .time_ns = UINT64_C(1700000000000000000) + (from + i) * 1000000000,
        };
    (*ret)->next = from + n + 1;
    (*ret)->more = from + n < fake.n_letters;
}

int odeon_dead_letter_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                           struct odeon_list **ret)
{
    (void)client, (void)rows;
    if (fake.n_letters) {
        fake_letters(after, ret);
        return 0;
    }
    *ret = fake_list(1, sizeof(struct odeon_dead_letter_info));
    *(struct odeon_dead_letter_info *)(*ret)->rows =
        (struct odeon_dead_letter_info){ .id = 12,
                                         .to = 0x101000009,
                                         .type = "counter",
                                         .message = "counter_add",
                                         .reason = "quarantined",
                                         .size = 3,
                                         .attempts = 1,
                                         .time_ns = UINT64_C(1700000000123456789) };
    return 0;
}

int odeon_dead_letter_show(struct odeon_client *client, uint64_t id,
                           struct odeon_dead_letter_detail **ret)
{
    (void)client;
    if (id != 12)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    (*ret)->letter = (struct odeon_dead_letter_info){ .id = id,
                                                      .to = 0x101000009,
                                                      .type = "counter",
                                                      .message = "counter_add",
                                                      .reason = "quarantined",
                                                      .size = 3,
                                                      .time_ns = 1 };
    (*ret)->payload = "\x01\xab\xff";
    return 0;
}

int odeon_dead_letter_replay(struct odeon_client *client, const uint64_t *ids, size_t n,
                             odeon_ref to, struct odeon_dead_letters_done *ret)
{
    (void)client;
    fake.n_ids = n;
    fake.last_id = n ? ids[n - 1] : 0;
    fake.replay_to = to;
    ret->done = 5;
    ret->gone = 2;
    ret->full = 1;
    return 0;
}

int odeon_dead_letter_purge(struct odeon_client *client, const uint64_t *ids, size_t n,
                            struct odeon_dead_letters_done *ret)
{
    (void)client;
    fake.n_ids = n;
    fake.last_id = n ? ids[n - 1] : 0;
    ret->done = n ? n : 9;
    return 0;
}

int odeon_type_release(struct odeon_client *client, const char *name)
{
    (void)client;
    return strcmp(name, "counter") == 0 ? 0 : -EALREADY;
}

int odeon_client_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                      struct odeon_list **ret)
{
    (void)client, (void)after, (void)rows;
    fake.n_lists++;
    *ret = fake_list(1, sizeof(struct odeon_client_info));
    *(struct odeon_client_info *)(*ret)->rows =
        (struct odeon_client_info){ .id = 1,
                                    .pid = 99,
                                    .name = fake.client_name,
                                    .library = "0.1.0",
                                    .roles = "observe",
                                    .command = "x" };
    return 0;
}

int odeon_client_show(struct odeon_client *client, uint64_t id, struct odeon_client_detail **ret)
{
    static struct odeon_usage rows[] = {
        { .name = "ports",
          .client = 2,
          .user = 5,
          .client_known = 1,
          .user_known = 1,
          .limit = 64 },
        { .name = "posts", .client = 9, .client_known = 1, .limit = 1000, .per_second = 1 },
        { .name = "actors", .user = 3, .user_known = 1, .unlimited = 1 },
    };

    static struct odeon_port_info ports[] = { { .id = 3,
                                                .ref = FAKE_GONE + 1,
                                                .posts = 11,
                                                .not_taken = 64,
                                                .delivered = 4096,
                                                .not_received = 2048,
                                                .backlog = 512,
                                                .dropped = 5,
                                                .waits_for = "a queue" } };

    (void)client;
    if (id != 7 && id != 1)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_client_detail){ .struct_size = sizeof(**ret),
                                          .bound = 1,
                                          .refusals = 12,
                                          .client = { .id = 7,
                                                      .pid = 99,
                                                      .uid = 1000,
                                                      .name = "x",
                                                      .library = "",
                                                      .roles = "post",
                                                      .command = "sh" },
                                          .n_usage = 3,
                                          .usage = rows,
                                          .n_ports = 1,
                                          .ports = ports };
    return 0;
}

int odeon_client_kick(struct odeon_client *client, uint64_t id)
{
    (void)client;
    return id == 7 ? 0 : -ENOENT;
}

/* Statistics. */
struct odeon_stats {
    int unused;
};
static const char *const figures[FAKE_FIGURES] = {
    "gulps",  "gulped_messages",   "messages_processed",
    "steals", "messages_stolen",   "from_the_future",
    "state",  "average_gulp_size", "average_steal_size"
};

int odeon_stats_open(const char *path, struct odeon_stats **ret_stats)
{
    snprintf(fake.path, sizeof(fake.path), "%s", path ? path : "(default)");
    if (fake.stats_result < 0)
        return fake.stats_result;
    *ret_stats = fake_alloc(sizeof(**ret_stats));
    return 0;
}

struct odeon_stats *odeon_stats_close(struct odeon_stats *stats)
{
    odeon_result_free(stats);
    return NULL;
}

int odeon_stats_service(struct odeon_stats *stats, struct odeon_stats_service *ret_service)
{
    (void)stats;
    *ret_service = (struct odeon_stats_service){ .struct_size = ret_service->struct_size,
                                                 .workers = FAKE_WORKERS,
                                                 .supervisor_pid = fake.supervisor_pid,
                                                 .executor_pid = fake.executor_pid,
                                                 .boots = 2,
                                                 .reconfigurations = 3,
                                                 .stealing = "random",
                                                 .steal_mode = "visit" };
    snprintf(ret_service->state_name, sizeof(ret_service->state_name), "%s", fake.state);
    for (size_t i = 0; i < 6; i++)
        fake.value[i] += fake.growth;
    return 0;
}

size_t odeon_stats_n(const struct odeon_stats *stats)
{
    (void)stats;
    return FAKE_FIGURES;
}

const char *odeon_stats_name(const struct odeon_stats *stats, size_t index)
{
    (void)stats;
    return index < FAKE_FIGURES ? figures[index] : NULL;
}

const char *odeon_stats_doc(const struct odeon_stats *stats, size_t index)
{
    (void)stats, (void)index;
    return "documented";
}

enum odeon_stats_kind odeon_stats_kind(const struct odeon_stats *stats, size_t index)
{
    (void)stats;
    return index < 6 ? ODEON_STATS_COUNTER : index == 6 ? ODEON_STATS_GAUGE : ODEON_STATS_DERIVED;
}

double odeon_stats_value(struct odeon_stats *stats, int worker, size_t index)
{
    (void)stats;
    if (index == 6)
        return worker < 0 ? 0 : 3;
    if (index > 6)
        return 2.5;
    return worker < 0 ? fake.value[index] : worker == 0 ? fake.value[index] : 0;
}

int odeon_stats_cpu(struct odeon_stats *stats, int worker)
{
    (void)stats;
    return worker < FAKE_WORKERS ? worker : -1;
}
