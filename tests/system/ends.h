/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_monitors.c takes and tells. */
#pragma once

#include <odeon/message.h>
#include <odeon/monitor.h>

/* How those end that are watched, one behind the other. */
enum ends_case {
    ENDS_KEPT,     /* its behaviour says so; its state is kept */
    ENDS_PLAIN,    /* ... and is not */
    ENDS_STOPPED,  /* it is stopped */
    ENDS_UNBEGUN,  /* its init fails */
    ENDS_TOO_LATE, /* it has ended when it begins to be watched */
    ENDS_TWICE,    /* two watch, and one of them does not want to know any more */
    ENDS_CASES
};
/* So many, of all cases in turn; how each ended is told to the port. */
ODEON_MESSAGE(ends_start, 1, {
    odeon_ref port;
    uint64_t last;
});
/* `wrong` is 0, or the line of ends.c that found something wrong. */
ODEON_MESSAGE(ends_heard, 1, { uint64_t number, reason, words, wrong; });
/* Ends its actor, which says so to `to` before. */
ODEON_MESSAGE(ends_now, 1, {
    odeon_ref to;
    uint64_t number;
});
ODEON_MESSAGE(ends_word, 1, { uint64_t number; });
/* Whoever this is, an actor or a client, is watched; number 0 tells of it. */
ODEON_MESSAGE(ends_watch, 1, { odeon_ref port, ref; });

ODEON_INTERFACE(ends_watcher, ends_start, ends_watch, ends_word, odeon_down);
ODEON_INTERFACE(ends_kept, ends_now);
ODEON_INTERFACE(ends_plain, ends_now);
ODEON_INTERFACE(ends_unbegun, ends_now);
