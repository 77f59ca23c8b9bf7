/* SPDX-License-Identifier: Apache-2.0 */
/* Into how many groups a flush would sort what workers send, if it came at other times than it
 * does: the sends as they were made, cut anew. */
#pragma once

#include <stdint.h>

#include "daemon/engine/core/core.h"

/* When what has been sent leaves: behind so many bytes of the outbox, or so long after the first of
 * it (0: however long). */
struct cut {
    const char *name;
    uint64_t bytes, ns;
};
enum { CUTS_N = 3 };
extern const struct cut cuts[CUTS_N];

/* `crossing`: groups by queue, for queues of other workers; `homes`: groups by worker, likewise. */
struct cut_count {
    uint64_t messages, flushes, groups, crossing, homes;
};

void groups_begin(const struct engine *engine);
void groups_end(void);
/* A worker has put an envelope of `bytes` for `to` into its outbox. */
void groups_sent(uint32_t worker, actor_ref to, uint64_t bytes, uint64_t now_ns);
/* From zero. */
void groups_measure(void);
const struct cut_count *groups_of(uint32_t cut);
