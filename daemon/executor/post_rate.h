/* SPDX-License-Identifier: Apache-2.0 */
/* The quota of posts: ports whose users are bound are granted records as their users' rate allows
 * (rate.h, engine/port_rate.h).
 *
 * Control thread. Nothing is periodic: a port that has used up its grant says so, and a timer runs
 * only while one waits.
 */
#pragma once

#include <stdint.h>

#include "daemon/executor/executor.h"

void post_rate_start(struct executor *executor);
void post_rate_stop(struct executor *executor);
/* Whether a port of a bound user is opened with a rate. */
bool post_rate_is_set(const struct executor *executor);
/* A bound user's port is open. */
void post_rate_add(struct executor *executor, const struct engine_port_info *info, uid_t uid);
void post_rate_remove(struct executor *executor, uint32_t port, uint32_t generation);
void post_rate_on_spent(struct executor *executor, const struct engine_event *event);
/* The setting may have changed. */
void post_rate_update(struct executor *executor);
/* The end: what has been posted is taken as fast as it can be. */
void post_rate_lift(struct executor *executor);
