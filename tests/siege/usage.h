/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of the service and of the honest clients have used of processors, and for how
 * long they were kept from one: where the honest calls' time goes, and what the service has
 * computed for whom. By the kernel's account of each thread (/proc/PID/task/TID/schedstat).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum usage_of { USAGE_ODEOND, USAGE_CONTROL, USAGE_WORKERS, USAGE_HONEST, USAGES };

struct usage {
    int64_t ran_ns, waited_ns; /* on a processor; ready, and without one */
    uint64_t times;            /* that it was given one */
};

extern const char *const usage_names[USAGES];

/* Since these threads began; of threads that have ended in between nothing is known. */
void usage_take(pid_t odeond, pid_t executor, pid_t honest, struct usage *ret_all);
/* What all processors of the machine have done, in all: the rest is somebody else's. */
int64_t usage_machine_ns(void);
struct usage usage_since(const struct usage *now, const struct usage *before);
