/* SPDX-License-Identifier: Apache-2.0 */
/* Points at which a test build of odeond ends itself with SIGKILL: the environment variable
 * ODEON_CRASH_AT=N, at the N-th passage of any of them. Between two neighbouring points lies one
 * step that another process can see, so that counting N up from 1 kills odeond at each step
 * (tests/system/test_persist_steps.c). Ordinary builds contain nothing of it.
 */
#pragma once

#ifdef ODEON_CRASH_POINTS
void crash_point_passed(void);
#define CRASH_POINT() crash_point_passed()
#else
#define CRASH_POINT() ((void)0)
#endif
