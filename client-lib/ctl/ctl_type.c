/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl type: the actor types that the service knows. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <stdlib.h>
#include <string.h>

static int type_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                      uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_type_list(client, after, rows, ret);
}

static void type_add(struct listing *listing, const void *row)
{
    const struct odeon_type_info *t = row;

    listing_add(listing,
                (struct cell[]){ CELL_TEXT(t->name), CELL_NUMBER(t->version), CELL_TEXT(t->plugin),
                                 CELL_FLAG(t->loaded != 0), CELL_NUMBER(t->actors),
                                 CELL_NUMBER(t->state_size), CELL_NUMBER(t->actors * t->state_size),
                                 CELL_TEXT(t->restart), CELL_TEXT(t->overflow),
                                 CELL_FLAG(t->quarantined != 0), CELL_NUMBER(t->args_size),
                                 CELL_TEXT(t->args_fields), CELL_LIST(t->accepts, t->n_accepts) });
}

char *ctl_type_nearest(struct ctl *ctl, const char *name)
{
    struct odeon_list *list = NULL;
    char *best;

    if (odeon_type_list(ctl->client, 0, 0, &list) < 0)
        return NULL;
    best = suggestion_of_rows(list, sizeof(struct odeon_type_info), name);
    if (best && strcmp(best, name) == 0) {
        free(best);
        best = NULL;
    }
    odeon_list_free(list);
    return best;
}

int ctl_type_refuse(struct ctl *ctl, int error, const char *what, const char *type)
{
    return ctl_refuse_unknown(ctl, error, what, "actor type", type, ctl_type_nearest);
}

int ctl_type_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "NAME", "name", false },
        { "VERSION", "version", true },
        { "PLUGIN", "plugin", false },
        { "LOADED", "loaded", false },
        { "ACTORS", "actors", true },
        { "STATE SIZE", "state_size", true },
        { "STATE BYTES", "state_bytes", true },
        { "AFTER A CRASH", "restart", false },
        { "WHEN FULL", "overflow", false },
        { "QUARANTINED", "quarantined", false },
        { "SPAWN BYTES", "args_size", true },
        { "SPAWN ARGUMENTS", "args_fields", false },
        { "ACCEPTS", "accepts", false },
    };
    static const struct listing_source source = { .what = "cannot list the types",
                                                  .fetch = type_fetch,
                                                  .row_size = sizeof(struct odeon_type_info),
                                                  .add = type_add };

    return listing_fetch(ctl, "types", columns, 13, &source);
}

int ctl_type_release(struct ctl *ctl)
{
    const char *name = ctl->words[0];
    int code = ctl_connect(ctl), r;
    struct json json;
    char what[128];

    if (code)
        return code;
    r = odeon_type_release(ctl->client, name);
    if (r < 0) {
        snprintf(what, sizeof(what), "cannot release %s", name);
        return ctl_type_refuse(ctl, r, what, name);
    }
    if (ctl->json) {
        json_begin_document(&json, ctl->out);
        json_string(&json, "released", name);
        json_end_document(&json);
    }
    return CTL_DONE;
}
