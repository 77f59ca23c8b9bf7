/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl monitor: who is told when somebody ends, and who ends with somebody. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <odeon/codec.h>

static void ctl_monitor_add(struct listing *listing, const void *row)
{
    const struct odeon_monitor_info *m = row;

    listing_add(listing,
                (struct cell[]){ CELL_NUMBER(m->id), CELL_REF(m->watcher), CELL_REF(m->watched),
                                 CELL_TEXT(m->link ? "link" : "monitor") });
}

/* `of`: a reference that was looked up, or NULL. */
static int ctl_monitor_fetch(struct odeon_client *client, const char *of, uint64_t after,
                             uint32_t rows, struct odeon_list **ret)
{
    odeon_ref ref = ODEON_NOBODY;

    if (of)
        odeon_ref_parse(of, &ref);
    return odeon_monitor_list(client, ref, after, rows, ret);
}

int ctl_monitor_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "ID", "id", true },
        { "WATCHER", "watcher", true },
        { "WATCHED", "watched", true },
        { "KIND", "kind", false },
    };
    char text[ODEON_REF_TEXT];
    struct listing_source source = { .what = "cannot list the monitors",
                                     .fetch = ctl_monitor_fetch,
                                     .row_size = sizeof(struct odeon_monitor_info),
                                     .add = ctl_monitor_add };
    int code = ctl_of_find(ctl, text, &source.filter);

    return code ? code : listing_fetch(ctl, "monitors", columns, 4, &source);
}
