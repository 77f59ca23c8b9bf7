/* SPDX-License-Identifier: Apache-2.0 */
/* When the service manager's watchdog is fed: as long as messages can be got on with, in every
 * seat (seat.h, `alive`).
 *
 * Three times in the manager's period the executor is asked whether it is there, and its answer is
 * judged. The watchdog is fed
 *
 *     when an executor has answered, at least one of its workers has got on since the question
 *     before, or rests, and no worker stands still outside of a handler;
 *     when an executor has become ready since then: it dies and is started again, which is the
 *     supervisor's work, not the manager's; while the start that follows one that was ready is put
 *     off (backoff.h), which a new odeond would not do; when a start has got further, by one more
 *     plugin that is loaded or whose own start begins, than any since the last executor that
 *     served; while the service stops, which has its own time limit;
 *     while the executor stays down over a broken rule, which a new odeond would start (boot.h).
 *
 * It is not fed, and after its period the manager ends the service and starts it again, with all
 * that lies in the descriptor store,
 *
 *     when this event loop stands still (then nothing here runs at all);
 *     when the executor's loop stands still: it can neither be spoken to nor learn of its clients;
 *     when no executor becomes ready;
 *     when a worker stands still in the engine itself, where nothing takes that long: a lock that
 *     nobody holds any more, a loop; when no worker at all has got on: then nothing that the
 *     service accepts is run.
 *
 * A worker that stands still in a handler, beside others that get on or rest, is no reason: it does
 * what a plugin told it to do, others take over the rest of its queues, stall-warn-ms names it,
 * stall-kill-ms ends it. Restarting the service for it would make everybody pay for one, and would
 * only run the same message again. That is different when all workers are in such handlers: a
 * service of one worker must return from each within two thirds of the period, or run it in an
 * actor with a thread of its own, which nobody looks at here.
 *
 * Nothing is asked, and no timer runs, when the manager watches nobody.  Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/control.pb-c.h"

struct seat;

/* `period_us`: the manager's; 0: it watches nobody. */
void watchdog_init(struct seat *seat, uint64_t period_us);
void watchdog_fini(struct seat *seat);
/* The seat gets on, by what only its caller knows. */
void watchdog_feed(struct seat *seat);
/* True: it was the answer to a ping. */
bool watchdog_handle_report(struct seat *seat, const Odeon__Report *report);
