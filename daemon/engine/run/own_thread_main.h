/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread of a detached actor does (own_thread.h): runs the one queue of its slot, and
 * sleeps when there is nothing. engine_open() puts it into engine.own_thread_main, since what wakes
 * such a thread lies below what it runs.
 */
#pragma once

/* The argument is the worker block of the slot. */
void *own_thread_main(void *argument);
