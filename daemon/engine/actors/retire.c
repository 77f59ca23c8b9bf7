/* SPDX-License-Identifier: Apache-2.0 */
/* An actor type goes, so that its code can: nobody waits for that (docs/engine/control.md).
 *
 * Threads: the control thread.
 *
 * retire.T1  First nobody makes actors of it any more.  A spawn may be under way: its actor finds
 *     its type until nobody can have made one.  Then the threads of detached actors leave it, and
 *     nobody finds it any more; when nobody can look at it, either, its memory goes.
 * retire.T2  Until then everything can be taken back, and is, when a step takes longer than a
 *     handler should or actors have been made meanwhile.  Nobody else gets the type's id so long.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/common/clock.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/live.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/signal/own_thread.h"
#include "daemon/engine/signal/quiesce.h"

enum { RETIRE_STEP_NS = 1000 * 1000 * 1000, RETIRE_LOOK_NS = 20 * 1000 };

static void retire_begin_step(struct engine *e, struct retiring *r, enum retiring_step step)
{
    r->step = step;
    r->until_ns = clock_now_ns() + RETIRE_STEP_NS;
    if (step != RETIRING_THREADS)
        quiesce_ask(e, &r->quiesce);
}

int engine_actor_type_retire_ask(struct engine *e, uint32_t id, uint64_t *ret_live)
{
    *ret_live = 0;
    struct actor_type *type = id < ODEON_ACTOR_TYPES_MAX ? load_relaxed(&e->types.known[id]) : NULL;
    if (!type)
        return -ENOENT;
    if (e->types.retiring[id])
        return -EALREADY;
    *ret_live = live_of_type(e, id);
    if (*ret_live > 0)
        return -EBUSY;
    struct retiring *r = malloc(sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->type = type;
    e->types.retiring[id] = r;
    store_release(&e->types.spawnable[id], NULL);
    retire_begin_step(e, r, RETIRING_SPAWNS);
    return 0;
}

/* The step is done, and the next one has begun. */
static bool retire_step(struct engine *e, struct retiring *r)
{
    if (r->step == RETIRING_THREADS ? own_thread_runs_type(e, r->type->id)
                                    : !quiesce_is_over(e, &r->quiesce))
        return false;
    if (r->step == RETIRING_SPAWNS) {
        retire_begin_step(e, r, RETIRING_THREADS);
    } else if (r->step == RETIRING_THREADS) {
        store_release(&e->types.known[r->type->id], NULL);
        phases_publish(e, r->type, false);
        /* who ended the last one still looks at it */
        retire_begin_step(e, r, RETIRING_LOOKS);
    }
    return true;
}

static void retire_take_back(struct engine *e, struct retiring *r)
{
    uint32_t id = r->type->id;
    phases_publish(e, r->type, true);
    store_release(&e->types.known[id], r->type);
    store_release(&e->types.spawnable[id], r->type);
    e->types.retiring[id] = NULL;
    free(r);
}

static void retire_finish(struct engine *e, struct retiring *r)
{
    for (uint32_t i = 0; i < e->segment.n_ids; i++)
        actors_state_forget(e->control, e->workers[i], r->type);
    e->types.retiring[r->type->id] = NULL;
    phases_free(r->type);
    free(r);
}

int engine_actor_type_retire_look(struct engine *e, uint32_t id, uint64_t *ret_live)
{
    struct retiring *r = e->types.retiring[id];
    for (enum retiring_step step = r->step; retire_step(e, r); step = r->step) {
        if (step == RETIRING_LOOKS) {
            retire_finish(e, r);
            return 0;
        }
        /* the count is exact behind the first step */
        *ret_live = live_of_type(e, id);
        if (step == RETIRING_SPAWNS && *ret_live > 0) {
            retire_take_back(e, r);
            return -EBUSY;
        }
    }
    *ret_live = 0;
    if (clock_now_ns() <= r->until_ns)
        return -EAGAIN;
    retire_take_back(e, r);
    return -EBUSY;
}

void engine_actor_type_retire_cancel(struct engine *e, uint32_t id)
{
    if (e->types.retiring[id])
        retire_take_back(e, e->types.retiring[id]);
}

int engine_actor_type_retire(struct engine *e, uint32_t id, uint64_t *ret_live)
{
    int r = engine_actor_type_retire_ask(e, id, ret_live);
    if (r < 0)
        return r;
    while ((r = engine_actor_type_retire_look(e, id, ret_live)) == -EAGAIN) {
        control_waits(e);
        nanosleep(&(struct timespec){ .tv_nsec = RETIRE_LOOK_NS }, NULL);
    }
    return r;
}
