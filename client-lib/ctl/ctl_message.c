/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl message: the message types that the service knows, their fields, and who has to do with
 * them. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_TYPE_TEXT = 32 };

static int message_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                         uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_message_list(client, after, rows, ret);
}

static struct cell message_user(const struct odeon_message_detail *d)
{
    return d->by_user ? CELL_NUMBER(d->user) : CELL_NONE;
}

static void message_add(struct listing *listing, const void *row)
{
    const struct odeon_message_detail *d = row;

    listing_add(listing,
                (struct cell[]){ CELL_TEXT(d->message.name), CELL_NUMBER(d->message.version),
                                 CELL_NUMBER(d->message.size), CELL_FLAG(d->message.has_tail != 0),
                                 CELL_NUMBER(d->accepting), CELL_LIST(d->plugins, d->n_plugins),
                                 message_user(d) });
}

int ctl_message_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "NAME", "name", false },
        { "VERSION", "version", true },
        { "BYTES", "bytes", true },
        { "TAIL", "tail", false },
        { "ACCEPTED BY", "accepting", true },
        { "PLUGINS", "plugins", false },
        { "USER", "user", true },
    };
    static const struct listing_source source = { .what = "cannot list the message types",
                                                  .fetch = message_fetch,
                                                  .row_size = sizeof(struct odeon_message_detail),
                                                  .add = message_add };

    return listing_fetch(ctl, "messages", columns, 7, &source);
}

/* As its author would write it. */
static const char *message_field_type(const struct odeon_field *f, char text[MESSAGE_TYPE_TEXT])
{
    char name[16];

    switch (f->kind) {
    case ODEON_FIELD_SIGNED:
    case ODEON_FIELD_UNSIGNED:
        snprintf(name, sizeof(name), "%sint%u_t", f->kind == ODEON_FIELD_UNSIGNED ? "u" : "",
                 f->size * 8);
        break;
    case ODEON_FIELD_FLOAT:
        strcpy(name, f->size == sizeof(float) ? "float" : "double");
        break;
    case ODEON_FIELD_BOOL:
        strcpy(name, "bool");
        break;
    case ODEON_FIELD_CHAR:
        strcpy(name, "char");
        break;
    default:
        strcpy(name, "odeon_ref");
        break;
    }
    if (f->is_array && f->count > 0)
        snprintf(text, MESSAGE_TYPE_TEXT, "%s[%u]", name, f->count);
    else
        snprintf(text, MESSAGE_TYPE_TEXT, "%s%s", name, f->is_array ? "[]" : "");
    return text;
}

/* Where the fields lie; NULL, with the library's text: nobody can tell. */
static struct odeon_layout *message_lay_out(const struct odeon_message_info *m)
{
    struct odeon_layout *layout = NULL;

    if (odeon_layout_parse(m->fields, &layout) < 0 ||
        odeon_layout_check(layout, m->size, m->has_tail) < 0)
        layout = odeon_layout_free(layout);
    return layout;
}

static void message_print_json_fields(struct json *json, const struct odeon_layout *layout)
{
    struct odeon_field f = { .struct_size = sizeof(f) };

    if (!layout) {
        json_null(json, "fields");
        return;
    }
    json_begin_array(json, "fields");
    for (size_t i = 0; odeon_layout_field(layout, i, &f) == 0; i++) {
        char type[MESSAGE_TYPE_TEXT];

        json_begin_object(json, NULL);
        json_string(json, "name", f.name);
        json_string(json, "type", message_field_type(&f, type));
        json_uint(json, "offset", f.offset);
        if (f.count > 0)
            json_uint(json, "bytes", (uint64_t)f.count * f.size);
        else
            json_null(json, "bytes");
        json_end_object(json);
    }
    json_end_array(json);
}

static void message_print_json(struct ctl *ctl, const struct odeon_message_detail *d,
                               const struct odeon_layout *layout)
{
    const struct cell plugins = CELL_LIST(d->plugins, d->n_plugins), user = message_user(d),
                      accepted_by = CELL_LIST(d->accepted_by, d->n_accepted_by);
    struct json json;

    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "message");
    json_string(&json, "name", d->message.name);
    json_uint(&json, "version", d->message.version);
    json_uint(&json, "bytes", d->message.size);
    json_bool(&json, "tail", d->message.has_tail != 0);
    output_json_cell(&json, "plugins", &plugins);
    output_json_cell(&json, "user", &user);
    json_uint(&json, "accepting", d->accepting);
    output_json_cell(&json, "accepted_by", &accepted_by);
    json_string(&json, "declaration", d->message.fields);
    message_print_json_fields(&json, layout);
    json_end_object(&json);
    json_end_document(&json);
}

