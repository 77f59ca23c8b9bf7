/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that note in which order they are run, behind a gate: messages, and the page of shared
 * memory through which the test opens the gate and sees the notes. */
#pragma once

#include <odeon/message.h>
#include <stdatomic.h>

enum { LANE_ORDINARY, LANE_URGENT, LANE_SIGNAL /* urgent, too */ };
enum { LANES_NOTES = 1 << 14, LANES_LOG = 1 << 16 };

/* does not return before the page's `open` is at least that */
ODEON_MESSAGE(lanes_gate, 1, { uint64_t number; });
ODEON_MESSAGE(lanes_number, 1, {
    uint64_t n;
    uint32_t lane, unused;
});
ODEON_SIGNAL(lanes_signal, 1);
/* To a sender: so many ordinary numbers to `to`, then so many urgent ones, as far as they are
 * taken, then an urgent signal. */
ODEON_MESSAGE(lanes_send, 1, {
    odeon_ref to;
    uint32_t ordinary, urgent;
});
ODEON_INTERFACE(lanes_receiver, lanes_gate, lanes_number, lanes_signal);
ODEON_INTERFACE(lanes_sender, lanes_send);

struct lanes_args {
    char page[96], log[96]; /* files */
};

/* Written by the test: open.  By actors: the rest. */
struct lanes_page {
    _Atomic uint32_t open; /* a futex */
    _Atomic uint32_t entered;
    _Atomic uint32_t sent;    /* orders of a sender that are done */
    _Atomic uint32_t n_taken; /* of its urgent numbers */
    _Atomic int32_t result;   /* of the first that was not, 0: all were */
    _Atomic uint32_t n_notes; /* the receiver alone writes them, one after the other */
    struct {
        uint32_t lane, n;
    } notes[LANES_NOTES];
};
