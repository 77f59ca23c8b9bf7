/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that say nothing: one that has not said hello within the time that the configuration
 * allows is ended, so that it does not hold a place that its user, or others, could use.
 *
 * Event loop thread only.
 *
 * A client that is not read from is not silent: the time that it is held back is none of its.
 *
 * silence.L1  The timer runs while there is somebody who has not said hello, and only then: an idle
 *     service is not woken.
 */
#pragma once

#include <uv.h>

struct clients;

struct silence {
    struct clients *clients;
    uv_timer_t timer;
};

void silence_start(struct silence *silence, uv_loop_t *loop, struct clients *clients);
/* Somebody has come, or has gone. */
void silence_watch(struct silence *silence);
