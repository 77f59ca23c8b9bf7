/* SPDX-License-Identifier: Apache-2.0 */
/* Closes what others can make slow to close. The last reference to a descriptor that somebody sent
 * may be one that waits: a TCP socket that lingers with what its peer does not read, for as long as
 * its owner has said; a file whose file system does not answer. Threads of their own do it, so the
 * event loop stands still for none of them; they are made when there is something for them.
 *
 * One of a process. Event loop thread only; the threads know nothing but the descriptors that they
 * are given. Where there are no means for a thread, and before closer_start() and after
 * closer_stop(), what is handed over is closed in the caller's turn.
 *
 * closer.E1  A record with descriptors that nobody takes in is let go of in one of these threads,
 *     never in the event loop. But what this process has no number left for (RLIMIT_NOFILE) the
 *     kernel closes as it hands over the rest.
 * closer.E2  A close that a signal can end waits for no longer than NUDGE_NS, however many such
 *     descriptors there are in it.
 * closer.E3  As long as fewer than CLOSERS_MAX are under way, each has a thread: one that nothing
 *     can end keeps no other from being closed. What was taken in, which takes the role to, has
 *     threads of its own: a file's close asks its file system, and no signal ends that. To let go
 *     of what never came in asks one only where that holds back what was written.
 */
#pragma once

#include <stdbool.h>

#include "daemon/common/frame.h"

enum { CLOSERS_MAX = 8, CLOSER_BEHIND = 64 };

/* 0 or negative errno: there are no means for it. */
int closer_start(void);
/* What has been handed over is still closed; threads that wait for more end. */
void closer_stop(void);

/* Takes `fd`, which somebody sent. */
void closer_close(int fd);
/* Takes those descriptors of the frame that nobody has taken. */
void closer_close_frame(struct frame *frame);
/* Takes a connection that has been shut down for reading: lets go of what its peer has sent, since
 * an end with unread records would reach that before our last answer does, and closes it. */
void closer_end(int socket);
/* Takes a socket that listens, with the connections that nobody has accepted. */
void closer_end_listener(int socket);
/* Whether CLOSER_BEHIND or more of those that were taken in are under way: no more should be. */
bool closer_has_many_sent(void);
/* The same of connections: nothing should be let in that would add to them. */
bool closer_is_behind(void);
