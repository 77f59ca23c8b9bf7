/* SPDX-License-Identifier: Apache-2.0 */
/* What odeonctl doctor has found to be wrong or slow, and who looks for it.
 *
 * Owned by the command, one thread. Whoever looks reports with doctor_find(); what cannot be looked
 * at (a role that is missing, a file that is not readable) is reported as a note by
 * doctor_skip(), never left out in silence.
 */
#pragma once

#include "client-lib/ctl/ctl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum harm {
    HARM_BROKEN, /* somebody is not served, or messages are given up */
    HARM_BAD,    /* it costs messages or the service when it goes on */
    HARM_SLOW,   /* it costs time or memory */
    HARM_NOTE,   /* worth knowing; nothing is lost by it */
};

struct finding {
    enum harm harm;
    const char *about; /* stable, for programs: "quarantine" */
    char *what, *mend; /* sentences for people; a command, or what else to do */
};

struct doctor {
    struct ctl *ctl;
    size_t n;
    struct finding *findings;
    bool failed; /* no memory for one of them */
    uint32_t supervisor_pid, executor_pid, workers;
};

void doctor_find(struct doctor *doctor, enum harm harm, const char *about, const char *mend,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* `what` was not looked at, since a call of libodeon has returned `error`. */
void doctor_skip(struct doctor *doctor, const char *what, int error);

/* The service and everybody in it, by requests; the connection stands. */
void doctor_look_at_service(struct doctor *doctor);
/* What grows within a second, and handlers that do not return, by the statistics segment. */
void doctor_look_at_counters(struct doctor *doctor);
/* The processes and their machine. `root` is "", or where a test has put files of its own. */
void doctor_look_at_machine(struct doctor *doctor, const char *root);
/* The files of loaded plugins; the connection stands. */
void doctor_look_at_plugins(struct doctor *doctor);
