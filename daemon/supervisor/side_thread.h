/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the event loop's, for what may wait: nobody joins them, and no signal is handled
 * in them, since signals are the loop's.
 *
 * No state; event loop thread only.
 */
#pragma once

/* 0, or negative errno: there is no thread to be had. */
int side_thread_make(void *(*run)(void *argument), void *argument);
