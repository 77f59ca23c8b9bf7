/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of what waits, and whose it is (budget.h). */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "proto/bounds.h"

/* A user whose quotas are enforced: one that has a port, or something that waits. */
struct budget_account {
    uint32_t user;    /* control thread: 0: nobody's */
    uint32_t n_ports; /* control thread */
    /* whoever adds to a queue or has emptied one: bytes, and ns that they will take */
    _Atomic int64_t waiting, waiting_ns;
};

/* The first one is nobody's: of ports that no quota binds. */
enum { BUDGET_ACCOUNTS = 1 + 2 * ODEON_PORTS_MAX };

/* Of the engine. */
struct budget {
    struct budget_account *accounts; /* BUDGET_ACCOUNTS of them */
    /* what all look at before they take anything in is one line */
    alignas(64) _Atomic int64_t pages; /* of all windows */
    _Atomic int64_t most;              /* control thread: BUDGET_UNBOUND: there is no bound */
    _Atomic uint64_t quota;            /* control thread: bytes of one user, 0: its share */
    _Atomic uint64_t quota_ns;         /* control thread: ns of one user in a queue, 0: no bound */
    _Atomic uint32_t stalled;          /* ports wait for it (overflow.X6) */
    _Atomic uint64_t swept_ns;         /* when somebody last looked for what is held for nothing */
};
