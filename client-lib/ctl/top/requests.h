/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be asked of odeond for a view: one request at a time, a page of a long list each.
 *
 * Owned by the source, one thread, which waits for the answers.
 *
 * requests.Q1  There are REQUESTS_EVERY_NS between two requests, however often they are wanted; ten
 *     times as long behind a refusal for a role.
 */
#pragma once

#include "client-lib/ctl/top/view.h"

#include <stdint.h>

#define REQUESTS_EVERY_NS UINT64_C(900000000) /* less than looks are apart, by default */

struct requests {
    enum view_id view;
    uint64_t asked_ns;     /* 0: never */
    int denied;            /* what the last answer for this view was; 0: none of that kind */
    uint64_t after;        /* the next page */
    struct table *growing; /* of the pages until now; NULL: the first one is next */
};

/* Whether rows of the view come from odeond. */
bool requests_are_for(enum view_id view);
void requests_fini(struct requests *requests);

/* Asks once. 0: *ret is the whole list, or NULL while there are more pages; -EAGAIN: it is too
 * early, nothing was asked; else why there is no answer. */
int requests_make(struct requests *requests, struct odeon_client *client, enum view_id view,
                  uint64_t now_ns, struct table **ret);
