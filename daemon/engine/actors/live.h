/* SPDX-License-Identifier: Apache-2.0 */
/* How many actors of a type, and in a queue, are alive.
 *
 * Threads: each worker counts for itself what it spawns and ends, and its count may be below 0; the
 * sum over all is a snapshot, for anybody. What it has of types it tells those who observe as well.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* `n` more actors of the type. */
static inline void live_add(struct worker *w, uint32_t type, int n)
{
    int64_t live = load_relaxed(&w->actors.type_live[type]) + n;
    store_relaxed(&w->actors.type_live[type], live);
    store_relaxed(&w->actors.type_told[type], live);
}

/* The same of a mailbox. */
static inline void live_add_in(struct worker *w, uint32_t queue, int n)
{
    store_relaxed(&w->placing.live[queue], load_relaxed(&w->placing.live[queue]) + n);
}

static inline uint64_t live_of_type(struct engine *e, uint32_t type)
{
    int64_t live = 0;
    for (uint32_t i = 0; i < e->segment.n_ids; i++)
        live += load_relaxed(&e->workers[i]->actors.type_live[type]);
    return live > 0 ? (uint64_t)live : 0;
}
