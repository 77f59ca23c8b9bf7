/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, descriptors and threads that cannot be had: a library that is loaded before all others
 * (LD_PRELOAD) into odeond and the executor, and the page of shared memory through which a test
 * tells it which call fails, and hears what was called.
 *
 * shortage.Z1  The test names a program and a number: that program's call of that number, counted
 *     from then on over all its threads and incarnations, fails as if the kernel or malloc() had
 *     nothing left; one, and no other.
 * shortage.Z2  What is called before main(), and by the C library's own name (mappings of thread
 *     stacks), is not counted.
 * shortage.Z3  Counting adds to one word of the page and allocates nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define SHORTAGE_ENVIRONMENT "ODEON_TEST_SHORTAGE" /* the page's file */

enum shortage_program { SHORTAGE_NOBODY, SHORTAGE_ODEOND, SHORTAGE_EXECUTOR, SHORTAGE_PROGRAMS };
enum { SHORTAGE_FRAMES = 5, SHORTAGE_SITES_MAX = 8192, SHORTAGE_TEXT = 512 };

struct shortage_page {
    _Atomic uint32_t victim; /* enum shortage_program */
    _Atomic uint32_t list;   /* 1: the victim's calls are entered into `sites` */
    _Atomic uint64_t fail_at;
    _Atomic uint64_t calls; /* of the victim's, since the test set it to 0 */
    _Atomic uint32_t failed;
    _Atomic uint64_t allocations[SHORTAGE_PROGRAMS]; /* whoever is the victim */
    char where[SHORTAGE_TEXT]; /* complete when `failed` is set: what failed, and who called */
    _Atomic uint32_t n_sites;
    struct shortage_site {
        _Atomic uint64_t key; /* of the function and its callers */
        uint64_t call;        /* the first of them */
    } sites[SHORTAGE_SITES_MAX];
};
