/* SPDX-License-Identifier: Apache-2.0 */
/* Phases: an actor becomes another one of its type's sets of behaviours, for the messages behind
 * the one that says so. All sets of a type have the same messages under the same indices, so that a
 * set is a structure like the type's own, and which one an actor has stands where its type does, in
 * its key: running a message costs what it costs without (docs/engine/phases.md).
 *
 * Which one it is stands in the actor's slot, as a number in the segment's table of names, which
 * only grows; what a number means is a name, whatever plugin brings the behaviours.
 *
 * Threads: becoming by the worker id that runs the turn; names by the control thread; recovery
 * before there are any.
 *
 * phases.PH1  Another set is true with the commit of the turn that asked for it, and void without
 *     it: until then the slot's tag is its worker's count, and the set before stands beside the new
 *     one. Recovery goes back to it [PHASE_NOTAG] before any count changes [PHASE_LATE].
 * phases.PH2  The set before is the only one in the word while the tag changes [PHASE_TORN], and
 *     the new one is stored behind the tag [PHASE_EARLY]; however often a turn changes it, the one
 *     before is that of the last turn [PHASE_TWICE].
 * phases.PH3  A set belongs to a generation of the slot: whoever is spawned there has the first one
 *     without a store. One that begins anew behind a crash has it, too.
 * phases.PH4  No plugin is run for a kept actor of a set that it does not have, by name: it is
 *     refused. A plugin whose first set has another name is one whose sets are in another order.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Within a turn. 0; -ENOENT: its type has no set of that name; -EPERM: outside of one. */
int phases_become(struct worker *w, const char *name);

/* Of the actor in `slot`, whose slot has this word: what its key has in the place of the type. */
uint32_t phases_key_type(const struct segment *segment, uint32_t slot, uint64_t word);
/* What the actor that has this key is; "": its type has one set, which has no name. */
const char *phases_name(const struct engine *engine, uint64_t key);

/* Recovery: sets that no commit stands behind (phases.PH1). */
void phases_undo(struct engine *engine);
/* It has lost its state: it begins with the first set (phases.PH3). */
void phases_begin_anew(struct engine *engine, uint32_t slot);

/* A type is loaded. -ENOENT: an actor lives in a set that it has not (phases.PH4). */
int phases_check(struct engine *engine, const struct engine_actor_type_info *info, uint32_t id);
/* How many names the table gets by phases_open(). */
uint32_t phases_count_new(const struct engine *engine, const struct engine_actor_type_info *info,
                          uint32_t id);
/* Memory for its sets; -ENOMEM, what there is of it goes with phases_free(). */
int phases_make(const struct engine_actor_type_info *info, struct actor_type *first);
/* With that. -ENOSPC: there are as many names as may be. */
int phases_open(struct engine *engine, const struct engine_actor_type_info *info,
                struct actor_type *first);
/* All its sets but the first can be found from now on, or not. */
void phases_publish(struct engine *engine, const struct actor_type *first, bool known);
/* With all its sets; NULL is nothing. */
void phases_free(struct actor_type *first);
