/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/quiesce.h"

#include <time.h>

#include "daemon/common/clock.h"
#include "daemon/engine/signal/wake.h"

bool quiesce_wait(struct engine *e, uint64_t timeout_ns)
{
    uint64_t until = clock_now_ns() + timeout_ns;
    full_barrier();
    for (uint32_t i = 0; i < engine_workers(e); i++) {
        struct worker *w = e->workers[i];
        uint64_t passes = load_acquire(&w->shown.passes);
        while (load_acquire(&w->shown.passes) - passes < 2 && !sleeper_sleeps(e, i)) {
            if (clock_now_ns() > until)
                return false;
            control_waits(e);
            struct timespec pause = { .tv_nsec = 20000 };
            nanosleep(&pause, NULL);
        }
    }
    return true;
}
