/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_asks.c takes and tells. */
#pragma once

#include <odeon/ask.h>
#include <odeon/message.h>

/* What is asked, and what becomes of it. */
enum asks_case {
    ASKS_AT_ONCE,  /* the keeper answers */
    ASKS_LATER,    /* ... in another turn */
    ASKS_TOO_LATE, /* ... behind the deadline */
    ASKS_PERHAPS,  /* ... at about the deadline */
    ASKS_NEVER,    /* ... not at all */
    ASKS_NOBODY,   /* it is passed on to one who has ended */
    ASKS_DEAF,     /* ... to one who does not take it */
    ASKS_CLIENT,   /* ... to a client */
    ASKS_CASES
};
/* So many questions, of all cases in turn, one behind the other; how each ended is told to the
 * port. */
ODEON_MESSAGE(asks_start, 1, {
    odeon_ref port, front;
    uint64_t last;
});
ODEON_MESSAGE(asks_question, 1, { uint64_t number; });
ODEON_MESSAGE(asks_answer, 1, { uint64_t number; });
/* `reason`: 0, it was answered; `wrong` is 0, or the line of asks.c that found something wrong. */
ODEON_MESSAGE(asks_heard, 1, { uint64_t number, reason, wrong; });
/* The keeper's own: it answers now, to whom it has promised to. */
ODEON_MESSAGE(asks_due, 1, { uint64_t number, promise[3]; });
/* Who the front passes such questions on to. */
ODEON_MESSAGE(asks_seats, 1, { odeon_ref keeper, nobody, deaf, client; });

ODEON_INTERFACE(asks_asker, asks_start, asks_answer, odeon_no_answer);
ODEON_INTERFACE(asks_front, asks_seats, asks_question);
ODEON_INTERFACE(asks_keeper, asks_question, asks_due);
ODEON_INTERFACE(asks_deaf, asks_seats);
