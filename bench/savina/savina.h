/* SPDX-License-Identifier: Apache-2.0 */
/* What savina.so and its clients agree on.
 *
 * For each program of the suite there is an actor type `savina_NAME`, its head, which is what the
 * definitions call the driver, or the main program. A client spawns one with the program's
 * parameters, and calls it twice: savina_run is answered by savina_done when the program's work is
 * done, and savina_check by savina_verdict when its results have been held against what they should
 * be, which may take longer than the program; the head then ends. So the check is beside the clock,
 * and between the calls whoever counts actors sees whether all but the head have ended.
 */
#ifndef SAVINA_H
#define SAVINA_H

#include <odeon/message.h>

ODEON_SIGNAL(savina_run, 1);
ODEON_MESSAGE(savina_done, 1, {
    uint64_t messages; /* by the definition */
    int64_t error;     /* 0, or a negative errno: it has not been done, and the head has ended */
    char what[112];    /* then: why */
});
ODEON_SIGNAL(savina_check, 1);
ODEON_MESSAGE(savina_verdict, 1, {
    int64_t error;  /* 0: all is as it should be */
    char what[112]; /* else: what is not */
});
/* What a head accepts from its client. */
ODEON_INTERFACE(savina_client, savina_run, savina_check);

#endif
