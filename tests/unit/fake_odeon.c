/* SPDX-License-Identifier: Apache-2.0 */
/* The library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/src/error.h"

struct fake fake;
const char *const fake_accepts[2] = { "counter_add", "counter_get" };

void fake_reset(void)
{
    fake = (struct fake){ .text = "",
                          .n_actors = 3,
                          .client_name = "wordcount",
                          .receiver_type = "counter",
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

int odeon_service_status(struct odeon_client *client, struct odeon_status **ret)
{
    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    fake.n_statuses++;
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
                                   .supervisor_pid = fake.replaced_at == fake.n_statuses ? 11 : 10,
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
