/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the promised, an actor that arms timers and asks itself questions as it is told
 * to, and notes in a log of histories what it has been promised, and what has come of it. */
#pragma once

#include <odeon/ask.h>
#include <odeon/message.h>

enum promised_what {
    PROMISED_ARM,       /* `n` timers, to come once */
    PROMISED_EVERY,     /* ... that come again and again */
    PROMISED_TELL,      /* ... to come once, of which the port is told */
    PROMISED_ASK,       /* `n` questions that are answered at once */
    PROMISED_NEVER,     /* ... that are not answered */
    PROMISED_TAKE_BACK, /* the last `n` timers, and questions that are not answered; 0: all */
    PROMISED_SAY,       /* nothing; the port is told */
};
enum { PROMISED_TIMERS = 12, PROMISED_QUESTIONS = 128, PROMISED_LOG_RECORDS = 100000 };

/* Timers and deadlines `span_us` from now. */
ODEON_MESSAGE(promised_do, 1, {
    odeon_ref port;
    uint32_t what, n, span_us, reserved;
});
ODEON_MESSAGE(promised_due, 1, {
    uint64_t number;
    uint32_t tell, every;
});
ODEON_MESSAGE(promised_question, 1, { uint64_t number, never; });
ODEON_MESSAGE(promised_answer, 1, { uint64_t number; });
ODEON_MESSAGE(promised_told, 1, { uint64_t number; });
ODEON_INTERFACE(promised, promised_do, promised_due, promised_question, promised_answer,
                odeon_no_answer);
