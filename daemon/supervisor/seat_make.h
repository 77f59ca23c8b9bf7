/* SPDX-License-Identifier: Apache-2.0 */
/* What a seat needs before an executor can sit in it, as far as a former service has not left it:
 * the program, segment and statistics, copies of the configured plugins. Event loop thread only. */
#pragma once

#include <stdbool.h>

struct seat;

/* 0 or negative errno; the log says why. `only_check`: nothing is made, the executor judges the
 * settings, and the files of plugins. */
int seat_make_memory(struct seat *seat, bool only_check);
int seat_make_plugins(struct seat *seat, bool only_check);
