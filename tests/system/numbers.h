/* SPDX-License-Identifier: Apache-2.0 */
/* A client that posts consecutive numbers through a relay to an echo and notes, as a history, what
 * comes back; the checker says whether it is each of them once, in order. What every test of
 * disturbances has running beside it.
 *
 * It has a thread, a connection and a port of its own; the thread writes what is said to be its own
 * in struct numbers, others read the atomics. Needs the plugin `probe`.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/history/history.h"
#include "tests/system/harness.h"

struct numbers {
    /* set before the start */
    const struct service *service;
    uint64_t window; /* at most so many are under way; 0: 64 */

    _Atomic uint64_t posted;
    _Atomic uint64_t received;
    _Atomic bool stop, done;

    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref relay;
    uint32_t type;
    struct history *history; /* the thread's, until joined */
    char wrong[256];         /* ... what went wrong first, apart from the numbers */
    pthread_t thread;
};

/* Loads nothing: the plugin must be there.  Spawns its two actors. */
void numbers_start(struct numbers *numbers, const struct service *service, uint64_t window);
/* Until `more` further ones have come back. */
void numbers_wait(struct numbers *numbers, uint64_t more);
/* Posts no more, waits for what is under way, has the history judged. */
void numbers_finish(struct numbers *numbers);
