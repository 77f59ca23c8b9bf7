/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kill has been tried: the instructions behind or before which a traced process has stood,
 * and those of recovery's stores. Which functions they are of, and that none of the engine is
 * missing, is said by unstepped.sh. */
#include <stdio.h>
#include <stdlib.h>

#include "crash.h"

extern const char __executable_start[], __etext[];

/* A byte for each one of the program's text; all processes are copies of the first one. */
static _Atomic uint8_t *been;

void places_init(void)
{
    been = states_map((size_t)(__etext - __executable_start));
}

void places_note(uint64_t at)
{
    uint64_t byte = at - (uint64_t)(uintptr_t)__executable_start;
    if (byte < (uint64_t)(__etext - __executable_start))
        atomic_store_explicit(&been[byte], 1, memory_order_relaxed);
}

void places_write(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        perror(path);
        exit(2);
    }
    for (uint64_t byte = 0; byte < (uint64_t)(__etext - __executable_start); byte++)
        if (atomic_load_explicit(&been[byte], memory_order_relaxed))
            fprintf(file, "%#llx\n", (unsigned long long)byte);
    if (fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}
