/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policies, and the names of policies and modes. */
#include "daemon/engine/run/steal_policy.h"

#include <errno.h>
#include <string.h>

static const struct steal_policy *const policies[STEAL_N] = {
    [STEAL_NONE] = &steal_none,
    [STEAL_RANDOM] = &steal_random,
    [STEAL_ROUND_ROBIN] = &steal_round_robin,
    [STEAL_LONGEST_VICTIM] = &steal_longest_victim,
    [STEAL_FULLEST] = &steal_fullest,
    [STEAL_LOCALITY] = &steal_locality,
    [STEAL_SHARE] = &steal_share,
};

static const char *const mode_names[STEAL_MODE_N] = {
    [STEAL_KEEP] = "keep", [STEAL_VISIT] = "visit"
};

const struct steal_policy *steal_policy_get(enum steal_policy_id id)
{
    return (unsigned)id < STEAL_N ? policies[id] : NULL;
}

int steal_policy_parse(const char *name, enum steal_policy_id *ret_id)
{
    for (unsigned i = 0; i < STEAL_N; i++)
        if (strcmp(name, policies[i]->name) == 0) {
            *ret_id = (enum steal_policy_id)i;
            return 0;
        }
    return -EINVAL;
}

const char *steal_policy_name(enum steal_policy_id id)
{
    const struct steal_policy *policy = steal_policy_get(id);
    return policy ? policy->name : "unknown";
}

int steal_mode_parse(const char *name, enum steal_mode *ret_mode)
{
    for (unsigned i = 0; i < STEAL_MODE_N; i++)
        if (strcmp(name, mode_names[i]) == 0) {
            *ret_mode = (enum steal_mode)i;
            return 0;
        }
    return -EINVAL;
}

const char *steal_mode_name(enum steal_mode mode)
{
    return (unsigned)mode < STEAL_MODE_N ? mode_names[mode] : "unknown";
}
