/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes and a memory file between them. The child ends with its parent, whatever that one
 * dies of. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct pair {
    void *memory;
    size_t bytes;
    pid_t child;
};

/* Makes the memory, forks, and runs `side` in the child, bound to `cpu`; the child ends with 0 or 1
 * by what it returns.
 */
int pair_start(struct pair *pair, size_t bytes, int cpu, int (*side)(void *memory, void *argument),
               void *argument);
/* Waits for the child; -EPROTO when it did not end well. */
int pair_finish(struct pair *pair);
