/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's memory is called, eight bytes at a time. */
#pragma once

#include <stdint.h>

#include "daemon/engine/core/core.h"

/* name, what it is for people */
#define WORDS(W)                                                                                   \
    W(OTHER, "other")                                                                              \
    W(RECORD, "record")                                                                            \
    W(OUTBOX, "outbox")                                                                            \
    W(QUEUE_LOCK, "queue.lock+sel")                                                                \
    W(QUEUE_LEN, "queue.len")                                                                      \
    W(QUEUE_REST, "queue.rest")                                                                    \
    W(COMMIT, "commit-record")                                                                     \
    W(JOURNAL, "journal")                                                                          \
    W(DURABLE_REST, "worker-in-segment")                                                           \
    W(SLOT, "actor-slot")                                                                          \
    W(PORT_CURSORS, "port-cursors")                                                                \
    W(SEGMENT_REST, "segment.rest")                                                                \
    W(ACTOR_KEY, "actor.key")                                                                      \
    W(ACTOR_STATE, "actor.state")                                                                  \
    W(ACTOR_TYPE, "actor-type")                                                                    \
    W(SOURCE_OWN, "source.own")                                                                    \
    W(SOURCE_REST, "source.home+flags")                                                            \
    W(URGENT, "urgent")                                                                            \
    W(ASIDE, "aside")                                                                              \
    W(STALLS, "stalls")                                                                            \
    W(SHOWN_BUSY, "shown.busy")                                                                    \
    W(SHOWN_PASSES, "shown.passes")                                                                \
    W(SHOWN_REST, "shown.rest")                                                                    \
    W(CALLED_READY, "called.ready-pointer")                                                        \
    W(CALLED_HINT, "called.hint+given")                                                            \
    W(CALLED_SHOWS, "called.summary+stamp+polled")                                                 \
    W(READY, "ready")                                                                              \
    W(WORKER_ID, "worker.engine+id")                                                               \
    W(WORKER_BATCH, "worker.batch")                                                                \
    W(WORKER_REST, "worker.rest")                                                                  \
    W(SLEEPERS, "sleepers")                                                                        \
    W(SETTINGS, "engine.steal+pause")                                                              \
    W(WATCH, "watch")                                                                              \
    W(WORKERS, "engine.workers[]")                                                                 \
    W(ENGINE_REST, "engine.rest")                                                                  \
    W(SEARCHING, "searching")                                                                      \
    W(COMMON, "common")                                                                            \
    W(FIXED, "fixed")                                                                              \
    W(PORTS_OPEN, "ports.open")                                                                    \
    W(PORT, "port")                                                                                \
    W(PORT_SERVICE, "port-words-of-service")                                                       \
    W(PORT_CLIENT, "port-words-of-client")                                                         \
    W(RING, "ring")                                                                                \
    W(STATISTICS, "statistics")                                                                    \
    W(NEAR, "near")                                                                                \
    W(LIVE, "placing.live")                                                                        \
    W(MUTEX, "mutex")                                                                              \
    W(FENCE, "(full barrier)")

enum word {
#define W(name, text) WORD_##name,
    WORDS(W)
#undef W
        WORDS_N
};

const char *word_text(enum word word);
/* The engine is open, and its ports are. */
void words_init(const struct engine *engine);
uint8_t words_name(uint64_t address);
/* The queue whose lock this is, -1: none. */
int64_t words_queue_of_lock(uint64_t address);
