/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_policy.h. */
#include "daemon/executor/memory_policy.h"

#include <errno.h>
#include <string.h>

static const char *const names[MEMORY_POLICY_N] = {
    [MEMORY_LOCAL] = "local",
    [MEMORY_INTERLEAVE] = "interleave",
    [MEMORY_FIRST_TOUCH] = "first-touch",
};

int memory_policy_parse(const char *name, enum memory_policy *ret_policy)
{
    for (unsigned i = 0; i < MEMORY_POLICY_N; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret_policy = (enum memory_policy)i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *memory_policy_name(enum memory_policy policy)
{
    return names[policy];
}
