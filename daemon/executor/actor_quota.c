/* SPDX-License-Identifier: Apache-2.0 */
/* See actor_quota.h. */
#include "daemon/executor/actor_quota.h"

#include <stdlib.h>
#include <uv.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"

enum { SWEEP_MIN = 1024 };
#define SWEEP_AGAIN_NS UINT64_C(10000000)

static struct actor_account *actor_quota_find(struct actor_quota *quota, uint32_t account)
{
    for (struct actor_account *a = quota->first; a; a = a->next)
        if (a->account == account)
            return a;
    return NULL;
}

static struct actor_account *actor_quota_find_or_make(struct actor_quota *quota, uint32_t account)
{
    struct actor_account *a = actor_quota_find(quota, account);

    if (a)
        return a;
    a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->account = account;
    a->sweep_at = SWEEP_MIN;
    a->next = quota->first;
    quota->first = a;
    return a;
}

static void actor_quota_sweep(struct actor_account *a, struct engine *engine)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++)
        if (engine_actor_lives(engine, a->refs[i]))
            a->refs[n++] = a->refs[i];
    a->n = n;
    a->sweep_at = n + n / 2 < SWEEP_MIN ? SWEEP_MIN : n + n / 2;
    a->swept_ns = uv_hrtime();
}

static void actor_quota_do_add(struct actor_quota *quota, struct engine *engine, uint32_t account,
                               actor_ref ref)
{
    struct actor_account *a = actor_quota_find_or_make(quota, account);

    if (a && a->n >= a->sweep_at)
        actor_quota_sweep(a, engine);
    if (a && a->n == a->capacity) {
        size_t capacity = a->capacity ? 2 * a->capacity : 64;
        actor_ref *refs = realloc(a->refs, capacity * sizeof(*refs));

        if (!refs)
            a = NULL;
        else {
            a->refs = refs;
            a->capacity = capacity;
        }
    }
    if (a) {
        check("actor_quota.T1", a->n < a->capacity);
        a->refs[a->n++] = ref;
    } else
        log_warning("no memory to count the actors of user %u: it may have one more than its quota",
                    account - 1);
}

/* What former executors have left. */
static void actor_quota_learn(struct actor_quota *quota, struct engine *engine)
{
    struct engine_actor_view view;

    if (quota->known)
        return;
    quota->known = true;
    for (uint32_t slot = 0; engine_actor_next(engine, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1)
        if (view.account)
            actor_quota_do_add(quota, engine, view.account, view.ref);
}

size_t actor_quota_count(struct actor_quota *quota, struct engine *engine, uint32_t account)
{
    struct actor_account *a;

    actor_quota_learn(quota, engine);
    a = actor_quota_find(quota, account);
    if (a && uv_hrtime() - a->swept_ns > SWEEP_AGAIN_NS)
        actor_quota_sweep(a, engine);
    return a ? a->n : 0;
}

bool actor_quota_allows(struct actor_quota *quota, struct engine *engine, uint32_t account,
                        uint64_t limit)
{
    struct actor_account *a;

    actor_quota_learn(quota, engine);
    a = actor_quota_find(quota, account);
    return (a ? a->n : 0) < limit || actor_quota_count(quota, engine, account) < limit;
}

void actor_quota_add(struct actor_quota *quota, struct engine *engine, uint32_t account,
                     actor_ref ref)
{
    if (quota->known) /* otherwise it is found in the segment when somebody asks */
        actor_quota_do_add(quota, engine, account, ref);
}

void actor_quota_fini(struct actor_quota *quota)
{
    while (quota->first) {
        struct actor_account *a = quota->first;

        quota->first = a->next;
        free(a->refs);
        free(a);
    }
    quota->known = false;
}
