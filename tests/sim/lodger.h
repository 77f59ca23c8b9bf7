/* SPDX-License-Identifier: Apache-2.0 */
/* Lodgers: actors of promises.h that begin anew with the executor. A keeper may ask one; it answers
 * at once, or puts the question off and answers when it has taken it back. In each of its lives it
 * joins the keepers' group.
 *
 * Its state goes with its life. The book has what its committed turns have put off and taken back,
 * and says behind a crash what of it the next life must not meet.
 *
 * Their behaviours run on the engine's fibers, everything else on the control thread's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "tests/sim/promises.h"

/* Behind everything else that is drawn of promises; also whether queues are small. */
void lodger_draw(void);
void lodger_register(struct engine *engine);
void lodger_begin(struct engine *engine);
void lodger_crashed(void);
/* For a keeper's question: a lodger that has been made, by lot; 0: none now. */
actor_ref lodger_any(void);
/* That are the timers of lodgers which want nothing. */
uint32_t lodger_members(void);
/* Nothing is put off, and no turn goes on. */
bool lodger_done(void);
/* promises.P4, promises.P5; `sung`: by each keeper. */
void lodger_check_end(const uint32_t *sung);
