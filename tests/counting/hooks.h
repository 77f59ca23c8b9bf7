/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's sources are compiled with here, behind the simulator's shim: copies and
 * prefetches tell what they read and write. For all other accesses the compiler calls hooks.c, as
 * it would call the library of ThreadSanitizer. */
#pragma once

#include <stddef.h>
#include <string.h>

void count_read(const volatile void *at, size_t bytes);
void count_written(const volatile void *at, size_t bytes);

#define HOOK_FUNCTION static inline __attribute__((always_inline, unused, no_sanitize("thread")))

HOOK_FUNCTION void *hook_memcpy(void *to, const void *from, size_t bytes)
{
    count_read(from, bytes);
    count_written(to, bytes);
    return __builtin_memcpy(to, from, bytes);
}

HOOK_FUNCTION void *hook_memmove(void *to, const void *from, size_t bytes)
{
    count_read(from, bytes);
    count_written(to, bytes);
    return __builtin_memmove(to, from, bytes);
}

HOOK_FUNCTION void *hook_memset(void *to, int value, size_t bytes)
{
    count_written(to, bytes);
    return __builtin_memset(to, value, bytes);
}

/* A line that is asked for comes, whether or not it is touched then. */
HOOK_FUNCTION void hook_prefetch(const volatile void *at, int writes)
{
    if (writes)
        count_written(at, 1);
    else
        count_read(at, 1);
}

#define HOOK_FIRST(first, ...)      first
#define __builtin_prefetch(at, ...) hook_prefetch((at), HOOK_FIRST(__VA_ARGS__ __VA_OPT__(, ) 0))

#define memcpy  hook_memcpy
#define memmove hook_memmove
#define memset  hook_memset
