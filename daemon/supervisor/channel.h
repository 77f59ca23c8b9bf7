/* SPDX-License-Identifier: Apache-2.0 */
/* A SOCK_SEQPACKET connection in the event loop: frames in, a bounded queue of frames out.
 *
 * Owned by the connection's object (client, executor).  Event loop thread only.
 *
 * channel.C1  on_error is called at most once; afterwards, and after channel_free(), no callback
 *     comes, but for the frames that channel_receive_rest() hands over, and for what spent() tells
 *     of the frame behind which it was freed.
 * channel.C2  Frames leave in the order of channel_send(); descriptors that wait in the queue are
 *     duplicates.
 * channel.C3  What the kernel lacks the means for now (memory, descriptors in flight) is sent
 *     later, before all that came after it; the connection does not suffer for it.
 * channel.C5  Who sends descriptors is read from only when those that came before have been closed,
 *     but for as many as closer_has_many_sent() lets.
 * channel.C6  Who shares turns of the loop with others (turn_share.H1) is read from as it leaves
 *     these theirs.
 * channel.C4  channel_descriptors() is never less than what is in flight to the peer: what was sent
 *     since it had last read everything, and what waits.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/common/frame.h"

struct channel;
struct turn_share;

struct channel_ops {
    /* The callee takes the descriptors that it wants; the others are closed. */
    void (*on_frame)(void *userdata, struct frame *frame);
    /* 0: end of file. -EMSGSIZE: a record was too large. -EPROTO: too many descriptors. Others: the
     * socket failed. */
    void (*on_error)(void *userdata, int error);
    /* How much more memory what waits may take, beside `queue_bytes_max`; NULL: any amount. */
    uint64_t (*room)(void *userdata);
    /* What waits takes so much memory now; NULL: nobody counts it. */
    void (*waits)(void *userdata, size_t bytes);
    /* The loop has spent so much processor time on it: on a frame and what the callee did with it,
     * on what was sent. NULL: nobody counts it. */
    void (*spent)(void *userdata, uint64_t ns);
};

/* Takes `fd`, which must be non-blocking, when it succeeds. NULL: no memory, or the loop refused
 * the descriptor. */
struct channel *channel_new(uv_loop_t *loop, int fd, size_t queue_bytes_max,
                            const struct channel_ops *ops, void *userdata);
/* It is one of those who have `share` of a turn, and lives no longer than that. */
void channel_take_turns(struct channel *channel, struct turn_share *share);
/* 0; -EMSGSIZE: packs to more than a frame; -ENOBUFS: the queue is at its limit; -EDQUOT: there is
 * no room for it (channel_ops); other negative errno: the socket failed (the end of file follows by
 * itself). What cannot be sent now waits; where it cannot even wait, this is one of
 * channel_is_short(). */
int channel_send(struct channel *channel, const ProtobufCMessage *message, const int *fds,
                 size_t n_fds);
/* No memory, or no descriptor, for a duplicate of what was to wait. */
bool channel_is_short(int error);
/* Why what waits could not be sent, the socket apart (channel.C3); 0: there is nothing of the kind.
 * */
int channel_lacks(const struct channel *channel);
/* Descriptors that the peer has not read yet, at most (channel.C4). */
size_t channel_descriptors(struct channel *channel);
/* Whether descriptors are taken in, as they are from the start; where not, one that comes ends the
 * connection (-EPROTO). */
void channel_allow_descriptors(struct channel *channel, bool allow);
/* Stops and goes on reading: back-pressure. */
void channel_set_reading(struct channel *channel, bool reading);
/* Whether the end of one that is not read from is noticed all the same; what it had sent before it
 * is lost then. */
void channel_watch_end(struct channel *channel, bool watch);
/* Hands over everything that has arrived, up to the end of file if it is there: for a peer that has
 * died, also with records unread, which is the error -ECONNRESET. */
void channel_receive_rest(struct channel *channel);
/* Of a peer that has died: hands over what it has sent, up to the end of file if it is there; as
 * much as a socket holds, since others may go on writing into it. What is not read from is left.
 * True: it has had its part of this turn, and is to be asked again in the next one. */
bool channel_receive_last(struct channel *channel);
/* Sends what the socket takes, closes. `freed` (may be NULL) is called when the last reference to
 * `userdata` is gone. NULL is fine. */
void channel_free(struct channel *channel, void (*freed)(void *userdata));
/* The same, but the socket is shut down instead of closed: to tell when its peer has read what lies
 * there (channel_socket_is_read()), for closer_end() then.  -1: it has already, the socket is
 * closed. */
int channel_free_unread(struct channel *channel, void (*freed)(void *userdata));
/* Nothing that was sent on the socket waits to be read. */
bool channel_socket_is_read(int socket);
