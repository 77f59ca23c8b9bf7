/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/quiesce.h"

#include "daemon/engine/signal/wake.h"

void quiesce_ask(struct engine *e, struct quiesce *q)
{
    full_barrier();
    q->seen = 0;
    for (uint32_t id = 0; id < e->segment.workers_max; id++)
        q->passes[id] = load_acquire(&e->workers[id]->shown.passes);
}

bool quiesce_is_over(struct engine *e, struct quiesce *q)
{
    for (; e->started && q->seen < engine_workers(e); q->seen++)
        if (load_acquire(&e->workers[q->seen]->shown.passes) - q->passes[q->seen] < 2 &&
            !sleeper_sleeps(e, q->seen))
            return false;
    return true;
}
