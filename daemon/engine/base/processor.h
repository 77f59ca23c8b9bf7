/* SPDX-License-Identifier: Apache-2.0 */
/* For how long a thread could have run and had no processor.
 *
 * The kernel tells in a file: five to ten microseconds a look. Where it does not (a kernel without
 * CONFIG_SCHED_INFO, /proc not there) nobody ever lacks one; nor in the simulator, where each
 * thread has one whenever it wants one. Where it cannot be asked just now (no descriptor is left)
 * the answer is the last one.
 *
 * Threads: any, of itself.
 */
#pragma once

#include <stdint.h>

/* Of the calling thread, since it began. */
uint64_t processor_lacked_ns(void);
