/* SPDX-License-Identifier: Apache-2.0 */
/* odeond's event loop counts its own turns (turn_count.h): the longest since it began to serve, and
 * what that was at for the most of it, are told with the status.
 *
 * Event loop thread only.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

void turns_start(uv_loop_t *loop);
void turns_stop(void);
/* odeond serves: what turns took until now was its start. */
void turns_count_from_now(void);
/* Which one this is: from 1 on. */
uint64_t turns_number(void);
/* A piece of work begins. `what`: static text. */
void turns_begin_piece(const char *what);
/* Processor time, and what it was; "": it has no name. */
uint64_t turns_get_longest_ns(const char **ret_work);
