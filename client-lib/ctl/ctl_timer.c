/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl timer: the messages that actors have asked for at a time to come. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <odeon/codec.h>

static void ctl_timer_add(struct listing *listing, const void *row)
{
    const struct odeon_timer_info *t = row;
    char due[OUTPUT_DURATION_TEXT], period[OUTPUT_DURATION_TEXT];
    const char *due_text = output_format_duration(t->due_in_ns, due);
    struct cell every = CELL_NONE;

    if (t->period_ns != 0)
        every = CELL_SHOWN(t->period_ns, output_format_duration(t->period_ns, period));
    listing_add(listing, (struct cell[]){ CELL_NUMBER(t->id), CELL_REF(t->owner), CELL_REF(t->to),
                                          CELL_TEXT(t->message), CELL_NUMBER(t->size),
                                          CELL_SHOWN(t->due_in_ns, due_text), every,
                                          CELL_TEXT(t->by_boot_time ? "boot" : "monotonic") });
}

/* `owner`: a reference that was looked up, or NULL. */
static int ctl_timer_fetch(struct odeon_client *client, const char *owner, uint64_t after,
                           uint32_t rows, struct odeon_list **ret)
{
    odeon_ref ref = ODEON_NOBODY;

    if (owner)
        odeon_ref_parse(owner, &ref);
    return odeon_timer_list(client, ref, after, rows, ret);
}

int ctl_timer_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "ID", "id", true },           { "OWNER", "owner", true },
        { "TO", "to", true },           { "MESSAGE", "message", false },
        { "BYTES", "bytes", true },     { "DUE IN", "due_in_ns", true },
        { "EVERY", "period_ns", true }, { "CLOCK", "clock", false },
    };
    char text[ODEON_REF_TEXT];
    struct listing_source source = { .what = "cannot list the timers",
                                     .fetch = ctl_timer_fetch,
                                     .row_size = sizeof(struct odeon_timer_info),
                                     .add = ctl_timer_add };
    int code = ctl_of_find(ctl, text, &source.filter);

    return code ? code : listing_fetch(ctl, "timers", columns, 8, &source);
}
