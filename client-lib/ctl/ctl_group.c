/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl group: what actors have joined, and who is a member. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

#include <odeon/codec.h>

static void ctl_group_add(struct listing *listing, const void *row)
{
    const struct odeon_group_info *g = row;

    listing_add(listing,
                (struct cell[]){ CELL_REF(g->ref), CELL_TEXT(g->name), CELL_NUMBER(g->members) });
}

static int ctl_group_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                           uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_group_list(client, after, rows, ret);
}

int ctl_group_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "REF", "ref", true },
        { "NAME", "name", false },
        { "MEMBERS", "members", true },
    };
    const struct listing_source source = { .what = "cannot list the groups",
                                           .fetch = ctl_group_fetch,
                                           .row_size = sizeof(struct odeon_group_info),
                                           .add = ctl_group_add };

    return listing_fetch(ctl, "groups", columns, 3, &source);
}

static void ctl_group_add_member(struct listing *listing, const void *row)
{
    const struct odeon_group_member_info *m = row;

    listing_add(listing, (struct cell[]){ CELL_REF(m->member) });
}

/* `group`: a reference that was looked up. */
static int ctl_group_fetch_members(struct odeon_client *client, const char *group, uint64_t after,
                                   uint32_t rows, struct odeon_list **ret)
{
    odeon_ref ref = ODEON_NOBODY;

    odeon_ref_parse(group, &ref);
    return odeon_group_member_list(client, ref, after, rows, ret);
}

int ctl_group_show(struct ctl *ctl)
{
    static const struct column columns[] = { { "MEMBER", "member", true } };
    char text[ODEON_REF_TEXT];
    const struct listing_source source = { .what = "cannot list the members",
                                           .fetch = ctl_group_fetch_members,
                                           .filter = text,
                                           .row_size = sizeof(struct odeon_group_member_info),
                                           .add = ctl_group_add_member };
    odeon_ref ref;
    int code = ctl_connect(ctl);

    if (!code)
        code = ctl_ref_find(ctl, ctl->words[0], &ref);
    if (code)
        return code;
    odeon_ref_format(ref, text);
    return listing_fetch(ctl, "members", columns, 1, &source);
}
