/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that do not return, told in the log.  Control thread only. */
#pragma once

#include "daemon/executor/executor.h"

/* From here on the engine's looks are made when they are due.  0, or libuv's error. */
int stalls_start(struct executor *executor);
