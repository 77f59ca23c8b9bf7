/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that disturbs the service while others measure: it kills the executor, or changes a
 * setting, once a period. It has a connection of its own. */
#pragma once

#include <stdint.h>

struct options;

/* Begins, if that was asked for. 0, or an enum session_exit after having said why. */
int disturb_start(const struct options *options);
/* Waits for the last disturbance to be over. 0, or an enum session_exit. */
int disturb_stop(void);
/* How many there were so far. Any thread. */
uint64_t disturb_events(void);
