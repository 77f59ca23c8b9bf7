/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl client: who is connected, this run of odeonctl included. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

static int client_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                        uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_client_list(client, after, rows, ret);
}

static void client_add(struct listing *listing, const void *row)
{
    const struct odeon_client_info *c = row;
    char since[OUTPUT_DURATION_TEXT];

    listing_add(listing,
                (struct cell[]){
                    CELL_NUMBER(c->id), CELL_TEXT(c->name), CELL_NUMBER(c->pid),
                    CELL_NUMBER(c->uid), CELL_NUMBER(c->ports), CELL_NUMBER(c->broken_ports),
                    CELL_SHOWN(c->connected_ns, output_format_duration(c->connected_ns, since)),
                    CELL_TEXT(c->library), CELL_TEXT(c->roles), CELL_TEXT(c->command) });
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
        { "ROLES", "roles", false },
        { "COMMAND", "command", false },
    };
    static const struct listing_source source = { .what = "cannot list the clients",
                                                  .fetch = client_fetch,
                                                  .row_size = sizeof(struct odeon_client_info),
                                                  .add = client_add };

    return listing_fetch(ctl, "clients", columns, 10, &source);
}

static int ctl_client_parse_id(struct ctl *ctl, uint64_t *ret_id)
{
    const char *text = ctl->words[0];
    unsigned long id;
    char *end;

    errno = 0;
    id = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || id == 0)
        return ctl_fail(ctl, CTL_USAGE, "'%s' is no client's number. See odeonctl client list",
                        text);
    *ret_id = id;
    return 0;
}

static int client_get(struct ctl *ctl, struct odeon_client_detail **ret)
{
    uint64_t id = 0;
    int r, code = ctl_client_parse_id(ctl, &id);

    if (!code)
        code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_client_show(ctl->client, id, ret);
    return r < 0 ? ctl_refuse(ctl, r, "cannot show the client") : 0;
}

static void ctl_client_print_json_ports(struct json *json, const struct odeon_client_detail *d)
{
    json_begin_array(json, "ports");
    for (size_t i = 0; i < d->n_ports; i++) {
        const struct odeon_port_info *p = &d->ports[i];
        char ref[ODEON_REF_TEXT];

        odeon_ref_format(p->ref, ref);
        json_begin_object(json, NULL);
        json_uint(json, "id", p->id);
        json_string(json, "ref", ref);
        json_uint(json, "posts", p->posts);
        json_uint(json, "not_taken_bytes", p->not_taken);
        json_uint(json, "delivered_bytes", p->delivered);
        json_uint(json, "not_received_bytes", p->not_received);
        json_uint(json, "backlog_bytes", p->backlog);
        json_uint(json, "dropped", p->dropped);
        if (d->client.traffic.known)
            json_uint(json, "refused", p->refused);
        json_string(json, "waits_for", p->waits_for);
        json_end_object(json);
    }
    json_end_array(json);
}

static void ctl_client_print_json(struct ctl *ctl, const struct odeon_client_detail *d)
{
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "client");
    json_uint(&json, "id", d->client.id);
    json_string(&json, "name", d->client.name);
    json_uint(&json, "pid", d->client.pid);
    json_string(&json, "command", d->client.command);
    json_uint(&json, "uid", d->client.uid);
    json_string(&json, "roles", d->client.roles);
    json_bool(&json, "bound", d->bound != 0);
    json_uint(&json, "refusals", d->refusals);
    json_begin_array(&json, "quotas");
    for (size_t i = 0; i < d->n_usage; i++) {
        const struct odeon_usage *u = &d->usage[i];

        json_begin_object(&json, NULL);
        json_string(&json, "name", u->name);
        if (u->client_known)
            json_uint(&json, "client", u->client);
        if (u->user_known)
            json_uint(&json, "user", u->user);
        if (!u->unlimited)
            json_uint(&json, "limit", u->limit);
        json_bool(&json, "per_second", u->per_second != 0);
        json_end_object(&json);
    }
    json_end_array(&json);
    ctl_client_print_json_ports(&json, d);
    json_end_object(&json);
    json_end_document(&json);
}

