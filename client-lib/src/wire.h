/* SPDX-License-Identifier: Apache-2.0 */
/* One protobuf message, with descriptors, as one record of the control connection.
 *
 * No state of its own: the caller owns socket and frame and sees to it that one thread at a time
 * uses them. Nobody waits in the kernel's call for the socket itself, whose time begins anew with
 * each signal: deadlines (wait.h) are moments, and hold whatever comes between; WIRE_NOW has
 * passed.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/bounds.h"

enum { WIRE_FDS_MAX = 8 };
#define WIRE_NOW INT64_C(0)

struct wire_frame {
    size_t size;
    size_t n_fds;
    bool fds_lost; /* more descriptors came than this process could take */
    int fds[WIRE_FDS_MAX];
    uint8_t data[ODEON_CONTROL_FRAME_MAX];
};

/* 0; -EMSGSIZE: packs to more than a record holds; -EAGAIN: there was no room until the deadline;
 * other negative errno. `frame` is only used as room. */
int wire_send(int socket, const ProtobufCMessage *message, struct wire_frame *frame,
              int64_t deadline_ns);
/* 1: a record, its descriptors are the caller's; 0: end of file; -EAGAIN: none has come until the
 * deadline; -EPROTO: the record was too large and is lost; other negative errno. */
int wire_receive(int socket, struct wire_frame *frame, int64_t deadline_ns);
/* The same file under a number above those of standard input, output and error, which others take
 * for theirs when the program has closed them; `fd` is closed then. -1 and errno: none is free. */
int wire_lift_fd(int fd);
/* Closes the frame's descriptors that were not taken (set to -1). */
void wire_close_fds(int *fds, size_t n_fds);
