/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <string.h>

/* One in a newer version has the size of the first one, and its fields in another order. */
static struct odeon_message_info fake_message(uint32_t version)
{
    return (struct odeon_message_info){
        .struct_size = sizeof(struct odeon_message_info),
        .id = FAKE_TYPE + version,
        .version = version,
        .name = "counter_add",
        .fields = version > 1 ? "{ int64_t weight, amount; char name[16]; }" : fake.message_fields,
        .size = fake.message_size,
        .has_tail = fake.message_tail,
    };
}

int odeon_message_find(struct odeon_client *client, const char *name, uint32_t version,
                       struct odeon_message_info **ret)
{
    (void)client;
    if (strcmp(name, "counter_add") != 0 || version > 1 + fake.newer)
        return -ENOENT;
    *ret = fake_alloc(sizeof(**ret));
    **ret = fake_message(version ? version : 1 + fake.newer);
    return 0;
}

int odeon_message_show(struct odeon_client *client, uint32_t id, struct odeon_message_info **ret)
{
    (void)client;
    fake.n_shown++;
    if (fake.show_message_result < 0)
        return fake.show_message_result;
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

static void fake_detail(struct odeon_message_detail *d, uint32_t version)
{
    static const char *plugins[] = { "counter" };

    *d = (struct odeon_message_detail){ .struct_size = sizeof(*d),
                                        .message = fake_message(version),
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
    *ret = fake_list(1 + fake.newer, sizeof(struct odeon_message_detail));
    for (uint32_t i = 0; i <= fake.newer; i++)
        fake_detail((struct odeon_message_detail *)(*ret)->rows + i, i + 1);
    return 0;
}

int odeon_message_detail(struct odeon_client *client, const char *name, uint32_t version,
                         struct odeon_message_detail **ret)
{
    static const char *types[] = { "counter" }, *others[] = { "abacus", "till" };

    (void)client;
    if (strcmp(name, "counter_add") != 0 || version > 1 + fake.newer)
        return -ENOENT;
    if (version == 0)
        version = 1 + fake.newer;
    *ret = fake_alloc(sizeof(**ret));
    fake_detail(*ret, version);
    (*ret)->n_accepted_by = version > 1 ? 2 : 1;
    (*ret)->accepted_by = version > 1 ? others : types;
    return 0;
}
