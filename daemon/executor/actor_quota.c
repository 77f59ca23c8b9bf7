/* SPDX-License-Identifier: Apache-2.0 */
/* See actor_quota.h. */
#include "daemon/executor/actor_quota.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/common/share.h"

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
    for (unsigned kind = 0; kind < ACTOR_QUOTA_N; kind++)
        a->lists[kind].sweep_at = SWEEP_MIN;
    a->next = quota->first;
    quota->first = a;
    return a;
}

static void actor_quota_sweep(struct actor_list *list, struct engine *engine)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (engine_actor_lives(engine, list->refs[i]))
            list->refs[n++] = list->refs[i];
    list->n = n;
    list->sweep_at = n + n / 2 < SWEEP_MIN ? SWEEP_MIN : n + n / 2;
    list->swept_ns = uv_hrtime();
}

static void actor_quota_sweep_again(struct actor_list *list, struct engine *engine)
{
    if (uv_hrtime() - list->swept_ns > SWEEP_AGAIN_NS)
        actor_quota_sweep(list, engine);
}

static bool actor_quota_list_add(struct actor_list *list, struct engine *engine, actor_ref ref)
{
    if (list->n >= list->sweep_at)
        actor_quota_sweep(list, engine);
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        actor_ref *refs = realloc(list->refs, capacity * sizeof(*refs));

        if (!refs)
            return false;
        list->refs = refs;
        list->capacity = capacity;
    }
    check("actor_quota.T1", list->n < list->capacity);
    list->refs[list->n++] = ref;
    return true;
}

static void actor_quota_do_add(struct actor_quota *quota, struct engine *engine, uint32_t account,
                               actor_ref ref, unsigned kinds)
{
    struct actor_account *a = actor_quota_find_or_make(quota, account);
    bool added = a != NULL;

    for (unsigned kind = 0; a && kind < ACTOR_QUOTA_N; kind++)
        if (kinds & 1U << kind && !actor_quota_list_add(&a->lists[kind], engine, ref))
            added = false;
    if (!added)
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
         slot = actor_ref_slot(view.ref) + 1) {
        struct engine_queue_view queue;
        unsigned kinds = view.type != 0 ? 1U << ACTOR_QUOTA_ALL : 0; /* a port is no actor */

        if (!view.account)
            continue;
        if (view.name[0])
            kinds |= 1U << ACTOR_QUOTA_NAMES;
        if (view.type != 0 && engine_queue_get(engine, view.queue, &queue) == 0 &&
            strcmp(queue.kind, "detached") == 0)
            kinds |= 1U << ACTOR_QUOTA_THREADS;
        actor_quota_do_add(quota, engine, view.account, view.ref, kinds);
    }
}

size_t actor_quota_count(struct actor_quota *quota, struct engine *engine, uint32_t account,
                         enum actor_quota_kind kind)
{
    struct actor_account *a;

    actor_quota_learn(quota, engine);
    a = actor_quota_find(quota, account);
    if (!a)
        return 0;
    actor_quota_sweep_again(&a->lists[kind], engine);
    return a->lists[kind].n;
}

bool actor_quota_allows(struct actor_quota *quota, struct engine *engine, uint32_t account,
                        uint64_t limit)
{
    struct actor_account *a;

    actor_quota_learn(quota, engine);
    a = actor_quota_find(quota, account);
    return (a ? a->lists[ACTOR_QUOTA_ALL].n : 0) < limit ||
           actor_quota_count(quota, engine, account, ACTOR_QUOTA_ALL) < limit;
}

static bool actor_quota_has_room(const struct actor_quota *quota, uint32_t account,
                                 enum actor_quota_kind kind, uint64_t max)
{
    uint64_t own = 0, others = 0;

    for (const struct actor_account *a = quota->first; a; a = a->next)
        *(a->account == account ? &own : &others) += a->lists[kind].n;
    return share_room(max, others, own, 1) > 0;
}

bool actor_quota_shares(struct actor_quota *quota, struct engine *engine, uint32_t account,
                        enum actor_quota_kind kind, uint64_t max)
{
    actor_quota_learn(quota, engine);
    if (actor_quota_has_room(quota, account, kind, max))
        return true;
    for (struct actor_account *a = quota->first; a; a = a->next)
        actor_quota_sweep_again(&a->lists[kind], engine);
    return actor_quota_has_room(quota, account, kind, max);
}

void actor_quota_add(struct actor_quota *quota, struct engine *engine, uint32_t account,
                     actor_ref ref, unsigned kinds)
{
    if (quota->known) /* otherwise it is found in the segment when somebody asks */
        actor_quota_do_add(quota, engine, account, ref, kinds);
}

void actor_quota_fini(struct actor_quota *quota)
{
    while (quota->first) {
        struct actor_account *a = quota->first;

        quota->first = a->next;
        for (unsigned kind = 0; kind < ACTOR_QUOTA_N; kind++)
            free(a->lists[kind].refs);
        free(a);
    }
    quota->known = false;
}
