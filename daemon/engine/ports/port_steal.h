/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that their owner does not get to: another worker takes them.
 *
 * Threads: the thief's own.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* A port with work of a busy worker, polled ones included, if that one is not away (set_aside.A9),
 * taken with `busy` set before it: of at most so many that are open, behind the thief's last ones
 * (steal.T5). -1: none. */
int64_t port_steal(struct worker *thief, uint32_t most, uint32_t *ret_victim);
/* Serves ports whose owner has not come to a commit since the last look (help.K4), each once. */
void port_rescue(struct worker *w);
