/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of plugins' files, each made by a thread of its own: a file can be large, and a file
 * system can be slow or never answer. Only who asked waits for it.
 *
 * One of a process. Event loop thread only; the threads know nothing but their job.
 *
 * copier.F1  A job is its thread's until that has written the job's address into the pipe, and the
 *     loop's from then on. A thread that never ends keeps its job, and its place among COPIES_MAX.
 * copier.F2  Who asked is told once: that the copy is there, that there is none, or that it was not
 *     made in time. A copy that comes later is closed.
 * copier.F3  A user that quotas bind has at most half of the places that the others leave.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

enum { COPIES_MAX = 8, COPY_LIMIT_S = 30 };

struct copier_asker {
    /* `copy`: the descriptor, which is the asker's now; or negative errno, and `text` says why. */
    void (*done)(struct copier_asker *asker, int copy, const char *text);
};

/* 0 or negative errno: there are no means for it. */
int copier_start(uv_loop_t *loop);
/* Askers that are left are told so (-ESHUTDOWN); threads that are left go on, for nobody. */
void copier_stop(void);

/* Copies the file at `path` or, when `fd` is not -1, behind `fd`. 0: the asker will be told, and
 * `fd` is closed (closer.h) when it has been read; -EBUSY: too many are being made, and `text`
 * (PLUGIN_TEXT_MAX) says of whom; other negative errno. */
int copier_ask(const char *path, int fd, uid_t uid, bool bound, struct copier_asker *asker,
               char *text);
