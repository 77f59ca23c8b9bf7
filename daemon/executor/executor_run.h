/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's event loop, on the control thread: it hands each command to the module that
 * carries it out, and tells the start (start.h) when a port or a plugin that it waits for is
 * through.
 */
#pragma once

/* Runs until the supervisor says so, or has gone.  The process's exit status. */
int executor_run(int control_fd);
