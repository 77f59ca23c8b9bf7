/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a connection, in the kernel's words: those of the moment at which it
 * connected.
 *
 * Owned by the client.  Event loop thread only.
 *
 * peer.E1  Nothing that the peer says enters here.
 * peer.E2  The process id is for people: its process may have ended, and the number may be
 *     another's. `command` was read while it was still the peer's, where the kernel lets that be
 *     known (pidfd), and is empty otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    size_t n_groups;
    gid_t *groups; /* supplementary ones */
    int pidfd;     /* -1: the kernel has none to give */
    char command[16];
};

/* 0, or negative errno: then there is nothing to release. */
int peer_read(struct peer *peer, int socket);
void peer_fini(struct peer *peer);
bool peer_is_in_group(const struct peer *peer, gid_t group);

/* Whether the peer may send descriptors. Where the kernel cannot be told, nothing happens: who
 * receives takes none. */
void peer_allow_descriptors(int socket, bool allow);
