/* SPDX-License-Identifier: Apache-2.0 */
/* The mapped engine segment: sizes, offsets, checks on opening (docs/shared-memory.md).  Owned by the engine; every thread of the
 * executor reads the pointers, nobody changes them after segment_open().
 *
 * What it does not do: give the tables a meaning; that is queue, actors, outbox, port and recover.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "proto/segment_layout.h"

struct segment {
    uint8_t *base;
    uint64_t size;
    struct segment_header *header;
    struct segment_worker *workers;
    struct segment_queue *queues; /* Q message queues, P backlogs, 1 of dead letters */
    struct segment_actor *actors;
    uint8_t *args;
    struct segment_message_type *message_types;
    struct segment_actor_type *actor_types;
    struct segment_name *names;
    struct segment_port *ports;
    uint32_t n_queues, n_ids, dead_letters; /* dead_letters: id of that queue */
};

uint64_t segment_size(const struct engine_config *config);
int segment_open(struct segment *segment, const struct engine_config *config, int fd, const char **reterr_text);
void segment_close(struct segment *segment);

/* Either buffer of any queue, and its size. */
uint8_t *segment_window(const struct segment *segment, uint32_t queue, unsigned buffer);
uint64_t segment_window_bytes(const struct segment *segment, uint32_t queue);
uint8_t *segment_outbox(const struct segment *segment, uint32_t id);

static inline uint32_t segment_port_destination(const struct segment *segment, uint32_t port)
{
    return segment->n_queues + port;
}
static inline uint32_t segment_port_source(const struct segment *segment, uint32_t port)
{
    return segment->dead_letters + 1 + port;
}
