/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl client: who is connected, this run of odeonctl included. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

static int client_fetch(struct odeon_client *client, const char *filter, uint64_t after, uint32_t rows,
                        struct odeon_list **ret)
{
    (void)filter;
    return odeon_admin_client_list(client, after, rows, ret);
}

static void client_add(struct listing *listing, const void *row)
{
    const struct odeon_client_info *c = row;
    char since[OUTPUT_DURATION_TEXT];

    listing_add(listing, (struct cell[]){ CELL_NUMBER(c->id), CELL_TEXT(c->name), CELL_NUMBER(c->pid),
                                          CELL_NUMBER(c->uid), CELL_NUMBER(c->ports), CELL_NUMBER(c->broken_ports),
                                          CELL_SHOWN(c->connected_ns, output_format_duration(c->connected_ns, since)),
                                          CELL_TEXT(c->library) });
}

int ctl_client_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "ID", "id", true },
        { "NAME", "name", false },
        { "PROCESS", "pid", true },
        { "USER", "uid", true },
        { "PORTS", "ports", true },
        { "BROKEN PORTS", "broken_ports", true },
        { "FOR", "connected_ns", true },
        { "LIBRARY", "library", false },
    };
    static const struct listing_source source = { .what = "cannot list the clients",
                                                  .fetch = client_fetch,
                                                  .row_size = sizeof(struct odeon_client_info),
                                                  .add = client_add };

    return listing_fetch(ctl, "clients", columns, 8, &source);
}
