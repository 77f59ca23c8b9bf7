/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that are due, in the executor's loop.  Control thread only. */
#pragma once

#include "daemon/executor/executor.h"

/* From here on what is due is sent.  0, or libuv's error. */
int timers_start(struct executor *executor);
