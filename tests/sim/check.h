/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the engine's memory while no fiber can run, without a step. */
#pragma once

/* workload.H3: workers all asleep, and work in a queue or a port; a client asleep, and a delivery
 *     or room for it. */
void check_idle(void);
/* workload.H6: behind engine_stop(). */
void check_empty(void);
