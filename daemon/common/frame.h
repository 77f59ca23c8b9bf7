/* SPDX-License-Identifier: Apache-2.0 */
/* One protobuf message, with descriptors, as one record of a SOCK_SEQPACKET socket.
 *
 * No buffering: a record that does not fit into the socket's buffer now is -EAGAIN for a
 * non-blocking socket; the caller queues.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/bounds.h"

enum {
    FRAME_FDS_MAX = 8,
    FRAME_FDS_KERNEL_MAX = 253 /* what the kernel lets anybody send with a record (SCM_MAX_FD) */
};

struct frame {
    size_t size;
    size_t n_fds;
    /* some came and found no room in this process: the kernel has closed those, in this thread */
    bool fds_lost;
    int fds[FRAME_FDS_KERNEL_MAX]; /* received: owned by the frame until taken (set to -1) */
    uint8_t data[ODEON_CONTROL_FRAME_MAX];
};

/* 0; -EAGAIN; -EMSGSIZE: packs to more than ODEON_CONTROL_FRAME_MAX; other negative errno. The
 * descriptors stay the caller's. */
int frame_send(int socket, const ProtobufCMessage *message, const int *fds, size_t n_fds);
/* The same for bytes that are packed already. */
int frame_send_packed(int socket, const void *data, size_t size, const int *fds, size_t n_fds);
/* 1: a record (an empty one has size 0); 0: end of file; -EAGAIN; -EMSGSIZE: the record was larger,
 * it is dropped; -EPROTO: too many descriptors, FRAME_FDS_MAX are allowed. Whatever it returns,
 * those that came are the frame's: frame_fini(). One for whose descriptors this process has not
 * enough room comes with some (`fds_lost`): whoever sent it waits for an answer. */
int frame_receive(int socket, struct frame *frame);
/* The same from a peer who may send no descriptors: -EPROTO when it did, and the record stays where
 * it is. Taking it would close them, and that may take as long as their sender likes. */
int frame_receive_data(int socket, struct frame *frame);
/* Whether the next record brings descriptors; it stays where it is. */
bool frame_next_has_fds(int socket);
enum frame_next { FRAME_NEXT_NONE, FRAME_NEXT_PLAIN, FRAME_NEXT_FDS };
/* The same at the end of a connection, where an empty record and the end of file look alike to
 * recv(). The socket is asked for its senders' credentials from then on. */
enum frame_next frame_next(int socket);
/* Closes the descriptors that were not taken. */
void frame_fini(struct frame *frame);
int frame_take_fd(struct frame *frame, size_t index); /* -1: there is none */