static void ctl_client_print_heading(struct ctl *ctl, const struct odeon_client_detail *d)
{
    const struct odeon_client_info *c = &d->client;

    fprintf(ctl->out, "Client %" PRIu64 "%s%s: process %u%s%s, user %u, roles: %s\n", c->id,
            *c->name ? ", " : "", c->name, c->pid, *c->command ? ", " : "", c->command, c->uid,
            c->roles);
    fprintf(ctl->out, "Quotas are %s for this user; refused so far: %llu\n\n",
            d->bound ? "enforced" : "not enforced", (unsigned long long)d->refusals);
}

static int ctl_client_print_quotas(struct ctl *ctl, const struct odeon_client_detail *d)
{
    static const struct column columns[] = { { "QUOTA", "name", false },
                                             { "CLIENT", "client", true },
                                             { "USER", "user", true },
                                             { "LIMIT", "limit", true } };
    struct listing list;

    listing_begin(&list, ctl, "quotas", columns, 4);
    for (size_t i = 0; i < d->n_usage; i++) {
        const struct odeon_usage *u = &d->usage[i];
        char limit[40];

        snprintf(limit, sizeof(limit), "%llu%s", (unsigned long long)u->limit,
                 u->per_second ? "/s" : "");
        listing_add(&list,
                    (struct cell[]){ CELL_TEXT(u->name),
                                     u->client_known ? CELL_NUMBER(u->client) : CELL_NONE,
                                     u->user_known ? CELL_NUMBER(u->user) : CELL_NONE,
                                     u->unlimited ? CELL_NONE : CELL_SHOWN(u->limit, limit) });
    }
    return listing_end(&list, false, 0);
}

static int ctl_client_print_ports(struct ctl *ctl, const struct odeon_client_detail *d)
{
    static const struct column columns[] = {
        { "PORT", "id", true },         { "REF", "ref", false },
        { "POSTS", "posts", true },     { "NOT TAKEN", "", true },
        { "DELIVERED", "", true },      { "NOT RECEIVED", "", true },
        { "BACKLOG", "", true },        { "DROPPED", "dropped", true },
        { "REFUSED", "refused", true }, { "WAITS FOR", "waits_for", false },
    };
    struct listing list;

    listing_begin(&list, ctl, "ports", columns, 10);
    for (size_t i = 0; i < d->n_ports; i++) {
        const struct odeon_port_info *p = &d->ports[i];
        char not_taken[OUTPUT_BYTES_TEXT], delivered[OUTPUT_BYTES_TEXT],
            not_received[OUTPUT_BYTES_TEXT], backlog[OUTPUT_BYTES_TEXT], ref[ODEON_REF_TEXT];

        odeon_ref_format(p->ref, ref);
        listing_add(
            &list,
            (struct cell[]){
                CELL_NUMBER(p->id), CELL_TEXT(ref), CELL_NUMBER(p->posts),
                CELL_SHOWN(p->not_taken, output_format_bytes(p->not_taken, not_taken)),
                CELL_SHOWN(p->delivered, output_format_bytes(p->delivered, delivered)),
                CELL_SHOWN(p->not_received, output_format_bytes(p->not_received, not_received)),
                CELL_SHOWN(p->backlog, output_format_bytes(p->backlog, backlog)),
                CELL_NUMBER(p->dropped),
                d->client.traffic.known ? CELL_NUMBER(p->refused) : CELL_NONE,
                CELL_TEXT(p->waits_for) });
    }
    return listing_end(&list, false, 0);
}

/* An older service tells nothing of ports, and neither does one without an executor. */
int ctl_client_show(struct ctl *ctl)
{
    struct odeon_client_detail *d = NULL;
    int code = client_get(ctl, &d);

    if (code)
        return code;
    if (ctl->json) {
        ctl_client_print_json(ctl, d);
        odeon_result_free(d);
        return 0;
    }
    if (ctl->legend)
        ctl_client_print_heading(ctl, d);
    code = ctl_client_print_quotas(ctl, d);
    if (!code && d->n_ports > 0) {
        fputc('\n', ctl->out);
        code = ctl_client_print_ports(ctl, d);
    }
    odeon_result_free(d);
    return code;
}

int ctl_client_kick(struct ctl *ctl)
{
    uint64_t id = 0;
    struct json json;
    int r, code = ctl_client_parse_id(ctl, &id);

    if (!code)
        code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_client_kick(ctl->client, id);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot end the client's connection");
    if (ctl->json) {
        json_begin_document(&json, ctl->out);
        json_uint(&json, "kicked", id);
        json_end_document(&json);
    }
    return CTL_DONE;
}
