/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: the submission ring as a source (docs/engine.md, Ports as sources). This file, with those
 * beside it (port_record.h), and deliver.c own all access to client memory.
 *
 * Threads: port_add, port_remove and port_forget by the control thread; port_run by the worker that
 * holds the owner word.
 *
 * port.R1  A header is read once in a visit, by 8-byte loads, into private memory; length and
 *     bounds are checked before the payload is copied; only the copy is looked at for meaning.  A
 *     payload is copied, or its correlation id is read, for a refusal or a monitor, never both.
 * port.R2  The visible head follows the committed cursor, never leads it [HEAD_EARLY].
 * port.R3  need_wakeup is 0 only while the owner polls the port (its `hot` bit): set to 1, full
 *     barrier, looked at again (port_layout.P4).
 * port.R4  The doorbell is never read or written here: its client shares the description and could
 *     make either block.
 * port.R5  Who takes a ring's only record directly looks for nobody that waits for room [R5_ONLY,
 *     R5_BYTES]. A ring has room for two such records and for the largest one [R5_RING]. A client
 *     may not see the head of the last one yet; those before are seen, for each visit reads the
 *     tail behind a full barrier [R5_VISIT]. So a client that waits has published more than is
 *     taken directly, and the visit that takes this looks behind a full barrier [R5_ORDER].
 */
#pragma once

#include "daemon/engine/core/core.h"

int port_add(struct engine *engine, const struct engine_port_info *info, actor_ref *ret_ref);
/* After recovery: ports that were added before it and are new to the segment. */
void port_open_pending(struct engine *engine);
int port_remove(struct engine *engine, uint32_t id, uint32_t generation);
/* Gives back the memory and the index of a port that has ended and that nobody looks at any more
 * (reap.h). */
void port_forget(struct engine *engine, uint32_t id);
void port_close_all(struct engine *engine);

/* Takes what is there and routes it; closes the port when it is to be closed and drained, or
 * broken. The caller holds the owner word; port_run gives it back (or keeps it for ever when the
 * port is dead). `may_run`: a single record may become its receiver's batch at once; returned is
 * that queue, whose owner word the caller holds now and which it must run; -1: none. */
int64_t port_run(struct worker *w, uint32_t id, bool may_run);
/* Is there anything that a run of the port would do? A hint: it is looked at by anybody. */
bool port_has_work(struct engine *engine, uint32_t id);
bool port_is_drained(struct engine *engine, uint32_t id);
/* Records that are published and not taken yet, as far as they can be believed. */
uint64_t port_count_published(struct engine *engine, uint32_t id);
/* Visible cursors from the durable ones (recovery pass 5). */
void port_publish_cursors(struct engine *engine, uint32_t id);
