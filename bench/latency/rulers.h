/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine does with bare threads and bare rings at this moment: the same work, the same
 * times, without Odeon. Each thread is bound to one of the processors that --cpus names. */
#pragma once

#include <stdint.h>

#include "pace.h"

struct options;

/* `threads` threads do `n` pieces of work among them and write a line after each; this one spins
 * for the lines. Adds the times from the end of the work to the line's being seen. 0, or an enum
 * session_exit after having said why. */
int rulers_work(const struct options *options, uint64_t work_ns, uint64_t n, uint32_t threads,
                struct histogram *times);
/* A thread sleeps by a timerfd until `n` times, `rate` of them a second, and writes a line at each;
 * this one spins for the lines. Adds the times from each of them to the line's being seen. */
int rulers_timer(const struct options *options, uint64_t rate, uint64_t n, struct histogram *times);
/* The open loop of `pace` over two bare rings, with a thread at the other end that sends back what
 * comes: spinning, or, with options->park, asleep when nothing has come for as long as a worker
 * of the service spins. */
int rulers_pace(const struct options *options, const struct pace *pace, struct pace_result *ret);
