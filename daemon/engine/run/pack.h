/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: actors that have little to do but to send to each other, all over the workers, are
 * brought together on fewer of them, where that is measured to be faster (docs/engine/packing.md).
 *
 * A message to another worker's queue takes lines of memory to another core and back, some hundred
 * nanoseconds; a small handler takes ten. So two workers may be slower than one, and only a trial
 * tells. The control thread makes it when crossings may be half of what workers do: half of the
 * workers rest for some milliseconds, and it is compared how many messages are run.
 *
 * A worker that rests looks for no work of others, and nobody wakes it to help. What it has it
 * runs; its queues are taken over by workers that do not rest when they send to them, as queues
 * that follow are (wake.h), and go back when it rests no more. So those of its queues that send to
 * each other alone stay where they are, and lose nothing by it.
 *
 * pack.PK1  Who rests is a hint: whoever reads it late takes a source over, or leaves it, by the
 *     rules of owner words. What changes it wakes all workers, which look around [PACK_WAKE].
 * pack.PK2  A source that was taken over is lent: it goes back to the worker that had it, if that
 *     one rests no more, behind its next run, by the rules of a visit [VISIT_ORDER,
 *     VISIT_RECHECK]. Pinned, following and detached ones are never lent, nor ports.
 * pack.PK3  Nobody rests while a worker that does not is silent for as long as a look takes
 *     (stall.WA5), while messages take long, or while `stealing` is none or share.
 *
 * Threads: the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Nothing has been tried. */
struct packing pack_begin(void);
/* What a look at what was done comes to: so many workers work from now on. `workers` do just now,
 * of `most`; `now` has the time and the counters. */
uint32_t pack_decide(struct packing *packing, const struct pack_work *now, uint32_t workers,
                     uint32_t most);
/* A look at the counters, now and then while anybody is busy. */
void pack_look(struct engine *engine, uint64_t now_ns);
/* So many workers work from now on, and the others rest: 1 to engine_workers(). */
void pack_set(struct engine *engine, uint32_t active);
/* All work: the workers, their number or what they do changes. */
void pack_forget(struct engine *engine);
