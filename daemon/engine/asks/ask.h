/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: a message that an actor sends, and of which exactly one outcome comes back as a
 * message: an answer, or the word that there is none.
 *
 * A question is a timer of its asker (timers/timers.h); its token is the timer's number and a
 * signature (answer.h) of its id. The token goes with the message as its correlation id, and comes
 * back with what answers it (ENVELOPE_REPLY). What the timer sends at the deadline is such a
 * message, too, and so is what whoever cannot deliver the question sends instead of making it a
 * dead letter. All of them are only offers: the asker's own runner decides.
 *
 * Threads: asking and taking, whichever worker id runs the asker's turn; under the timers' mutex,
 * or, of what lies on that worker's shelf, by it alone (timers/shelf.h).
 *
 * ask.Q1  An outcome is taken when the turn that handles it has been committed: its runner claims
 *     the timer with the count as its tag, as a cancel does (timers.TM2), before the handler runs
 *     [ASK_TWICE]. A turn that was not committed has taken nothing [ASK_VOID].
 * ask.Q2  What comes when the question is over, or of another life, is dropped and counted, and no
 *     handler sees it.
 * ask.Q3  The deadline does not end the question [ASK_EARLY]: answers that wait before its message
 *     come first. Until one has been taken it is offered again, each TIMER_AGAIN_NS: whatever
 *     becomes of a message on its way, the asker is told.
 * ask.Q4  A token cannot be guessed, but with 2^-44 for each try: who answers has been handed the
 *     question, or what was made of it.
 */
#pragma once

#include "daemon/engine/core/core.h"

#define ASK_DEFAULT_NS UINT64_C(30000000000)

/* Within a turn. 0, and *ret_token; -EPERM: nobody's turn; -EOPNOTSUPP: this actor has no behaviour
 * for what no answer is; errors of timers_arm(). */
int ask_open(struct worker *w, actor_ref to, uint64_t timeout_ns, uint64_t *ret_token);
/* Within a turn that is to handle an answer, a record with ENVELOPE_REPLY for the running actor,
 * whose correlation id is `token`. 0: it is the outcome; -ENOENT: ask.Q2; -EPERM: another actor has
 * asked. */
int ask_take(struct worker *w, uint64_t token);
/* Within a turn. 0: no outcome will be handled, with its commit; errors as of ask_take(). */
int ask_cancel(struct worker *w, uint64_t token);
/* Is it asked by `asker`, and unanswered as far as is known? */
bool ask_is_open(const struct worker *w, uint64_t token, actor_ref asker);

enum { ASK_NUMBER_BITS = 20 };
static_assert(ODEON_TIMERS_MAX <= 1 << ASK_NUMBER_BITS, "a token has the timer's number");
