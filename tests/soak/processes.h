/* SPDX-License-Identifier: Apache-2.0 */
/* The service's processes, as they are at the moment. */
#pragma once

#include "tests/system/harness.h"

/* From the statistics, whose file is another one after each start of the supervisor. False: there
 * is none at the moment. */
bool soak_state(const struct service *service, struct odeon_stats_service *ret_state);
/* SIGKILL to a child of `parent`, and to nobody else who may have got the id meanwhile. */
bool soak_kill_child(pid_t pid, pid_t parent);
/* This program once more, as client number `index`, called `name`, with `shared_fd` as `as_fd`; it
 * ends with this process. -1: it could not be made. */
pid_t soak_client_start(const char *name, unsigned index, int shared_fd, int as_fd);
