/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at who is a member (members.h): for a publication, and for who joins or leaves.
 *
 * Threads: any; what is looked at is under the mutex of the timers.
 *
 * member_look.ML1  A member is whose membership has begun with a commit [MEMBER_OPEN], and has not
 *     been given up by one, whose actor lives, and is the one that has joined.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/timers/members.h"

/* Under the mutex: the membership that `who` has and has not given up; -ENOENT: none. */
int member_look_find(const struct engine *engine, actor_ref who, actor_ref group, uint64_t *ret_id);

/* ... that it gives up in the turn that is running: its entry. */
int member_look_find_left(const struct worker *w, actor_ref who, actor_ref group,
                          uint32_t *ret_timer);

/* Under the mutex, of a membership that is being given up: it is looked at again. */
void member_look_unsettle(struct engine *engine, uint64_t id);

/* Of a publication: the next block of places. */
struct member_block {
    uint32_t place; /* where it begins; behind the look: the next one */
    uint64_t until; /* memberships up to this one; 0: there has been no block so far */
    bool more;      /* there are places behind it */
    uint32_t n;
    actor_ref refs[MEMBERS_BLOCK_MAX];
};
/* Takes the mutex. */
void member_look_at_block(struct engine *engine, actor_ref group, struct member_block *block);
