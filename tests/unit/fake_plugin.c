/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins and their types, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int odeon_plugin_load(struct odeon_client *client, const char *path)
{
    (void)client;
    snprintf(fake.path, sizeof(fake.path), "%s", path);
    return fake.call_result;
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
                                  .accepts = (const char **)fake_accepts };
    return 0;
}

int odeon_type_release(struct odeon_client *client, const char *name)
{
    (void)client;
    return strcmp(name, "counter") == 0 ? 0 : fake.knows_types ? -ENOENT : -EALREADY;
}
