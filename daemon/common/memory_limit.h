/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the service may use: what the machine has, or less where a control group bounds
 * it (MemoryMax=), its own or one above.
 */
#pragma once

#include <stdint.h>

/* Bytes; 0: nobody can tell. Reads files of /proc and /sys; any thread. */
uint64_t memory_limit_for_service(void);
/* The same with other roots, for tests: `proc` is what /proc/self is, `sys` what /sys/fs/cgroup is;
 * `machine_bytes` what there is without control groups. */
uint64_t memory_limit_read(const char *proc, const char *sys, uint64_t machine_bytes);
