/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that CPUs of the plan come and go while workers run, without looking for it:
 * administrators write to files of the kernel (cpuN/online, a cgroup's cpuset.cpus, also one that
 * comes later, with a write to cgroup.subtree_control), and inotify tells when they have.
 *
 * Owned by the control thread, in its loop. A CPU that goes without anybody writing (taken by a
 * hypervisor, say) is noticed at the next write of this kind.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

/* CPUs may have come or gone. */
typedef void (*topology_watch_fn)(void *userdata);

struct topology_watch {
    uv_poll_t poll;
    uv_timer_t timer;
    const char *groups, *mount; /* /proc/self/cgroup, /sys/fs/cgroup; NULL: these.  Tests have
                                   others */
    topology_watch_fn changed;
    void *userdata;
    int fd;
    bool active;
};

/* Takes `fd`, an inotify instance that somebody else holds, too, and that may know of an earlier
 * executor's watches; -1: makes one. 0, also where there is nothing to watch; negative errno:
 * nothing is watched. */
int topology_watch_start(struct topology_watch *watch, uv_loop_t *loop, topology_watch_fn changed,
                         void *userdata, int fd);
/* The handles are closed in the loop's next round; without a start nothing happens. */
void topology_watch_stop(struct topology_watch *watch);
