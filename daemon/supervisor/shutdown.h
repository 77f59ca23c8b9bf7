/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the service: no new clients, the executor works off what it was sent, then everything
 * goes. Event loop thread only.
 *
 * A second signal, not within a moment of the first, ends it at once: the executor is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/control.pb-c.h"

struct supervisor;

struct shutdown {
    uv_timer_t timer; /* the executor has had its time */
    uint64_t drain_id;
    uint64_t begun_ns, deadline_ns;
    bool drained, complete, killed;
    uint64_t unreceived;
};

void shutdown_init(struct supervisor *supervisor);
void shutdown_fini(struct supervisor *supervisor);
/* Also for the second signal. */
void shutdown_begin(struct supervisor *supervisor, const char *why);
void shutdown_on_ready(struct supervisor *supervisor);
bool shutdown_handle_report(struct supervisor *supervisor, const Odeon__Report *report);
void shutdown_on_exit(struct supervisor *supervisor, int wait_status);
