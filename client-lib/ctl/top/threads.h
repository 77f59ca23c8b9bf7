/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a processor each worker's thread takes, from the kernel, which tells everybody.
 *
 * Owned by the source, one thread. A worker is known by its thread's name, `worker/N`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { THREADS_MAX = 1024 };
struct threads {
    pid_t process;                            /* whose `used_ns` are; 0: nobody's */
    uint64_t looked_ns, used_ns[THREADS_MAX]; /* UINT64_MAX: not known */
};

/* Looks at a process' threads, and fills the shares of n workers, of one processor, since the look
 * before: NAN where there is none, or the process is another one. */
void threads_look(struct threads *threads, pid_t process, double *shares, size_t n);
