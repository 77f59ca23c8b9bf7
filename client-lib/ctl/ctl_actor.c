/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl actor: listing, making, sending to and ending actors. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ACTOR_ARGS_MAX = 232 }; /* as odeon_actor_spawn() says */

/* A number that may be missing: the service says UINT32_MAX then. */
static struct cell actor_number(uint32_t number)
{
    return number == UINT32_MAX ? CELL_NONE : CELL_NUMBER(number);
}

static void actor_add(struct listing *listing, const void *row)
{
    const struct odeon_actor_info *a = row;

    listing_add(listing, (struct cell[]){ CELL_REF(a->ref), CELL_TEXT(a->type), CELL_TEXT(a->name),
                                          CELL_TEXT(a->state), actor_number(a->queue),
                                          actor_number(a->worker), CELL_REF(a->spawned_by),
                                          CELL_TEXT(a->kind) });
}

/* The name of a type that is near, to be freed; NULL: there is none, or the very type is known. */
static char *actor_nearest_type(struct ctl *ctl, const char *name)
{
    struct odeon_list *list = NULL;
    struct suggestion near;
    char *best = NULL;

    if (odeon_type_list(ctl->client, 0, 0, &list) < 0)
        return NULL;
    suggestion_init(&near, name);
    for (size_t i = 0; i < list->n; i++)
        suggestion_offer(&near, ((const struct odeon_type_info *)list->rows)[i].name);
    if (near.best && strcmp(near.best, name) != 0)
        best = strdup(near.best);
    odeon_list_free(list);
    return best;
}

static int actor_fail_gone(struct ctl *ctl, const char *what, const char *which)
{
    return ctl_fail(
        ctl, CTL_REFUSED,
        "cannot %s %s: there is no such actor, it has ended or never was. See odeonctl actor list",
        what, which);
}

/* What went wrong with the one actor that a command is about. */
static int actor_fail(struct ctl *ctl, int error, const char *what, const char *which)
{
    if (error == -ESRCH)
        return actor_fail_gone(ctl, what, which);
    return ctl_refuse(ctl, error, "cannot %s %s", what, which);
}

int ctl_actor_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "REF", "ref", true },
        { "TYPE", "type", false },
        { "NAME", "name", false },
        { "STATE", "state", false },
        { "QUEUE", "queue", true },
        { "WORKER", "worker", true },
        { "SPAWNED BY", "spawned_by", true },
        { "KIND", "kind", false },
    };
    struct listing_source source = { .what = "cannot list the actors",
                                     .fetch = odeon_actor_list,
                                     .filter = ctl->option[OPTION_TYPE],
                                     .row_size = sizeof(struct odeon_actor_info),
                                     .add = actor_add };

    return listing_fetch(ctl, "actors", columns, 8, &source);
}

int ctl_actor_show(struct ctl *ctl)
{
    const char *which = ctl->words[0];
    struct odeon_actor_detail *d = NULL;
    odeon_ref ref = ODEON_NOBODY;
    struct properties p;
    bool by_ref;
    int r, code;

    code = ctl_connect(ctl);
    if (code)
        return code;
    by_ref = odeon_ref_parse(which, &ref) == 0;
    r = odeon_actor_show(ctl->client, ref, by_ref ? NULL : which, &d);
    if (r == -ENOENT && !by_ref)
        return ctl_fail(ctl, CTL_REFUSED,
                        "%s: no actor has this name. See odeonctl actor list; a reference is "
                        "written EXECUTOR.SLOT.GENERATION",
                        which);
    if (r == -ENOENT)
        return actor_fail_gone(ctl, "show", which);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot show %s", which);

    properties_begin(&p, ctl, "actor");
    properties_add(&p, "Reference", "ref", CELL_REF(d->actor.ref));
    properties_add(&p, "Type", "type", CELL_TEXT(d->actor.type));
    properties_add(&p, "Name", "name", CELL_TEXT(d->actor.name));
    properties_add(&p, "State", "state", CELL_TEXT(d->actor.state));
    properties_add(&p, "Queue", "queue", actor_number(d->actor.queue));
    properties_add(&p, "Kind of that queue", "kind", CELL_TEXT(d->actor.kind));
    properties_add(&p, "Bytes in that queue", "queue_bytes", CELL_NUMBER(d->queue_bytes));
    properties_add(&p, "Worker", "worker", actor_number(d->actor.worker));
    properties_add(&p, "Spawned by", "spawned_by", CELL_REF(d->actor.spawned_by));
    properties_add(&p, "State size", "state_size", CELL_NUMBER(d->state_size));
    properties_add(&p, "Accepts", "accepts", CELL_LIST(d->accepts, d->n_accepts));
    odeon_result_free(d);
    return properties_end(&p);
}

static void actor_print_ref(struct ctl *ctl, odeon_ref ref)
{
    struct json json;
    char text[ODEON_REF_TEXT];

    odeon_ref_format(ref, text);
    if (!ctl->json) {
        fprintf(ctl->out, "%s\n", text); /* alone, for scripts */
        return;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, "ref", text);
    json_end_document(&json);
}

