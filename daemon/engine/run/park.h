/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping, and what keeps it safe (docs/engine.md; the Mercury paper's selective wake-up). Model:
 * tests/model/gulp_steal_park.pml, whose rule names stand in brackets; wake.K1 and wake.K2 are
 * wake.h's, help.K3 and help.K4 help.h's.
 *
 * park.K5  A sleep with a limit ends at it only by claiming the own bit back; else a token is under
 *     way and waited for [TIMEOUT_CLAIM].
 *
 * Threads: the worker itself.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Sleeps until woken, at most limit_ns (0: without a limit), unless there is something to do.
 * Called with nothing taken. */
enum park_end { PARK_WOKEN, PARK_TIMED_OUT };
enum park_end park_sleep(struct worker *w, uint64_t limit_ns);
