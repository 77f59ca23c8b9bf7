/* SPDX-License-Identifier: Apache-2.0 */
/* Processor groups, of either version, as a service manager makes them for services: the service
 * has one, and each user. What they want of the processor is weighed group against group, and not
 * each thread against each.
 *
 * One set of a process, by the thread that runs the tests. Needs root, and a kernel that lets it
 * make groups; without a set nobody is moved.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* `weight`: the service's, as CPUWeight= takes it; users have 100 each. False: nobody makes one
 * here. */
bool slices_make(const uid_t *users, unsigned n, unsigned weight);
/* The caller, and who is forked then. */
void slices_enter_service(void);
void slices_enter_user(uid_t uid);
/* Back to where slices_make() found the caller. */
void slices_leave(void);
/* Their processes have ended, or are about to; no harm where there are none. */
void slices_end(void);
