/* SPDX-License-Identifier: Apache-2.0 */
/* Some settings at once, while workers run: what that comes to, all or nothing.
 *
 * A pure function of the settings that are in force and the pairs; who puts it into force is
 * reconfigure.h. One thread.
 */
#pragma once

#include "daemon/executor/settings.h"

enum { SETTINGS_LATER_MAX = 64 }; /* more than there are keys */

struct settings_change {
    struct settings settings; /* as they will be */
    bool replan;              /* workers get other places: affinity or smt differ */
    size_t n_later;
    /* Keys that wait for the next start, as settings_get_key() has them: a change outlives the
     * request whose pairs it was made of. */
    const char *later[SETTINGS_LATER_MAX];
};

/* `later`: keys that can only be set at the start are checked, too, and listed in `later`, instead
 * of being refused. -EBUSY: such a key; else errors as settings_parse() and settings_check(). A key
 * that has the value already changes nothing, whatever it is. */
int settings_change(const struct settings *settings, const struct setting_pair *pairs,
                    size_t n_pairs, bool later, struct settings_change *ret_change,
                    struct explain *explain);
