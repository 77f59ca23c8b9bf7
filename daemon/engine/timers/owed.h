/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that were to begin while their type was not run: its plugin was not there, or it was in
 * quarantine. What would have had them begin, an init record or a first message, has been refused,
 * and may have been all that ever came. Or the type drops the oldest messages now, and did not
 * before: the first one of an actor, without which it has no init record, may be among them. So
 * the type remembers that, in the segment, and when it is run again the control thread sends an
 * init record to each actor of it that has not begun, a piece at a look at the timers; behind the
 * last one once more to those whose queue was full, as long as there are any.
 *
 * A worker stores the word, then, behind a barrier, looks once more whether the type is run; who
 * has it run again does so, and then, behind a barrier, looks at the word [OWED_ORDER]: one of the
 * two sees the other [OWED_FENCE, OWED_LOOK]. The word is 0 when all init records have been
 * committed [OWED_EARLY]: what a kill cuts short is begun anew when the type is registered, and to
 * an actor that has begun an init record does nothing. Who stores it while they are sent looks
 * again, too, and refuses nothing: so it may go with the rest.
 *
 * Threads: owed_note() is a worker's, from within a turn, and so before its commit [OWED_NOTE]; the
 *     rest the control thread's.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum {
    OWED_LOOKS = 1024, /* slots at a look */
    OWED_BYTES = 8192, /* ... and bytes of init records, which leave room for timers that are due */
};

/* The turn is about to refuse a message to one of this type that has not begun. */
static inline void owed_note(struct engine *e, uint32_t type)
{
    store_relaxed(&e->segment.actor_types[type].owed, 1);
    full_barrier();
}
/* Some type is run again. */
void owed_look(struct engine *engine);
/* Under the mutex of the timers: a piece of it, into the outbox, committed. */
void owed_send(struct engine *engine, uint64_t now_ns);
