/* SPDX-License-Identifier: Apache-2.0 */
/* Sending, the general form: any size, a correlation id, in another's name. The short ways are in
 * engine_context.c, and come here when something is not as simple as it is there.
 *
 * Threads: a worker's own, from within a turn; the control thread's sends come this way, too. Where
 * a record goes is place.h's (place.U3, place.U5).
 */
#pragma once

#include "daemon/engine/core/core.h"

struct compose {
    actor_ref to, from;
    uint64_t meta; /* type and behaviour, as envelope_meta() without a length */
    uint64_t correlation;
    uint8_t flags; /* enum envelope_flags */
    uint8_t hops;
    /* Of a receiver that has ended: whoever `from` is, is told, as when it ends later; else it is a
     * dead letter. */
    bool tells;
    const void *head, *tail;
    size_t head_size, tail_size;
};
/* 0: sent, or dropped as the receiver's policy says; -EMSGSIZE, -ESRCH, -ENOBUFS, -EAGAIN;
 * -EINVAL: the type is MESSAGE_TYPE_NONE, of which recovery would say that it is no record. */
int compose_send(struct worker *w, const struct compose *what);

/* 1: to be appended all the same; 0: dropped; negative: refused. */
int compose_at_limit(struct worker *w, actor_ref to, uint64_t meta, uint32_t destination,
                     uint64_t size);
