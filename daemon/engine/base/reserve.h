/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as large as a setting allows: address space, zeroed, of which only what is used becomes
 * memory.
 *
 * Threads: whoever makes the table, and whoever gives it back.
 */
#pragma once

#include <stddef.h>
#include <sys/mman.h>

/* NULL: there is no room. */
static inline void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}
/* Of that size. NULL is none. */
static inline void reserve_free(void *at, size_t bytes)
{
    if (at)
        munmap(at, bytes);
}
