/* SPDX-License-Identifier: Apache-2.0 */
/* States that outlive a crash (restart policy keep): they lie in the segment, and what a handler
 * changes in one of them commits together with the message that it consumed and the messages that
 * it sent (docs/commit-protocol.md, Running).
 *
 * Threads: a state and the undo area by the worker id that runs the actor's queue; recovery before
 * there are any.
 *
 * durable.K1  A state is its actor's while its header has that actor's generation.  The header gets
 *     it in the turn that runs init; until then the bytes mean nothing and are zeroed before they
 *     are used.
 * durable.K2  Header and bytes are copied to the worker's undo area, and only then its tag becomes
 *     the count, before anything of them may change [UNDO_LATE].  The next flip makes the tag void;
 *     nobody resets it.
 * durable.K3  Recovery copies back where the tag equals the count [UNDO_NOCHECK], before the
 *     worker's record is flipped.  A kill meanwhile finds the same tag and the same copy again.
 */
#pragma once

#include "daemon/engine/core/core.h"

static inline struct segment_state *durable_state(const struct engine *engine, uint32_t slot)
{
    return (struct segment_state *)(engine->segment.states +
                                    (uint64_t)slot * engine->segment.header->state_stride);
}

/* durable.K1 */
static inline bool durable_is_initialised(const struct engine *engine, uint32_t slot,
                                          uint32_t generation)
{
    return load_relaxed(&durable_state(engine, slot)->generation) == generation;
}

/* From here to the worker's next flip the state of `slot`, of `size` bytes, may be changed
 * (durable.K2). Once a turn. */
struct segment_state *durable_begin(struct worker *w, uint32_t slot, uint32_t size);

/* Recovery: what the worker's uncommitted turn did to a state is undone. False: nothing was to be
 * undone. */
bool durable_undo(struct engine *engine, uint32_t id);
