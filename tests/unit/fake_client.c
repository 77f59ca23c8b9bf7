/* SPDX-License-Identifier: Apache-2.0 */
/* This connection, and all clients, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <stdio.h>

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
    errno = EAGAIN; /* as the real one may leave it */
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
                                    .command = "x",
                                    .traffic = { .known = !fake.traffic_untold,
                                                 .posts = 17,
                                                 .calls_answered = 5,
                                                 .call_p50_ns = 1500,
                                                 .call_p99_ns = 9000,
                                                 .call_most_ns = 9100 } };
    return 0;
}

int odeon_user_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                    struct odeon_list **ret)
{
    (void)client, (void)after, (void)rows;
    fake.n_lists++;
    *ret = fake_list(1, sizeof(struct odeon_user_info));
    *(struct odeon_user_info *)(*ret)->rows = (struct odeon_user_info){
        .uid = 1000,
        .clients = 2,
        .ports = 3,
        .refusals = 4,
        .traffic = { .known = !fake.traffic_untold, .posts = 17, .refused = 1, .dropped = 2 }
    };
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
                                                .refused = 2,
                                                .waits_for = "a queue" } };

    (void)client;
    if (id != 7 && id != 1)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret =
        (struct odeon_client_detail){ .struct_size = sizeof(**ret),
                                      .bound = 1,
                                      .refusals = 12,
                                      .client = { .id = 7,
                                                  .ports = 1,
                                                  .pid = 99,
                                                  .uid = 1000,
                                                  .name = "x",
                                                  .library = "",
                                                  .roles = "post",
                                                  .command = "sh",
                                                  .traffic = { .known = !fake.traffic_untold } },
                                      .n_usage = 3,
                                      .usage = rows,
                                      .n_ports = fake.ports_untold ? 0 : 1,
                                      .ports = ports };
    return 0;
}

int odeon_client_kick(struct odeon_client *client, uint64_t id)
{
    (void)client;
    return id == 7 ? 0 : -ENOENT;
}
