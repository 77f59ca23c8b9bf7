/* SPDX-License-Identifier: Apache-2.0 */
/* See settings_change.h. */
#include "daemon/executor/settings_change.h"

#include <errno.h>
#include <string.h>

#include "daemon/executor/settings_sizes.h"

/* A key that waits for the next start, or is refused because of that. */
static int change_later(struct settings_change *change, const struct setting_pair *pair, bool later,
                        struct explain *explain)
{
    if (!later)
        return explain_set(explain, -EBUSY,
                           "setting %s cannot be changed while the service runs: put %s = %.64s "
                           "into the configuration and %s",
                           pair->key, pair->key, pair->value,
                           settings_sizes_has(pair->key)
                               ? "stop and start it, which gives up what waits in its memory; a "
                                 "restart keeps that, and its size"
                               : "restart it");
    if (change->n_later == SETTINGS_LATER_MAX)
        return explain_set(explain, -E2BIG, "more than %d settings that wait for the next start",
                           SETTINGS_LATER_MAX);
    change->later[change->n_later++] = settings_get_key(pair->key);
    return 0;
}

/* More than this start has room for, and the next one will have: they wait as the room does. */
static int change_workers(struct settings_change *change, uint64_t former,
                          const struct settings *next, bool later, struct explain *explain)
{
    struct setting_pair workers = { "workers", "" };

    if (!later || change->settings.workers <= change->settings.workers_max ||
        next->workers > next->workers_max)
        return 0;
    change->settings.workers = former;
    return change_later(change, &workers, later, explain);
}

int settings_change(const struct settings *settings, const struct setting_pair *pairs,
                    size_t n_pairs, bool later, struct settings_change *ret_change,
                    struct explain *explain)
{
    /* with those that wait, too: the next start has to be possible */
    struct settings next = *settings;
    int r;

    memset(ret_change, 0, sizeof(*ret_change));
    ret_change->settings = *settings;
    for (size_t i = 0; i < n_pairs; i++) {
        struct settings before = next;

        /* A bad value is bad whether or not it could be set now: say so first. */
        r = settings_parse(&next, pairs[i].key, pairs[i].value, explain);
        if (r == 0 && settings_is_live(pairs[i].key))
            r = settings_parse(&ret_change->settings, pairs[i].key, pairs[i].value, explain);
        else if (r == 0 && memcmp(&before, &next, sizeof(next)) != 0)
            r = change_later(ret_change, &pairs[i], later, explain);
        if (r < 0)
            return r;
    }
    r = change_workers(ret_change, settings->workers, &next, later, explain);
    if (r == 0)
        r = settings_check(&ret_change->settings, explain);
    if (r == 0)
        r = settings_check(&next, explain);
    ret_change->replan = ret_change->settings.smt != settings->smt ||
                         strcmp(ret_change->settings.affinity, settings->affinity) != 0;
    return r;
}
