/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the supervisor: commands in, reports out.
 *
 * Owned by the executor, on its event loop's thread.
 *
 * control.C1  Reports leave in the order in which they were sent; while the socket is full they
 *     wait here.
 * control.C2  What waits is bounded: with CONTROL_WAITING_MAX reports waiting no further command is
 *     read.
 * control.C4  Each command is handed over, also when its descriptors found no room
 *     (frame->fds_lost), and each report leaves: who waits for an answer gets one. Plugins may open
 *     all that this process may; a few descriptors are held for commands that bring some.
 * control.C3  End of file is told once, and nothing is called after it.
 */
#pragma once

#include <uv.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"

struct control;

enum { CONTROL_WAITING_MAX = 1024, CONTROL_RESERVE = 16 };

struct control_handlers {
    void (*command)(void *userdata, const Odeon__Command *command, struct frame *frame);
    /* End of file, a broken socket, or a command or report that would be lost: whoever waits for it
     * would wait for ever. */
    void (*closed)(void *userdata, const char *why);
};

/* `socket` becomes the control's.  -ENOTSOCK, -EPROTOTYPE: not a SOCK_SEQPACKET socket. */
int control_new(uv_loop_t *loop, int socket, const struct control_handlers *handlers,
                void *userdata, struct control **ret_control);
/* The loop has to run once more for the handle to close. */
struct control *control_free(struct control *control);
void control_send(struct control *control, const Odeon__Report *report);
/* Waits until everything has left: 0; -ETIMEDOUT; negative errno. */
int control_flush(struct control *control, int timeout_ms);
