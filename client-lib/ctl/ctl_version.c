/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a message's versions somebody is sent: the newest that the receiver accepts. Plugins of
 * several ages declare several, often of one size, and what is written in one is read in it. */
#include "client-lib/ctl/ctl.h"

#include <errno.h>
#include <string.h>

static bool version_is_accepted(const struct odeon_message_detail *d, const char *type)
{
    for (size_t i = 0; i < d->n_accepted_by; i++)
        if (strcmp(d->accepted_by[i], type) == 0)
            return true;
    return d->n_accepted_by < d->accepting; /* they are not all named */
}

/* The newest one below `version`; -ENOENT: there is none. */
static int version_find_older(struct ctl *ctl, const char *message, uint32_t *version)
{
    uint32_t older = 0;
    uint64_t after = 0;
    bool more = true;

    while (more) {
        const struct odeon_message_detail *rows;
        struct odeon_list *list = NULL;
        int r = odeon_message_list(ctl->client, after, 0, &list);

        if (r < 0)
            return r;
        rows = list->rows;
        for (size_t i = 0; i < list->n; i++)
            if (strcmp(rows[i].message.name, message) == 0 && rows[i].message.version < *version &&
                rows[i].message.version > older)
                older = rows[i].message.version;
        more = list->more && list->next > after; /* a page may be empty */
        after = list->next;
        odeon_list_free(list);
    }
    *version = older;
    return older ? 0 : -ENOENT;
}

static int version_find_accepted(struct ctl *ctl, const char *type, const char *message,
                                 uint32_t *ret_version)
{
    uint32_t version = 0; /* the newest of all */
    bool is_accepted = false;
    int r = 0;

    while (r == 0 && !is_accepted) {
        struct odeon_message_detail *d = NULL;

        r = odeon_message_detail(ctl->client, message, version, &d);
        if (r < 0)
            break;
        version = d->message.version;
        is_accepted = version_is_accepted(d, type);
        odeon_result_free(d);
        if (!is_accepted)
            r = version_find_older(ctl, message, &version);
    }
    *ret_version = version;
    return r;
}

int ctl_version_find(struct ctl *ctl, odeon_ref to, const char *message,
                     struct odeon_message_info **ret)
{
    struct odeon_actor_detail *d = NULL;
    uint32_t version = 0;
    bool listed = false;

    /* Of who is not there, takes nothing of the name, or may not be looked at by this user, it is
     * the newest that there is: what becomes of it is for the service to say. */
    if (odeon_actor_show(ctl->client, to, NULL, &d) == 0)
        for (size_t i = 0; i < d->n_accepts; i++)
            listed = listed || strcmp(d->accepts[i], message) == 0;
    if (listed && version_find_accepted(ctl, d->actor.type, message, &version) < 0)
        version = 0;
    odeon_result_free(d);
    return odeon_message_find(ctl->client, message, version, ret);
}
