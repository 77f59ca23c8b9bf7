/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/executor/address_space.h"

#include <stddef.h>
#include <sys/mman.h>

/* ThreadSanitizer leaves a program 1.5 TiB, and ends one that maps beyond. */
#if defined(__SANITIZE_THREAD__)
enum { MOST_BITS = 39 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { MOST_BITS = 39 };
#else
enum { MOST_BITS = 46 };
#endif
#else
enum { MOST_BITS = 46 };
#endif
enum { LEAST_BITS = 30 };

uint64_t address_space_for_segment(void)
{
    for (unsigned bits = MOST_BITS; bits > LEAST_BITS; bits--) {
        void *room = mmap(NULL, (size_t)1 << bits, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (room == MAP_FAILED)
            continue;
        munmap(room, (size_t)1 << bits);
        return UINT64_C(1) << bits;
    }
    return UINT64_C(1) << LEAST_BITS;
}
