/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl actor: listing, sending to and ending actors. ctl_spawn.c makes them. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
                                     .by_type = true,
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

    if (!*which)
        return ctl_ref_refuse(ctl, which);
    code = ctl_connect(ctl);
    if (code)
        return code;
    by_ref = odeon_ref_parse(which, &ref) == 0;
    r = odeon_actor_show(ctl->client, ref, by_ref ? NULL : which, &d);
    if (r == -ENOENT && !by_ref)
        return ctl_ref_refuse(ctl, which);
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
    properties_add(&p, "Phase", "phase", CELL_TEXT(d->phase));
    properties_add(&p, "Stashed messages", "stashed", CELL_NUMBER(d->stashed));
    properties_add(&p, "Bytes of their places", "stashed_bytes", CELL_NUMBER(d->stashed_bytes));
    properties_add(&p, "State size", "state_size", CELL_NUMBER(d->state_size));
    properties_add(&p, "Accepts", "accepts", CELL_LIST(d->accepts, d->n_accepts));
    odeon_result_free(d);
    return properties_end(&p);
}

/* A port is listed among the actors, and has no queue that could be of a kind. */
static bool actor_is_port(const struct odeon_actor_detail *d)
{
    return *d->actor.kind == '\0' && strcmp(d->actor.type, "port") == 0;
}

int ctl_message_refuse(struct ctl *ctl, odeon_ref ref, const char *why, bool by_service)
{
    const char *which = ctl->words[0], *message = ctl->words[1];
    struct odeon_actor_detail *d = NULL;
    struct suggestion near;
    struct cell accepts;
    char *list = NULL, said[512];
    int code;

    snprintf(said, sizeof(said), "%s", by_service ? odeon_error_text() : "");
    code = odeon_actor_show(ctl->client, ref, NULL, &d);
    if (code == -EACCES && said[0]) /* who may not look is told what the service has said */
        return ctl_fail(ctl, CTL_REFUSED, "cannot send to %s: %s", which, said);
    if (code < 0)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot send to %s: %s '%s'. See what odeonctl actor show says it accepts",
                        which, why, message);
    if (d->n_accepts == 0 && !actor_is_port(d)) {
        bool is_group = strcmp(d->actor.type, "odeon_group") == 0;

        odeon_result_free(d);
        return ctl_fail(ctl, CTL_REFUSED, "cannot send to %s: %s '%s'%s", which, why, message,
                        is_group ? ". See odeonctl message list"
                                 : ". It accepts nothing, as one does whose plugin is not loaded: "
                                   "see odeonctl plugin list");
    }
    if (actor_is_port(d)) {
        odeon_result_free(d);
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot send to %s: it is a client's port, not an actor: its client "
                        "receives what actors send it, and nothing from here. See odeonctl actor "
                        "list",
                        which);
    }
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

int ctl_message_prepare(struct ctl *ctl, struct ctl_message *ret_message)
{
    struct ctl_message m = { 0 };
    char what[128];
    int r, code;

    code = ctl_connect(ctl);
    if (!code)
        code = ctl_ref_find(ctl, ctl->words[0], &m.to);
    if (code)
        return code;
    r = ctl_version_find(ctl, m.to, ctl->words[1], &m.info);
    if (r == -ENOENT)
        return ctl_message_refuse(ctl, m.to, "there is no message", true);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot look up the message '%s'", ctl->words[1]);
    snprintf(what, sizeof(what), "the message '%s'", m.info->name);
    code = ctl_struct_fill(ctl,
                           &(struct ctl_struct){ .what = what,
                                                 .fields = m.info->fields,
                                                 .size = m.info->size,
                                                 .has_tail = m.info->has_tail,
                                                 .first_word = 2 },
                           &m.payload, &m.size);
    if (code)
        ctl_message_free(&m);
    else
        *ret_message = m;
    return code;
}

void ctl_message_free(struct ctl_message *message)
{
    odeon_payload_free(message->payload);
    odeon_result_free(message->info);
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

static bool actor_accepts(const struct odeon_actor_detail *d, const char *message)
{
    if (strcmp(d->actor.type, "odeon_group") == 0)
        return true; /* what its members accept is for each of them to say */
    for (size_t i = 0; i < d->n_accepts; i++)
        if (strcmp(d->accepts[i], message) == 0)
            return true;
    return false;
}

/* A post is refused to its port, which nobody reads here: who would refuse it is asked before. 0,
 * or the exit code, after a message. */
static int actor_check_receiver(struct ctl *ctl, odeon_ref ref)
{
    struct odeon_actor_detail *d = NULL;
    int r = odeon_actor_show(ctl->client, ref, NULL, &d);
    bool accepts = r < 0 || actor_accepts(d, ctl->words[1]);

    odeon_result_free(d);
    if (r == -ENOENT)
        return actor_fail_gone(ctl, "send to", ctl->words[0]);
    if (r < 0 && r != -EACCES) /* who may post need not have the role to look */
        return ctl_refuse(ctl, r, "cannot look up %s", ctl->words[0]);
    return accepts ? 0 : ctl_message_refuse(ctl, ref, "it does not accept", false);
}

/* From a port of this program's own: what is in it is run, although it is closed at once. */
static int actor_post(struct ctl *ctl, const struct ctl_message *m, uint64_t trace)
{
    const struct odeon_post_options options = { .struct_size = sizeof(options), .trace = trace };
    struct odeon_port *port = NULL;
    int r, code = actor_check_receiver(ctl, m->to);

    if (!code)
        code = ctl_message_open_port(ctl, "send", &port);
    if (code)
        return code;
    r = odeon_port_post_with(port, m->to, m->info->id, m->payload, m->size, &options);
    if (r < 0)
        code = actor_fail(ctl, r, "send to", ctl->words[0]);
    else
        actor_print_sent(ctl, m->to, ctl->words[1], m->size);
    odeon_port_close(port);
    return code;
}

int ctl_actor_send(struct ctl *ctl)
{
    struct ctl_message m;
    uint64_t trace;
    int r, code = ctl_trace_option_parse(ctl, &trace);

    if (!code)
        code = ctl_message_prepare(ctl, &m);
    if (code)
        return code;
    if (trace) {
        code = actor_post(ctl, &m, trace);
        ctl_message_free(&m);
        return code;
    }
    r = odeon_actor_send_as(ctl->client, m.to, m.info, m.payload, m.size);
    if (r == -EOPNOTSUPP)
        code = ctl_message_refuse(ctl, m.to, "it does not accept", true);
    else if (r < 0)
        code = actor_fail(ctl, r, "send to", ctl->words[0]);
    else
        actor_print_sent(ctl, m.to, ctl->words[1], m.size);
    ctl_message_free(&m);
    return code;
}
