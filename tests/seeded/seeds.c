/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/seeded/seeds.h"

#ifdef ODEON_SEED_BUG

#include <stdlib.h>
#include <string.h>

int seed_chosen = SEED_NONE;

static __attribute__((constructor)) void seeds_choose(void)
{
#define SEEDS_NAME(name, what) [SEED_##name] = #name,
    static const char *const names[SEEDS_N] = { [SEED_NONE] = "", SEEDS(SEEDS_NAME) };
    const char *wanted = getenv("ODEON_SEED");
    for (int i = 0; wanted && i < SEEDS_N; i++)
        if (strcmp(names[i], wanted) == 0)
            seed_chosen = i;
}

bool seed_is_due(void)
{
    static _Thread_local unsigned calls;
    return ++calls % 64 == 0;
}

#else

bool seed_is_due(void)
{
    return false;
}

#endif
