/* SPDX-License-Identifier: Apache-2.0 */
/* Where a name stands in the segment's table: chains of entries by a hash of the name, in the
 * memory of the process. The table alone would be walked as far as it has ever been in use,
 * whatever lives.
 *
 * Threads: any worker id, under names_mutex; name_index_init(), _fini(), and linking at recovery,
 * by the control thread alone.
 *
 * name_index.N1  The entry of a living actor is in the chain of its name. An entry is in one chain
 *     at most; those whose actors have ended leave it when they are met, or are used again. So a
 *     look-up meets as many entries as chains are long, whatever has been there before.
 */
#pragma once

#include "daemon/engine/core/core.h"

#define NAME_INDEX_END UINT32_MAX

int name_index_init(struct engine *engine);
void name_index_fini(struct engine *engine);
/* An entry whose name has just been written; it is in no chain. */
void name_index_link(struct engine *engine, uint32_t entry);
/* An entry that will be used again: out of its chain, if it is in one. */
void name_index_unlink(struct engine *engine, uint32_t entry);
/* The first entry of the chain that has the name, if any has; NAME_INDEX_END: it is empty. */
uint32_t name_index_first(const struct engine *engine, const char *name);
uint32_t name_index_next(const struct engine *engine, uint32_t entry);
