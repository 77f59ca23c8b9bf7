/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that want to know of the end of others: of clients' ports, which end when those die or
 * go, of mayflies, which end soon, and of roots, which begin anew behind a crash or never end.
 *
 * watchers.WR1  Of each end that a client watches it is told once, not before, and no more when it
 *     has died itself.
 * watchers.WR2  A watch that is given up is told nothing, or the client is told that there is none
 *     any more: then its end has been told. Never both, and never neither.
 * watchers.WR3  In the end there is no watch left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/envelope.h"
#include "proto/reference.h"

enum { WATCHES_MAX = 8 };

struct workload_client;

struct watched_end {
    actor_ref whom;
    uint64_t id;
    uint32_t crashes;             /* before it */
    bool told, given_up, refused; /* refused: it is given up, and there is none */
};

/* Of a client in this life. */
struct watched_ends {
    uint32_t most; /* 0: it watches nobody */
    uint32_t n;
    struct watched_end of[WATCHES_MAX];
};

/* Behind everything else that is drawn, by chances of its own. */
void watchers_draw(void);
/* Now and then it begins a watch, or gives one up. */
void watchers_post(struct workload_client *wc);
/* Its last life is over when it has been told of all ends that there were, and has given up the
 * rest. */
void watchers_finish(struct workload_client *wc);
void watchers_told(struct workload_client *wc, const struct envelope *record);
/* False: it is none of theirs. */
bool watchers_refused(struct workload_client *wc, const struct refusal *refusal);
/* Of a client that is there, when nothing is under way any more. */
void watchers_check_end(const struct workload_client *wc);
