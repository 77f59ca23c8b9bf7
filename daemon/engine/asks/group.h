/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: actors of a type of the service's own, whose messages are for their members
 * (timers/members.h). A publication is a message to its group. When it is run it goes to the
 * members in one block of places, and, with the next place, to its group again.
 *
 * Threads: whichever worker id runs the turn.
 *
 * group.G1  One block is one turn: what it sends, to the members and to its group again, and what
 *     it consumes, become true with one flip [GROUP_TWO_FLIPS].
 * group.G2  With each round of the group's queue each publication comes one block further: so none
 *     overtakes the one before [GROUP_COUNTED].
 * group.G3  It is for those who were members when its first block was run [GROUP_UNTIL].
 * group.G4  A member has it once: where a member stands does not change [GROUP_PACKED].
 * group.G5  A publication that goes on comes in the place of the record that is consumed, beyond
 *     its queue's limit if need be: a window has twice that room, and an outbox what it keeps for
 *     the service's own. Where even that is full it is refused: those behind it do not get it.
 * group.G6  What a block sends for a client leaves behind its turn, on the account of the client's
 *     user.
 * group.G7  Who leaves and joins again in one turn has left nothing [GROUP_REJOIN]: of two
 *     memberships, one that ends with that commit and one that begins, a look beside it could find
 *     both, or neither.
 * group.G8  What a member gets that is at its limit is its type's policy alone. Where that is to
 *     wait, its copy is kept with the turn that would have sent it, and all that are published
 *     behind it, until they have been sent (kept.h); the publication goes on.
 * group.G9  A client whose user has as many copies waiting as it may is told once for each block in
 *     which a member was left out for that: `timers-full`, in the turn that leaves it out. To the
 *     others the publication goes on.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Within a turn: the running actor is a member with its commit. 0; -EALREADY; -ENOSPC, -ENOMEM:
 * there is no room for another group; -EAGAIN: as of a timer. */
int group_join(struct worker *w, actor_ref group);
/* ... or not any more. 0; -ENOENT: it is none. */
int group_leave(struct worker *w, actor_ref group);

/* A message to the group whose turn it is. REASON_NONE; else it is refused: groups do not take such
 * a one, or it cannot go on. */
enum envelope_reason group_publish(struct worker *w, const struct envelope *envelope);
