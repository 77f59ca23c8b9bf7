/* SPDX-License-Identifier: Apache-2.0 */
/* How large a segment can be mapped here.
 *
 * A segment reserves addresses for everything that could ever wait; memory comes with the first
 * touch. Most kernels have 47 bits of addresses for a process, some have 39 (AArch64 with pages of
 * 4 KiB and three levels).
 */
#pragma once

#include <stdint.h>

/* Bytes that a segment may have: half of what a process can map at once, or less. The same at each
 * start on a machine, unless the process's own limit (LimitAS=) changes. Any thread. */
uint64_t address_space_for_segment(void);
