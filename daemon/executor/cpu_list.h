/* SPDX-License-Identifier: Apache-2.0 */
/* A list of CPUs as a person writes it: "0,2,4-7", in the order in which workers get them.
 *
 * Plain data, no thread of its own.
 */
#pragma once

#include "proto/bounds.h"

enum { CPU_NUMBER_MAX = 8191 }; /* the largest number that a kernel for x86-64 can be built for */

struct cpu_list {
    unsigned n;
    int cpus[ODEON_WORKERS_MAX];
};

/* 0; -EINVAL: not such a list, or a CPU named twice; -ERANGE: a number above CPU_NUMBER_MAX;
 * -E2BIG: more CPUs than there can be workers. */
int cpu_list_parse(const char *text, struct cpu_list *ret_list);
