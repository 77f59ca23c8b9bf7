/* SPDX-License-Identifier: Apache-2.0 */
/* On which memory node the workers' memory lies, by way of engine_config.bind_memory; and the
 * engine's own copies of the places.
 *
 * Threads: the control thread; the copies are read by workers, which stand while they change.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Own copies of cpus, nodes and distances, for as long as the engine lives. */
int memory_init(struct engine *engine);
void memory_fini(struct engine *engine);
void memory_copy_places(struct engine *engine, const struct engine_config *config);

/* Windows and outboxes of all workers, before their pages are touched.  What fails is counted. */
void memory_bind_segment(struct engine *engine);
/* Zeroed pages of the process for worker `id`, on its node. */
void *memory_alloc(struct engine *engine, uint32_t id, uint64_t bytes);
void memory_free(void *address, uint64_t bytes);
