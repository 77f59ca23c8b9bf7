/* SPDX-License-Identifier: Apache-2.0 */
/* A record that nobody handles: its client is told, or the actor that has asked, or it is a dead
 * letter.
 *
 * Threads: a worker's own, from within a turn; the control thread. The caller has seen to room in
 * the outbox.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/core/tag.h"

/* The record ends here. The dead letter that it has become, with the reason in the behaviour's
 * byte; NULL: who has sent it is told instead. */
struct envelope *refuse_write(struct worker *w, const struct envelope *record,
                              enum envelope_reason reason);

/* ---- what no answer is */

/* Bytes behind its header, and the whole record, from whom was asked; in the running message's
 * trace. */
static inline uint64_t refuse_no_answer_length(const struct worker *w)
{
    return envelope_prefix_bytes(PREFIX_CORRELATION | tag_later_prefix(w)) +
           sizeof(struct no_answer);
}
void refuse_no_answer_write(struct envelope *at, const struct worker *w, actor_ref asker,
                            actor_ref asked, uint64_t token, enum envelope_reason reason);
