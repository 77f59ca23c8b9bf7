/* SPDX-License-Identifier: Apache-2.0 */
/* What <odeon/names.h> compiles into C and C++, as symbols for others; outcomes of calls. */
#include <odeon/client.h>

#include "proto/envelope.h"

/* A reason goes from the service to a client, and from the one table to another, by its number. */
#define SAME(name)                                                                                 \
    _Static_assert((int)ODEON_REASON_##name == (int)REASON_##name, "a reason's number differs")
SAME(NONE);
SAME(NO_SUCH_ACTOR);
SAME(NOT_ACCEPTED);
SAME(BAD_SIZE);
SAME(QUEUE_FULL);
SAME(ATTEMPTS);
SAME(TYPE_NOT_LOADED);
SAME(INIT_FAILED);
SAME(CLIENT_GONE);
SAME(BACKLOG_FULL);
SAME(QUARANTINED);
SAME(USER_FULL);
SAME(MEMORY_FULL);
SAME(SUSPECTED);
SAME(USER_SLOW);
SAME(DEADLINE);
SAME(FINISHED);
SAME(STOPPED);
SAME(BEGUN_ANEW);
SAME(NOT_RESUMED);
SAME(TIMERS_FULL);
SAME(STASHED);
SAME(NO_SUCH_MONITOR);
_Static_assert((int)ODEON_REASON_NO_SUCH_MONITOR + 1 == (int)REASON_N,
               "a reason has no public number");

const char *odeon_reason_name(unsigned reason)
{
    return odeon_reason_name_(reason);
}

const char *odeon_strerror(int error)
{
    return odeon_strerror_(error);
}

const char *odeon_port_closed_name(int why)
{
    static const char *const names[] = {
        [ODEON_CLOSED_NOT] = "open",
        [ODEON_CLOSED_BY_SERVICE] = "by-service",
        [ODEON_CLOSED_TURNED_OUT] = "turned-out",
        [ODEON_CLOSED_TOO_SLOW] = "too-slow",
        [ODEON_CLOSED_BAD_RECORD] = "bad-record",
        [ODEON_CLOSED_SERVICE_GONE] = "service-gone",
        [ODEON_CLOSED_IMPOSSIBLE] = "impossible",
    };

    if (why < 0)
        return odeon_strerror_(why);
    return (size_t)why < sizeof(names) / sizeof(names[0]) ? names[why] : "unknown";
}

const char *odeon_outcome_name(int outcome)
{
    switch (outcome) {
    case ODEON_CALL_REPLY:
        return "reply";
    case ODEON_CALL_REFUSED:
        return "refused";
    case ODEON_CALL_EXPIRED:
        return "expired";
    case ODEON_CALL_CLOSED:
        return "closed";
    default:
        return outcome < 0 ? odeon_strerror_(outcome) : "unknown";
    }
}
