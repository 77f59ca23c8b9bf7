/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that cannot be answered yet, because workers have to come to some point first: nobody
 * waits for them, they are asked again.
 *
 * Control thread only.
 *
 * command_later.L1  One at a time, in the order in which they came: the others are asked for the
 *     first time when it is their turn.
 * command_later.L2  Each is answered once, also when the executor is about to stop.
 */
#pragma once

#include "daemon/executor/executor.h"
#include "proto/control.pb-c.h"

/* Answers it. False: it cannot be answered yet. */
typedef bool (*command_later_fn)(struct executor *executor, uint64_t command,
                                 const Odeon__Request *request);

/* Of a copy of the request; without one for what the executor does by itself.  NULL: no memory. */
struct command_later *command_later_new(const struct executor *executor, uint64_t command,
                                        const Odeon__Request *request, command_later_fn answer);
struct command_later *command_later_free(struct command_later *later);
/* Behind those that are there. Asked again each millisecond, and by command_later_look(). */
void command_later_add(struct executor *executor, struct command_later *later);
/* The first ones, as far as they can be answered. */
void command_later_look(struct executor *executor);
/* Before the workers stop: what was about to happen does not, `later_ends` has all be refused, and
 * who has asked is told. */
void command_later_end(struct executor *executor);
