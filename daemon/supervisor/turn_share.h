/* SPDX-License-Identifier: Apache-2.0 */
/* How long a turn of the loop is at what one user's clients ask for, in processor time: who keeps
 * it longer waits for the next turn, in which everybody else is looked at first.
 *
 * Event loop thread only.
 *
 * turn_share.H1  A user has TURN_SHARE_NS of a turn, and each of its clients TURN_PART_NS of that;
 *     what is begun is ended, so that either is exceeded by one request at most.
 * turn_share.H2  A client that was served is served again only when those of its user for whom
 *     nothing was left have been: they take turns, whatever the order in which they are asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TURN_SHARE_NS UINT64_C(2000000)
#define TURN_PART_NS  UINT64_C(1000000)

struct turn_share {
    uint64_t turn, round; /* the last turn that it was asked in; turn_share.H2 */
    uint64_t used_ns;     /* of that turn */
    bool is_short;        /* somebody has found nothing left in it */
};
/* A client's. */
struct turn_part {
    uint64_t turn, round, used_ns;
};

/* Whether the client is read from in this turn (a number that grows, from 1 on). */
bool turn_share_may(struct turn_share *share, struct turn_part *part, uint64_t turn);
/* So much of this turn went on the client.  True: it has had its part, or its user the share. */
bool turn_share_count(struct turn_share *share, struct turn_part *part, uint64_t turn, uint64_t ns);
