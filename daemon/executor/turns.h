/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread counts its own turns (turn_count.h): the longest one since the executor was
 * ready, and what that was at for the most of it, stand in the statistics.
 *
 * Control thread only.
 *
 * turns.TU2  What a turn waits for others is no processor time: that is counted where it waits
 *     (control_waits, docs/engine/control.md).
 */
#pragma once

struct executor;

void turns_start(struct executor *executor);
void turns_stop(struct executor *executor);
/* A piece of work begins. `what`: static text. */
void turns_begin_piece(struct executor *executor, const char *what);