static int message_print_properties(struct ctl *ctl, const struct odeon_message_detail *d,
                                    bool is_laid_out)
{
    struct properties p;
    char more[32];

    properties_begin(&p, ctl, "message");
    properties_add(&p, "Message", "name", CELL_TEXT(d->message.name));
    properties_add(&p, "Version", "version", CELL_NUMBER(d->message.version));
    properties_add(&p, "Bytes", "bytes", CELL_NUMBER(d->message.size));
    properties_add(&p, "Tail", "tail", CELL_FLAG(d->message.has_tail != 0));
    properties_add(&p, "Declared by plugins", "plugins", CELL_LIST(d->plugins, d->n_plugins));
    properties_add(&p, "Made known by user", "user", message_user(d));
    properties_add(&p, "Accepted by types", "accepted_by",
                   CELL_LIST(d->accepted_by, d->n_accepted_by));
    if (d->accepting > d->n_accepted_by) {
        snprintf(more, sizeof(more), "%zu more", d->accepting - d->n_accepted_by);
        properties_add(&p, "", "accepting", CELL_TEXT(more));
    }
    if (!is_laid_out) {
        properties_add(&p, "Declaration", "declaration", CELL_TEXT(d->message.fields));
        properties_add(&p, "Not laid out", "why", CELL_TEXT(odeon_error_text()));
    }
    return properties_end(&p);
}

static int message_print_fields(struct ctl *ctl, const struct odeon_layout *layout)
{
    static const struct column columns[] = { { "FIELD", "name", false },
                                             { "TYPE", "type", false },
                                             { "OFFSET", "offset", true },
                                             { "BYTES", "bytes", true } };
    struct odeon_field f = { .struct_size = sizeof(f) };
    struct listing list;

    if (ctl->legend)
        fputc('\n', ctl->out);
    listing_begin(&list, ctl, "fields", columns, 4);
    for (size_t i = 0; odeon_layout_field(layout, i, &f) == 0; i++) {
        char type[MESSAGE_TYPE_TEXT];

        listing_add(&list, (struct cell[]){
                               CELL_TEXT(f.name), CELL_TEXT(message_field_type(&f, type)),
                               CELL_NUMBER(f.offset),
                               f.count > 0 ? CELL_NUMBER((uint64_t)f.count * f.size) : CELL_NONE });
    }
    return listing_end(&list, false, 0);
}

static int message_parse_version(struct ctl *ctl, uint32_t *ret_version)
{
    uint64_t version;

    *ret_version = 0;
    if (ctl->n_words < 2)
        return 0;
    if (!ctl_number_parse(ctl->words[1], &version) || version == 0 || version > UINT32_MAX)
        return ctl_fail(ctl, CTL_USAGE,
                        "'%s' is no version of a message. See odeonctl message list",
                        ctl->words[1]);
    *ret_version = (uint32_t)version;
    return 0;
}

/* ctl_nearest_fn */
static char *message_nearest(struct ctl *ctl, const char *name)
{
    struct odeon_list *list = NULL;
    struct suggestion near;
    char *best = NULL;

    if (odeon_message_list(ctl->client, 0, 0, &list) < 0)
        return NULL;
    suggestion_init(&near, name);
    for (size_t i = 0; i < list->n; i++)
        suggestion_offer(&near, ((const struct odeon_message_detail *)list->rows)[i].message.name);
    if (near.best && strcmp(near.best, name) != 0)
        best = strdup(near.best);
    odeon_list_free(list);
    return best;
}

static int message_refuse(struct ctl *ctl, int error, const char *name)
{
    char *what = NULL;
    int code;

    if (asprintf(&what, "cannot show the message '%s'", name) < 0)
        what = NULL;
    code = ctl_refuse_unknown(ctl, error, what ? what : "cannot show the message", "message type",
                              name, message_nearest);
    free(what);
    return code;
}

int ctl_message_show(struct ctl *ctl)
{
    struct odeon_message_detail *d = NULL;
    struct odeon_layout *layout;
    uint32_t version;
    int r, code = message_parse_version(ctl, &version);

    if (!code)
        code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_message_detail(ctl->client, ctl->words[0], version, &d);
    if (r < 0)
        return message_refuse(ctl, r, ctl->words[0]);
    layout = message_lay_out(&d->message);
    if (ctl->json) {
        message_print_json(ctl, d, layout);
    } else {
        code = message_print_properties(ctl, d, layout != NULL);
        if (!code && odeon_layout_n(layout) > 0)
            code = message_print_fields(ctl, layout);
    }
    odeon_layout_free(layout);
    odeon_result_free(d);
    return code;
}
