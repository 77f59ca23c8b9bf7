/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's id on what a message causes: the optional words that records have which are written
 * while a message with such an id runs (run/traced.h), and only then.
 *
 * tag.TG1  Whoever writes a record in a turn's name asks here, but for what is sent again and again
 *     (a periodic timer), what tells of an end, what is written for an actor's membership of a
 *     group, and what a member at its limit gets of it later: none of these has an id.
 *
 * Threads: a worker's own, from within a turn; the control thread, which runs nothing traced.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The id that what is sent now has, 0: none. */
static inline uint64_t tag_of(const struct worker *w)
{
    return w->place.trace;
}

/* Of a record that is sent now: its id, and when that was. */
static inline unsigned tag_prefix(const struct worker *w)
{
    return unlikely(tag_of(w)) ? PREFIX_TRACE | PREFIX_ACCEPTED : 0;
}
/* Of a record whose prefix has both. */
void tag_put(const struct worker *w, struct envelope *out, unsigned hops);

/* Of a record that is sent later, so that nobody knows when: the id alone. */
static inline unsigned tag_later_prefix(const struct worker *w)
{
    return unlikely(tag_of(w)) ? PREFIX_TRACE : 0;
}
