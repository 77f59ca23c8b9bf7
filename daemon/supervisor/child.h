/* SPDX-License-Identifier: Apache-2.0 */
/* The executor as a process: started with its end of the control socket as descriptor 3, watched
 * through a pidfd.
 *
 * It dies with odeond (PR_SET_PDEATHSIG) and inherits nothing but the standard descriptors and
 * descriptor 3. Event loop thread only; that thread must be the one that lives as long as the
 * process: the death signal is tied to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

enum { CHILD_CONTROL_FD = 3 };

struct child {
    pid_t pid; /* 0: there is none */
    int pidfd;
    /* of its own: closing the handle outlives the process, and the next one may start meanwhile */
    uv_poll_t *poll;
    void (*on_exit)(void *userdata, int wait_status);
    void *userdata;
};

/* Starts argv[0] with these arguments. `control_fd` stays the caller's. 0, or negative errno: also
 * when the program cannot be executed. */
int child_start(struct child *child, uv_loop_t *loop, char *const *argv, int control_fd);
/* Nothing happens when it has ended already. */
void child_kill(struct child *child, int signal);

/* The executor's path: `given`, or beside our own program, or where it is installed together with
 * it. 0, or -ENOENT with the places that were tried in `text`. */
int child_find_program(const char *given, char *path, size_t path_size, char *text,
                       size_t text_size);
/* Our environment without what the service manager meant for us.  free() the array alone. */
char **child_environment(void);
/* "exit status 1", "signal 11 (Segmentation fault, core dumped)" */
void child_describe_status(int wait_status, char *text, size_t size);
