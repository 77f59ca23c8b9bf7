/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the gathered: actors that join a group, publish, put off what they are sent,
 * become another phase, and have children, as they are told to, and note it in a log of histories
 * each. Their number in it is their argument's. */
#pragma once

#include <odeon/message.h>
#include <odeon/monitor.h>

enum gathered_what {
    GATHERED_JOIN,
    GATHERED_LEAVE,
    GATHERED_PUBLISH,    /* `n` messages */
    GATHERED_HAVE_CHILD, /* that is linked; the port is told */
    GATHERED_WATCH,      /* `other`, a child of the actor number `n` */
    GATHERED_PUT_OFF,    /* whatever it is asked from now on */
    GATHERED_TAKE_BACK,  /* no more than `n`, 0: all; and it puts off no more */
    GATHERED_BECOME,     /* away; the turn kills the executor, for once */
    GATHERED_SAY,        /* nothing; the port is told */
    GATHERED_END,
};
#define GATHERED_GROUP "gathering"
enum { GATHERED_MOST = 3, GATHERED_LOG_RECORDS = 10000 };

ODEON_MESSAGE(gathered_do, 1, {
    odeon_ref port, other;
    uint32_t what, n;
});
ODEON_MESSAGE(gathered_question, 1, { uint64_t number; }); /* that may be put off */
ODEON_MESSAGE(gathered_said, 1, { uint64_t from, number; });
/* `downs`: a bit for each end that it was told of, by number - 1. */
ODEON_MESSAGE(gathered_told, 1, {
    odeon_ref child;
    uint64_t heard, downs;
});
ODEON_SIGNAL(gathered_idle, 1);
ODEON_INTERFACE(gathered, gathered_do, gathered_question, gathered_said, odeon_down);
ODEON_INTERFACE(gathered_child, gathered_idle);

struct gathered_args {
    uint64_t number;
    char path[120];
};
