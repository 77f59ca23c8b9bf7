/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/ctl/trace/trace_client.h"

#include "client-lib/ctl/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What one look has found. */
struct trace_client_found {
    struct trace_client *client;
    uint64_t id;      /* 0: it was called by a name */
    size_t n, untold; /* clients; those that have ports of which nothing is told */
};

bool trace_client_wants(const struct trace_client *client, odeon_ref from)
{
    bool is = !client->who;

    for (size_t i = 0; i < client->n && !is; i++)
        is = client->ports[i] == from;
    return is;
}

void trace_client_free(struct trace_client *client)
{
    free(client->ports);
    client->ports = NULL;
    client->n = 0;
}

static int trace_client_add(struct ctl *ctl, struct trace_client *client,
                            const struct odeon_client_detail *detail)
{
    odeon_ref *ports = realloc(client->ports, (client->n + detail->n_ports + 1) * sizeof(*ports));

    if (!ports)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot note the client's ports: no memory. Free memory and try again");
    client->ports = ports;
    for (size_t i = 0; i < detail->n_ports; i++)
        if (!trace_client_wants(client, detail->ports[i].ref))
            client->ports[client->n++] = detail->ports[i].ref;
    return 0;
}

/* Who has gone since it was listed has no ports any more. */
static int trace_client_show(struct ctl *ctl, struct trace_client_found *found, uint64_t id)
{
    struct odeon_client_detail *detail = NULL;
    int r = odeon_client_show(ctl->client, id, &detail), code;

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot see whose ports are whose");
    found->untold += detail->client.ports > 0 && detail->n_ports == 0;
    code = trace_client_add(ctl, found->client, detail);
    odeon_result_free(detail);
    return code;
}

static int trace_client_page(struct ctl *ctl, void *userdata, const struct odeon_list *list)
{
    const struct odeon_client_info *rows = list->rows;
    struct trace_client_found *found = userdata;
    int code = 0;

    for (size_t i = 0; i < list->n && !code; i++) {
        if (found->id ? rows[i].id != found->id : strcmp(rows[i].name, found->client->who) != 0)
            continue;
        found->n++;
        code = trace_client_show(ctl, found, rows[i].id);
    }
    return code;
}

static int trace_client_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                              uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_client_list(client, after, rows, ret);
}

int trace_client_look(struct ctl *ctl, struct trace_client *client, bool first)
{
    static const struct listing_source source = { .what = "cannot list the clients",
                                                  .fetch = trace_client_fetch,
                                                  .row_size = sizeof(struct odeon_client_info) };
    struct trace_client_found found = { .client = client };
    int code;

    if (!client->who)
        return 0;
    if (!ctl_number_parse(client->who, &found.id))
        found.id = 0;
    code = listing_walk(ctl, &source, 0, trace_client_page, &found);
    if (!code && first && found.n == 0)
        code = ctl_fail(ctl, CTL_REFUSED, "--client: no client is '%s'. See odeonctl client list",
                        client->who);
    if (!code && first && found.untold == found.n)
        code = ctl_fail(ctl, CTL_REFUSED,
                        "--client: which ports '%s' has is not told now: they are closing, or no "
                        "executor runs. See odeonctl status, and try again",
                        client->who);
    return code;
}
