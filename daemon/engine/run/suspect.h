/* SPDX-License-Identifier: Apache-2.0 */
/* Messages whose handler may have ended the executor without a trace: by SIGKILL, by the
 * out-of-memory killer, by the bare system call. Nobody can be blamed for one such death, since it
 * may have come from outside; a message that was running at `suspect_deaths` of them is given up
 * (docs/faults.md).
 *
 * suspect.S1  A death counts against the messages that were running, and against no other, if
 *     nothing explains it: no handler's fault is on record, nor a fault's signal from outside
 *     (fault.h); and the supervisor neither killed the executor, nor heard of a broken rule, nor
 *     came later than the executor did (engine_config.death_explained) [SUS_EXPLAINED].
 * suspect.S2  Whether it counts is decided once, before anything of it is undone: a recovery that
 *     is killed, and whose own death may have another cause, is gone on with by the same verdict
 *     [SUS_VERDICT].
 * suspect.S3  The number is a value, made under the worker's count and only then stored into the
 *     record: a recovery that begins anew counts nothing twice [SUS_TWICE, SUS_TAGFIRST].
 * suspect.S4  From SUSPECT_ALONE deaths on a message is run on trial, and one at a time is
 *     [SUS_BOTH]. It counts a further death only if it was on trial then [SUS_WAITS]: who waits for
 *     its trial, or runs beside one that kills at once, every time, is no further suspected.
 * suspect.S5  The trial ends when the handler has returned, before the commit; or when another one
 *     has waited for SUSPECT_TRIAL_NS: what runs for that long has not killed at once, and is not
 *     counted in this life any more.
 * suspect.S6  At `suspect_deaths` it is not run any more, and ends with REASON_SUSPECTED.
 *
 * Threads: a worker's own, a detached actor's.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum { SUSPECT_ALONE = 2 };
#define SUSPECT_TRIAL_NS    (UINT64_C(50) * 1000 * 1000)
#define SUSPECT_PATIENCE_NS (UINT64_C(1000) * 1000 * 1000)

static inline uint32_t suspect_deaths(const struct envelope *envelope)
{
    return envelope->flags & ENVELOPE_SUSPECT ? envelope->behaviour : 0;
}

/* suspect.S6 */
static inline bool suspect_is_given_up(const struct engine *engine, const struct envelope *envelope)
{
    return engine->config.suspect_deaths > 0 &&
           suspect_deaths(envelope) >= engine->config.suspect_deaths;
}

/* The message is about to be run, its receiver to be initialised if need be. From SUSPECT_ALONE
 * deaths on: waits until it is on trial, never for longer than SUSPECT_PATIENCE_NS. */
void suspect_begin(struct worker *w, const struct envelope *envelope);
/* The receiver is initialised. */
void suspect_run(struct worker *w);
/* Its handlers have returned: suspect.S5. */
void suspect_end(struct worker *w);
