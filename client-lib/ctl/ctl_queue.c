/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl queue: the message queues and where they are. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <string.h>

static const char *const kinds[] = { "ordinary", "pinned", "follow", "detached" };

static void queue_add(struct listing *listing, const void *row)
{
    const struct odeon_queue_info *q = row;

    listing_add(listing, (struct cell[]){ CELL_NUMBER(q->id), CELL_TEXT(q->kind),
                                          CELL_NUMBER(q->home), CELL_NUMBER(q->owner),
                                          CELL_NUMBER(q->bytes), CELL_NUMBER(q->urgent_bytes),
                                          CELL_NUMBER(q->actors), CELL_FLAG(q->retiring != 0) });
}

static bool queue_is_busy(const struct ctl *ctl, const void *row)
{
    const struct odeon_queue_info *q = row;

    (void)ctl;
    return q->bytes || q->urgent_bytes;
}

static uint64_t queue_after(const void *row)
{
    return (uint64_t)((const struct odeon_queue_info *)row)->id + 1;
}

int ctl_queue_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "ID", "id", true },         { "KIND", "kind", false },
        { "HOME", "home", true },     { "OWNER", "owner", true },
        { "BYTES", "bytes", true },   { "URGENT", "urgent_bytes", true },
        { "ACTORS", "actors", true }, { "RETIRING", "retiring", false },
    };
    const char *kind = ctl->option[OPTION_KIND];
    struct listing_source source = { .what = "cannot list the queues",
                                     .fetch = odeon_queue_list,
                                     .filter = kind,
                                     .row_size = sizeof(struct odeon_queue_info),
                                     .add = queue_add };
    bool known = !kind;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !known; i++)
        known = !strcmp(kind, kinds[i]);
    if (!known)
        return ctl_fail(
            ctl, CTL_USAGE,
            "--kind: '%s' is no kind of queue. Write ordinary, pinned, follow or detached", kind);
    if (ctl->option[OPTION_BUSY]) {
        source.wants = queue_is_busy;
        source.after = queue_after;
    }
    return listing_fetch(ctl, "queues", columns, 8, &source);
}
