/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/name_index.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/common/check.h"

enum { CHAINS = ODEON_NAMES_MAX };
static_assert((CHAINS & (CHAINS - 1)) == 0, "a chain is chosen by the upper bits of a hash");

/* Seeded, and the upper bits depend on all of it: nobody can choose names for one chain. */
static uint32_t name_index_chain(const struct engine *e, const char *name)
{
    uint64_t h = e->config.names_seed ^ UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < ODEON_NAME_MAX && name[i]; i++) {
        h = (h ^ (uint8_t)name[i]) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return (uint32_t)(h * UINT64_C(0xc4ceb9fe1a85ec53) >> 32) % CHAINS;
}

int name_index_init(struct engine *e)
{
    struct name_index *index = &e->actors.names;
    index->heads = calloc(CHAINS, sizeof(*index->heads));
    index->next = calloc(ODEON_NAMES_MAX, sizeof(*index->next));
    index->chain_of = calloc(ODEON_NAMES_MAX, sizeof(*index->chain_of));
    return index->heads && index->next && index->chain_of ? 0 : -ENOMEM;
}

void name_index_fini(struct engine *e)
{
    struct name_index *index = &e->actors.names;
    free(index->heads);
    free(index->next);
    free(index->chain_of);
    *index = (struct name_index){ 0 };
}

void name_index_link(struct engine *e, uint32_t entry)
{
    struct name_index *index = &e->actors.names;
    uint32_t chain = name_index_chain(e, e->segment.names[entry].name);
    check("name_index.N1", index->chain_of[entry] == 0);
    index->chain_of[entry] = chain + 1;
    index->next[entry] = index->heads[chain];
    index->heads[chain] = entry + 1;
}

void name_index_unlink(struct engine *e, uint32_t entry)
{
    struct name_index *index = &e->actors.names;
    uint32_t chain = index->chain_of[entry];
    if (chain == 0)
        return;
    uint32_t *at = &index->heads[chain - 1];
    while (*at != 0 && *at != entry + 1)
        at = &index->next[*at - 1];
    check("name_index.N1", *at == entry + 1);
    *at = index->next[entry];
    index->chain_of[entry] = 0;
}

uint32_t name_index_first(const struct engine *e, const char *name)
{
    return e->actors.names.heads[name_index_chain(e, name)] - 1;
}

uint32_t name_index_next(const struct engine *e, uint32_t entry)
{
    return e->actors.names.next[entry] - 1;
}
