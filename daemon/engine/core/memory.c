/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int memory_init(struct engine *e)
{
    size_t n = e->segment.workers_max;
    e->memory.cpus = calloc(n, sizeof(*e->memory.cpus));
    e->memory.nodes = calloc(n, sizeof(*e->memory.nodes));
    e->memory.distances = calloc(n * n, sizeof(*e->memory.distances));
    e->aside = calloc(n, sizeof(*e->aside));
    if (!e->memory.cpus || !e->memory.nodes || !e->memory.distances || !e->aside)
        return -ENOMEM;
    struct engine_config given = e->config;
    memory_copy_places(e, &given);
    return 0;
}

void memory_fini(struct engine *e)
{
    free(e->memory.cpus);
    free(e->memory.nodes);
    free(e->memory.distances);
    free((void *)e->aside);
}

void memory_copy_places(struct engine *e, const struct engine_config *config)
{
    size_t n = e->segment.workers_max;
    if (config->cpus && config->cpus != e->memory.cpus)
        memcpy(e->memory.cpus, config->cpus, n * sizeof(*e->memory.cpus));
    if (config->nodes && config->nodes != e->memory.nodes)
        memcpy(e->memory.nodes, config->nodes, n * sizeof(*e->memory.nodes));
    if (config->distances && config->distances != e->memory.distances)
        memcpy(e->memory.distances, config->distances, n * n * sizeof(*e->memory.distances));
    e->config.cpus = config->cpus ? e->memory.cpus : NULL;
    e->config.nodes = config->nodes ? e->memory.nodes : NULL;
    e->config.distances = config->distances ? e->memory.distances : NULL;
}

static void memory_bind(struct engine *e, uint32_t id, void *address, uint64_t bytes)
{
    if (!e->config.bind_memory || id >= e->segment.workers_max)
        return;
    /* unknown: the segment may still know what an earlier run has asked for */
    int node = e->config.nodes ? e->memory.nodes[id] : -1;
    if (e->config.bind_memory(e->config.userdata, address, bytes, node) < 0)
        e->memory.binds_failed++;
}

void memory_bind_segment(struct engine *e)
{
    const struct segment *s = &e->segment;
    /* both buffers lie together, and so do a worker's queues */
    uint64_t queue_bytes = 2 * s->header->window_bytes;
    for (uint32_t id = 0; id < s->workers_max; id++) {
        memory_bind(e, id, segment_window(s, id * s->queues_per_worker, 0),
                    s->queues_per_worker * queue_bytes);
        memory_bind(e, id, segment_window(s, s->pinned_first + id, 0), queue_bytes);
        memory_bind(e, id, segment_window(s, segment_urgent_queue(s, id * s->queues_per_worker), 0),
                    s->queues_per_worker * queue_bytes);
        memory_bind(e, id, segment_window(s, segment_urgent_queue(s, s->pinned_first + id), 0),
                    queue_bytes);
        memory_bind(e, id, segment_window(s, segment_urgent_queue(s, s->aside_first + id), 0),
                    queue_bytes);
        memory_bind(e, id, segment_window(s, s->aside_first + id, 0), queue_bytes);
        memory_bind(e, id, segment_outbox(s, id), s->header->outbox_bytes);
    }
}

void *memory_alloc(struct engine *e, uint32_t id, uint64_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    memory_bind(e, id, address, bytes);
    return address;
}

void memory_free(void *address, uint64_t bytes)
{
    if (address)
        munmap(address, bytes);
}
