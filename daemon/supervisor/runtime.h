/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory: lock, control socket.
 *
 * One odeond owns a directory: it holds an exclusive flock() on DIR/lock as long as it lives, and
 * only under it touches what lies there. The socket's mode is 0600 from the moment it has a name.
 *
 * runtime.N1  Nobody but this user, root, and groups that an administrator has let in, can put
 *     another file in the place of ours: the directory is theirs and written by its owner alone,
 *     and every directory above it is theirs and, where everybody may write, sticky.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUNTIME_TEXT_MAX = 512 };

struct runtime {
    char *dir, *socket_path, *stats_path;
    int lock_fd, listen_fd;
    bool socket_is_ours;  /* made by us, not passed in: removed at the end */
    unsigned socket_mode; /* of one that we make: 0600 until the caller says otherwise */
    int64_t socket_group; /* -1: as it comes */
    bool group_may_fail;  /* then the socket stays at 0600 */
    dev_t socket_device;
    ino_t socket_inode;
};

/* Makes the directory if it is missing and takes the lock. 0, or negative errno with a reason in
 * `text`; -EBUSY: another odeond has it; -EPERM: others could touch what lies there. */
int runtime_open(struct runtime *runtime, const char *dir, const char *socket_path, char *text);
/* Takes the listening socket that the service manager made, or makes one (`passed_fd` -1). */
int runtime_listen(struct runtime *runtime, int passed_fd, char *text);
/* No further connections; the name goes. */
void runtime_stop_listening(struct runtime *runtime);
void runtime_close(struct runtime *runtime);
