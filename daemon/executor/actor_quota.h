/* SPDX-License-Identifier: Apache-2.0 */
/* The quota of actors: which of them each user's clients have asked for, which of those have a
 * name, and which a thread of their own. Ports that have a name are among the second alone.
 *
 * Control thread. An actor's user is kept with it in the segment, so that an executor that is
 * started again knows; the lists here are made of that when they are first needed. What actors
 * spawn themselves is nobody's.
 *
 * actor_quota.T1  A list holds every actor of its user and kind that lives, and some that have
 *     ended: those are left out when it has grown by half, and when its user is at the quota, at
 *     most every 10 ms.  So an actor that has ended counts for 10 ms more at most.
 * actor_quota.T2  Of names and threads a user may have half of what the others leave, and one as
 *     long as there is one; a part is left to whom quotas do not bind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/engine/engine.h"

enum { ACTOR_QUOTA_NAMES_RESERVE = 1024 }; /* left to whom quotas do not bind */

enum actor_quota_kind { ACTOR_QUOTA_ALL, ACTOR_QUOTA_NAMES, ACTOR_QUOTA_THREADS, ACTOR_QUOTA_N };

struct actor_list {
    actor_ref *refs;
    size_t n, capacity, sweep_at;
    uint64_t swept_ns;
};
struct actor_account {
    struct actor_account *next;
    uint32_t account; /* user + 1, as in the segment */
    struct actor_list lists[ACTOR_QUOTA_N];
};
struct actor_quota {
    struct actor_account *first;
    bool known; /* the segment has been looked through */
};

static inline uint32_t actor_account_of(uid_t uid)
{
    return (uint32_t)uid + 1;
}
static inline uid_t actor_account_uid(uint32_t account)
{
    return (uid_t)(account - 1);
}
/* Actors of the user, as in actor_quota.T1. */
size_t actor_quota_count(struct actor_quota *quota, struct engine *engine, uint32_t account,
                         enum actor_quota_kind kind);
/* The same, exactly when it would be `limit` or more and the last look is not too recent. */
bool actor_quota_allows(struct actor_quota *quota, struct engine *engine, uint32_t account,
                        uint64_t limit);
/* Whether one more is within its user's share of `max` (actor_quota.T2). */
bool actor_quota_shares(struct actor_quota *quota, struct engine *engine, uint32_t account,
                        enum actor_quota_kind kind, uint64_t max);
/* It has been made; `kinds` is a set of bits (1 << kind). */
void actor_quota_add(struct actor_quota *quota, struct engine *engine, uint32_t account,
                     actor_ref ref, unsigned kinds);
void actor_quota_fini(struct actor_quota *quota);
