/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's page: 4 KiB, and on AArch64 as the kernel was built 16 or 64 KiB, too. */
#pragma once

#include <stdint.h>
#include <unistd.h>

static inline uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}
