/* SPDX-License-Identifier: Apache-2.0 */
/* Message objects: storage for messages that plugins fill first and send later (struct
 * odeon_message_object).
 *
 * One pool an executor. Each worker touches its own part only; the totals are read by the control
 * thread. An object may be freed on another worker than the one that made it.
 *
 * message_object.M1  A type's storage that waits for the next object of its kind (ODEON_DESTROY)
 *     belongs to the worker that sent the last one.
 * message_object.M2  A worker's counters have one writer, the worker.
 * message_object.M3  An object is live, finished or free; what is not a live or finished object of
 *     ours is refused, not followed.
 */
#pragma once

#include <odeon/plugin.h>
#include <stdint.h>

struct message_pool;

/* For workers 0 to n_workers - 1 and the control thread, whose id comes next. */
int message_pool_new(unsigned n_workers, struct message_pool **ret_pool);
struct message_pool *message_pool_free(struct message_pool *pool);

/* NULL: no memory, a type that has not been registered (errno EINVAL), or larger than any message
 * (errno EMSGSIZE). */
struct odeon_message_object *message_object_new(struct message_pool *pool, unsigned worker,
                                                const struct odeon_message_type *type,
                                                size_t tail_size);
/* Before a send. 0; -ESTALE: finished, or no object any more; -EMSGSIZE: more than the object has;
 * -EINVAL: bad allocation. */
int message_object_check(struct message_pool *pool, const struct odeon_message_object *object,
                         size_t size);
/* After a send that succeeded: does what object->allocation says. */
void message_object_sent(struct message_pool *pool, unsigned worker,
                         struct odeon_message_object *object);
/* Gives the storage back, without fini. 0; -ESTALE: no object; positive: it had never been sent,
 * and is the how manieth such one on this worker. */
int message_object_free(struct message_pool *pool, unsigned worker,
                        struct odeon_message_object *object);

struct message_pool_totals {
    uint64_t made, sent, freed_unsent;
};
/* Of all workers; sent counts an object once.  Exact when workers stand still. */
void message_pool_get_totals(const struct message_pool *pool,
                             struct message_pool_totals *ret_totals);