static int actor_fail_spawn(struct ctl *ctl, int error, const char *type)
{
    char *why = strdup(odeon_error_text()), *near = NULL; /* the next call replaces the text */
    int code;

    if (error == -ENOENT)
        near = actor_nearest_type(ctl, type);
    if (near)
        code =
            ctl_fail(ctl, CTL_REFUSED,
                     "cannot make an actor: there is no type '%s'. Did you mean %s?", type, near);
    else if (error == -ENOENT)
        code = ctl_fail(ctl, CTL_REFUSED,
                        "cannot make an actor of type '%s': %s. odeonctl type list shows the types",
                        type, why && *why ? why : "there is no such type");
    else
        code = ctl_refuse(ctl, error, "cannot make an actor of type '%s'", type);
    free(near);
    free(why);
    return code;
}

/* A number of a node or a worker; 0, or the exit code, after a message. */
static int actor_parse_number(struct ctl *ctl, enum option option, const char *what,
                              uint32_t *ret_number)
{
    uint64_t number;

    if (!ctl_number_parse(ctl->option[option], &number) || number >= UINT32_MAX)
        return ctl_fail(ctl, CTL_USAGE,
                        "--%s: '%s' is not a number of a %s. odeonctl status and executor show say "
                        "which there are",
                        option_table[option].name, ctl->option[option], what);
    *ret_number = (uint32_t)number;
    return 0;
}

/* Where the new actor is to live; 0, or the exit code, after a message. */
static int actor_parse_where(struct ctl *ctl, struct odeon_spawn_where *ret)
{
    static const struct {
        enum option option;
        enum odeon_where where;
    } ways[] = { { OPTION_NODE, ODEON_WHERE_NODE },
                 { OPTION_PINNED, ODEON_WHERE_PINNED },
                 { OPTION_FOLLOW, ODEON_WHERE_FOLLOW },
                 { OPTION_DETACHED, ODEON_WHERE_DETACHED } };
    const char *given = NULL;

    *ret = (struct odeon_spawn_where){ .struct_size = sizeof(*ret), .worker = ODEON_WORKER_ANY };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (!ctl->option[ways[i].option])
            continue;
        if (given)
            return ctl_fail(ctl, CTL_USAGE,
                            "--%s and --%s: an actor lives in one place. Leave one out", given,
                            option_table[ways[i].option].name);
        given = option_table[ways[i].option].name;
        ret->where = ways[i].where;
    }
    if (ret->where == ODEON_WHERE_NODE)
        return actor_parse_number(ctl, OPTION_NODE, "memory node", &ret->node);
    if (ret->where == ODEON_WHERE_PINNED && *ctl->option[OPTION_PINNED])
        return actor_parse_number(ctl, OPTION_PINNED, "worker", &ret->worker);
    return 0;
}

int ctl_actor_spawn(struct ctl *ctl)
{
    const char *type = ctl->words[0], *name = ctl->option[OPTION_NAME];
    uint8_t args[ACTOR_ARGS_MAX];
    struct odeon_spawn_where where;
    odeon_ref ref = ODEON_NOBODY;
    size_t size = 0;
    int r, code;

    if (name && (!*name || odeon_ref_parse(name, &ref) == 0))
        return ctl_fail(ctl, CTL_USAGE, "--name: '%s' is %s. Choose another name", name,
                        *name ? "written like a reference" : "empty");
    r = odeon_payload_parse_hex(ctl->words + 1, ctl->n_words - 1, args, sizeof(args), &size);
    if (r < 0)
        return ctl_fail(ctl, CTL_USAGE, "the actor's arguments: %s", odeon_error_text());
    code = actor_parse_where(ctl, &where);
    if (!code)
        code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_actor_spawn_at(ctl->client, type, name, size ? args : NULL, size, &where, &ref);
    if (r < 0)
        return actor_fail_spawn(ctl, r, type);
    actor_print_ref(ctl, ref);
    return 0;
}

/* Names what the actor accepts, with the nearest first. */
static int actor_fail_message(struct ctl *ctl, const char *which, odeon_ref ref,
                              const char *message, const char *why)
{
    struct odeon_actor_detail *d = NULL;
    struct suggestion near;
    struct cell accepts;
    char *list = NULL;
    int code;

    if (odeon_actor_show(ctl->client, ref, NULL, &d) < 0)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot send to %s: %s '%s'. See what odeonctl actor show says it accepts",
                        which, why, message);
    suggestion_init(&near, message);
    for (size_t i = 0; i < d->n_accepts; i++)
        suggestion_offer(&near, d->accepts[i]);
    accepts = CELL_LIST(d->accepts, d->n_accepts);
    list = output_cell_text(&accepts);
    code = ctl_fail(ctl, CTL_REFUSED, "cannot send to %s: %s '%s'. %s%s%sIt accepts: %s", which,
                    why, message, near.best ? "Did you mean " : "", near.best ? near.best : "",
                    near.best ? "? " : "", list ? list : "?");
    free(list);
    odeon_result_free(d);
    return code;
}

