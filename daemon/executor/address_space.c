/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/executor/address_space.h"

#include <stddef.h>
#include <sys/mman.h>

enum { MOST_BITS = 46, LEAST_BITS = 30 };

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
