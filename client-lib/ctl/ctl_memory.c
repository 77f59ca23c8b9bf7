/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl mem: what memory is for, and who holds it. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <inttypes.h>
#include <string.h>

/* ---- JSON */

static void memory_json_parts(struct json *json, const struct odeon_memory *m)
{
    json_begin_array(json, "parts");
    for (size_t i = 0; i < m->n_parts; i++) {
        json_begin_object(json, NULL);
        json_string(json, "what", m->parts[i].what);
        json_uint(json, "bytes", m->parts[i].bytes);
        json_bool(json, "of_clients", m->parts[i].of_clients != 0);
        json_bool(json, "within", m->parts[i].within != 0);
        json_end_object(json);
    }
    json_end_array(json);
}

static void memory_json_holders(struct json *json, const struct odeon_memory *m, const char *by)
{
    json_begin_array(json, "holders");
    for (size_t i = 0; i < m->n_holders; i++) {
        const struct odeon_memory_holder *h = &m->holders[i];

        json_begin_object(json, NULL);
        json_uint(json, "uid", h->uid);
        if (strcmp(by, "user") != 0)
            json_uint(json, "client", h->client);
        if (strcmp(by, "client") == 0)
            json_string(json, "name", h->name);
        if (strcmp(by, "port") == 0)
            json_uint(json, "port", h->port);
        if (strcmp(by, "user") == 0)
            json_uint(json, "clients", h->clients);
        json_uint(json, "ports", h->ports);
        json_uint(json, "rings", h->rings);
        json_uint(json, "backlogs", h->backlogs);
        json_uint(json, "answers", h->answers);
        if (strcmp(by, "user") == 0)
            json_uint(json, "waiting", h->waiting);
        json_end_object(json);
    }
    json_end_array(json);
}

static void memory_print_json(struct ctl *ctl, const struct odeon_memory *m, const char *by)
{
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "memory");
    json_uint(&json, "bytes", m->bytes);
    json_uint(&json, "shared", m->shared);
    if (m->limit)
        json_uint(&json, "limit", m->limit);
    else
        json_null(&json, "limit");
    json_bool(&json, "executor_silent", m->executor_silent != 0);
    memory_json_parts(&json, m);
    json_string(&json, "by", by);
    memory_json_holders(&json, m, by);
    json_uint(&json, "others", m->others);
    json_uint(&json, "others_bytes", m->others_bytes);
    json_end_object(&json);
    json_end_document(&json);
}

/* ---- tables */

static int memory_print_parts(struct ctl *ctl, const struct odeon_memory *m)
{
    static const struct column columns[] = { { "WHAT", "what", false },
                                             { "MEMORY", "bytes", true } };
    char bytes[OUTPUT_BYTES_TEXT], limit[OUTPUT_BYTES_TEXT], name[80];
    struct listing list;

    if (ctl->legend && m->limit)
        fprintf(ctl->out, "The service has %s of %s that it may use.\n\n",
                output_format_bytes(m->bytes, bytes), output_format_bytes(m->limit, limit));
    listing_begin(&list, ctl, "parts", columns, 2);
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct odeon_memory_part *part = &m->parts[i];

        snprintf(name, sizeof(name), "%s%s%s", part->within ? "  of which " : "", part->what,
                 part->of_clients ? " (clients' as well, not in the sum)" : "");
        listing_add(&list, (struct cell[]){
                               CELL_TEXT(name),
                               CELL_SHOWN(part->bytes, output_format_bytes(part->bytes, bytes)) });
    }
    listing_add(&list,
                (struct cell[]){ CELL_TEXT("together"),
                                 CELL_SHOWN(m->bytes, output_format_bytes(m->bytes, bytes)) });
    return listing_end(&list, false, 0);
}

/* What a holder is called, by what it is. */
static struct cell memory_name_holder(const struct odeon_memory_holder *h, const char *by,
                                      char text[static 96])
{
    if (strcmp(by, "port") == 0)
        return CELL_NUMBER(h->port);
    if (strcmp(by, "user") == 0)
        return CELL_NUMBER(h->uid);
    snprintf(text, 96, "%" PRIu64 "%s%s", h->client, *h->name ? " " : "", h->name);
    return CELL_TEXT(text);
}

static int memory_print_holders(struct ctl *ctl, const struct odeon_memory *m, const char *by)
{
    bool of_users = strcmp(by, "user") == 0;
    const struct column columns[] = {
        { of_users                  ? "USER"
          : strcmp(by, "port") == 0 ? "PORT"
                                    : "CLIENT",
          by, false },
        { of_users ? "CLIENTS" : "OF USER", of_users ? "clients" : "uid", true },
        { "PORTS", "ports", true },
        { "RINGS", "rings", true },
        { "BACKLOGS", "backlogs", true },
        { "ANSWERS", "answers", true },
        { "WAITING", "waiting", true },
    };
    char texts[4][OUTPUT_BYTES_TEXT], name[96];
    struct listing list;

    if (ctl->legend)
        fputc('\n', ctl->out);
    /* by client and by port nobody knows what waits for them */
    listing_begin(&list, ctl, "holders", columns, of_users ? 7 : 6);
    for (size_t i = 0; i < m->n_holders; i++) {
        const struct odeon_memory_holder *h = &m->holders[i];

        listing_add(&list, (struct cell[]){
                               memory_name_holder(h, by, name),
                               CELL_NUMBER(of_users ? h->clients : h->uid), CELL_NUMBER(h->ports),
                               CELL_SHOWN(h->rings, output_format_bytes(h->rings, texts[0])),
                               CELL_SHOWN(h->backlogs, output_format_bytes(h->backlogs, texts[1])),
                               CELL_SHOWN(h->answers, output_format_bytes(h->answers, texts[2])),
                               CELL_SHOWN(h->waiting, output_format_bytes(h->waiting, texts[3])) });
    }
    return listing_end(&list, false, 0);
}

static void memory_print_rest(struct ctl *ctl, const struct odeon_memory *m)
{
    char bytes[OUTPUT_BYTES_TEXT];

    if (m->others && ctl->legend)
        fprintf(ctl->out, "%u more have %s together.\n", m->others,
                output_format_bytes(m->others_bytes, bytes));
    if (m->executor_silent && ctl->legend)
        fputs("The executor did not answer: what only it knows is missing.\n", ctl->out);
}

int ctl_memory_show(struct ctl *ctl)
{
    const char *by = ctl->option[OPTION_BY] ? ctl->option[OPTION_BY] : "user";
    struct odeon_memory *m = NULL;
    int r, code;

    if (strcmp(by, "user") != 0 && strcmp(by, "client") != 0 && strcmp(by, "port") != 0)
        return ctl_fail(ctl, CTL_USAGE, "--by: '%s' holds no memory. Write user, client or port",
                        by);
    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_memory_show(ctl->client, by, &m);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot show the memory");
    if (ctl->json) {
        memory_print_json(ctl, m, by);
    } else {
        code = memory_print_parts(ctl, m);
        if (!code)
            code = memory_print_holders(ctl, m, by);
        memory_print_rest(ctl, m);
    }
    odeon_result_free(m);
    return code;
}