/* A word names no field of the message: which field may be meant. NULL: none looks like it. */
static const char *actor_find_near_field(const struct odeon_layout *layout, const char *word)
{
    struct odeon_field field = { .struct_size = sizeof(field) };
    struct suggestion near;
    char name[ODEON_LAYOUT_NAME_MAX + 2];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    suggestion_init(&near, name);
    for (size_t i = 0; odeon_layout_field(layout, i, &field) == 0; i++) {
        if (strcmp(field.name, name) == 0)
            return NULL;
        suggestion_offer(&near, field.name);
    }
    return near.best;
}

/* Why the words make no payload. */
static int actor_fail_fields(struct ctl *ctl, const struct odeon_message_info *info,
                             const struct odeon_layout *layout, int error)
{
    const char *near = NULL;
    char why[1024];

    snprintf(why, sizeof(why), "%s", odeon_error_text());
    for (size_t i = 2; error == -ENOENT && !near && i < ctl->n_words; i++)
        near = actor_find_near_field(layout, ctl->words[i]);
    return ctl_fail(ctl, CTL_USAGE, "cannot write the message '%s': %s%s%s%s", info->name, why,
                    near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

/* The payload of `message` from the words after it; 0, or the exit code, after a message. */
static int actor_make_payload(struct ctl *ctl, const struct odeon_message_info *info,
                              void **ret_payload, size_t *ret_size)
{
    struct odeon_layout *layout = NULL;
    int r, code = 0;

    r = odeon_layout_parse(info->fields, &layout);
    if (!r)
        r = odeon_layout_check(layout, info->size, info->has_tail);
    if (r < 0) {
        odeon_layout_free(layout);
        return ctl_fail(ctl, CTL_REFUSED, "cannot write the message '%s': %s", info->name,
                        odeon_error_text());
    }
    r = odeon_payload_fill(layout, ctl->words + 2, ctl->n_words - 2, info->size, ret_payload,
                           ret_size);
    if (r < 0)
        code = actor_fail_fields(ctl, info, layout, r);
    odeon_layout_free(layout);
    return code;
}

static void actor_print_sent(struct ctl *ctl, odeon_ref ref, const char *message, size_t size)
{
    struct json json;
    char text[ODEON_REF_TEXT];

    odeon_ref_format(ref, text);
    if (!ctl->json) {
        fprintf(ctl->out, "sent %s (%zu bytes) to %s\n", message, size, text);
        return;
    }
    json_begin_document(&json, ctl->out);
    json_begin_object(&json, "sent");
    json_string(&json, "message", message);
    json_string(&json, "to", text);
    json_uint(&json, "bytes", size);
    json_end_object(&json);
    json_end_document(&json);
}

int ctl_actor_send(struct ctl *ctl)
{
    const char *which = ctl->words[0], *message = ctl->words[1];
    struct odeon_message_info *info = NULL;
    void *payload = NULL;
    odeon_ref ref;
    size_t size = 0;
    int r, code;

    code = ctl_connect(ctl);
    if (!code)
        code = ctl_ref_find(ctl, which, &ref);
    if (code)
        return code;
    r = odeon_message_find(ctl->client, message, 0, &info);
    if (r == -ENOENT)
        return actor_fail_message(ctl, which, ref, message, "there is no message");
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot look up the message '%s'", message);

    code = actor_make_payload(ctl, info, &payload, &size);
    if (!code) {
        r = odeon_actor_send(ctl->client, ref, message, payload, size);
        if (r == -EOPNOTSUPP)
            code = actor_fail_message(ctl, which, ref, message, "it does not accept");
        else if (r < 0)
            code = actor_fail(ctl, r, "send to", which);
        else
            actor_print_sent(ctl, ref, message, size);
    }
    odeon_payload_free(payload);
    odeon_result_free(info);
    return code;
}

int ctl_actor_stop(struct ctl *ctl)
{
    static const struct {
        const char *name;
        enum odeon_allocation how;
    } ways[] = { { "delete", ODEON_DELETE },
                 { "destroy", ODEON_DESTROY },
                 { "finished", ODEON_FINISHED } };
    const char *how = ctl->option[OPTION_HOW] ? ctl->option[OPTION_HOW] : ways[0].name;
    char text[ODEON_REF_TEXT];
    struct json json;
    odeon_ref ref;
    size_t way = 0;
    int r, code;

    while (way < 3 && strcmp(ways[way].name, how) != 0)
        way++;
    if (way == 3)
        return ctl_fail(ctl, CTL_USAGE,
                        "--how: '%s' is no way to end. Write delete, destroy or finished", how);
    code = ctl_connect(ctl);
    if (!code)
        code = ctl_ref_find(ctl, ctl->words[0], &ref);
    if (code)
        return code;
    r = odeon_actor_stop(ctl->client, ref, ways[way].how);
    if (r < 0)
        return actor_fail(ctl, r, "stop", ctl->words[0]);

    odeon_ref_format(ref, text);
    if (!ctl->json) {
        fprintf(ctl->out, "sent %s to %s\n", how, text);
        return 0;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, "stopping", text);
    json_string(&json, "how", how);
    json_end_document(&json);
    return 0;
}
