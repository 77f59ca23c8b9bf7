/* SPDX-License-Identifier: Apache-2.0 */
/* A memory control group of the test's own, of either version: what is started while the test is in
 * it is bounded and counted by the kernel.
 *
 * One of a process, by the thread that runs the tests. Needs root, and a kernel that lets it make
 * groups.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* `bytes`: what it may have, as the kernel takes it ("150M").  False: nobody makes one here. */
bool memory_group_make(const char *bytes);
/* The caller, and who is forked then.  Without a group nothing happens, and nothing is counted. */
void memory_group_enter(void);
/* Back into the group above. */
void memory_group_leave(void);
/* Pages of processes in the group and of memory files that they were the first to touch, in
 * bytes. */
uint64_t memory_group_touched(void);
/* Its processes have ended, or are about to; no harm where there is none. */
void memory_group_end(void);
