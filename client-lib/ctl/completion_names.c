/* SPDX-License-Identifier: Apache-2.0 */
/* What the service has that can be written as an argument: for completion, a name a line.
 *
 * Whoever completes is at a prompt: it is silent when the service does not answer, and gives at
 * most NAMES_MOST. */
#include "client-lib/ctl/completion_names.h"

#include <inttypes.h>
#include <string.h>

enum { NAMES_MOST = 500 };

/* Names that a line cannot hold, or that a terminal would act on, are not offered. */
static void completion_names_put(struct ctl *ctl, const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c <= 0x20 || *c == 0x7f)
            return;
    if (*name)
        fprintf(ctl->out, "%s\n", name);
}

static void completion_names_put_actor(struct ctl *ctl, const void *row)
{
    completion_names_put(ctl, ((const struct odeon_actor_info *)row)->name);
}
static void completion_names_put_type(struct ctl *ctl, const void *row)
{
    completion_names_put(ctl, ((const struct odeon_type_info *)row)->name);
}
static void completion_names_put_plugin(struct ctl *ctl, const void *row)
{
    completion_names_put(ctl, ((const struct odeon_plugin_info *)row)->name);
}
static void completion_names_put_message(struct ctl *ctl, const void *row)
{
    completion_names_put(ctl, ((const struct odeon_message_detail *)row)->message.name);
}
static void completion_names_put_group(struct ctl *ctl, const void *row)
{
    completion_names_put(ctl, ((const struct odeon_group_info *)row)->name);
}
static void completion_names_put_client(struct ctl *ctl, const void *row)
{
    fprintf(ctl->out, "%" PRIu64 "\n", ((const struct odeon_client_info *)row)->id);
}

static int completion_names_fetch_actors(struct odeon_client *client, uint64_t after, uint32_t rows,
                                         struct odeon_list **ret)
{
    return odeon_actor_list(client, NULL, after, rows, ret);
}

static const struct completion_names {
    const char *kind;
    int (*fetch)(struct odeon_client *client, uint64_t after, uint32_t rows,
                 struct odeon_list **ret);
    void (*put)(struct ctl *ctl, const void *row);
    size_t row_size;
} completion_names_kinds[] = {
    { "actors", completion_names_fetch_actors, completion_names_put_actor,
      sizeof(struct odeon_actor_info) },
    { "types", odeon_type_list, completion_names_put_type, sizeof(struct odeon_type_info) },
    { "plugins", odeon_plugin_list, completion_names_put_plugin, sizeof(struct odeon_plugin_info) },
    { "messages", odeon_message_list, completion_names_put_message,
      sizeof(struct odeon_message_detail) },
    { "groups", odeon_group_list, completion_names_put_group, sizeof(struct odeon_group_info) },
    { "clients", odeon_client_list, completion_names_put_client, sizeof(struct odeon_client_info) },
};

static void completion_names_walk(struct ctl *ctl, const struct completion_names *of)
{
    uint64_t after = 0;
    size_t n = 0;
    bool more = true;

    while (more && n < NAMES_MOST) {
        struct odeon_list *list = NULL;

        if (of->fetch(ctl->client, after, 0, &list) < 0)
            return;
        for (size_t i = 0; i < list->n; i++)
            of->put(ctl, (const char *)list->rows + i * of->row_size);
        n += list->n;
        more = list->more && list->next > after; /* a page may be empty */
        after = list->next;
        odeon_list_free(list);
    }
}

/* Errors are nothing that a prompt has a place for. */
static bool completion_names_connect(struct ctl *ctl)
{
    FILE *err = ctl->err, *nowhere = fopen("/dev/null", "we");
    int code = 1;

    if (nowhere) {
        ctl->err = nowhere;
        code = ctl_connect(ctl);
        ctl->err = err;
        fclose(nowhere);
    }
    return code == 0;
}

int completion_names_print(struct ctl *ctl, const char *kind)
{
    for (size_t i = 0; i < sizeof(completion_names_kinds) / sizeof(completion_names_kinds[0]); i++)
        if (!strcmp(kind, completion_names_kinds[i].kind)) {
            if (completion_names_connect(ctl))
                completion_names_walk(ctl, &completion_names_kinds[i]);
            return CTL_DONE;
        }
    return ctl_fail(ctl, CTL_USAGE,
                    "completion: there are no names of '%s'. Write actors, types, plugins, "
                    "messages, groups or clients",
                    kind);
}
