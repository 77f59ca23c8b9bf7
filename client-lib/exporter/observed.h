/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, as the service tells those who may observe: asked for by a thread of its own, so
 * that a service that does not answer holds up nobody, and read here without asking.
 *
 * Owned by its caller, one thread; what is asked runs in libodeon's helper.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <odeon/helper.h>
#include <odeon/observe.h>

enum { OBSERVED_TOPS = 15 }; /* of the histograms' buckets, without the last one */

struct observed {
    const char *socket;
    struct odeon_helper *helper; /* NULL: nobody will ask */
    struct odeon_observer *observer;
    uint32_t of, asked_for; /* processes of odeond */
    uint64_t asked_ns;
    bool asking;
    struct odeon_observer *asked; /* the helper's, while it asks */
    char why[256];                /* why there is nothing */
};

/* `socket` NULL: the default; else it must live as long. Starts the thread; negative errno. */
int observed_init(struct observed *observed, const char *socket);
/* Waits for what is being asked. */
void observed_fini(struct observed *observed);
/* To poll; -1: none. */
int observed_fd(const struct observed *observed);
void observed_dispatch(struct observed *observed);
/* Takes a look at what the odeond of this process number has handed out; asks for it where that is
 * another one, once a second at most. False: there is nothing yet, `why` says why. */
bool observed_look(struct observed *observed, uint32_t supervisor_pid);

/* The largest times of the buckets, in seconds. */
extern const double observed_tops[OBSERVED_TOPS];
/* Messages of type `id` in each bucket, the last one of what took longer; false: no such type. */
bool observed_times(struct observed *observed, uint32_t id, enum odeon_observe_what what,
                    uint64_t counts[static OBSERVED_TOPS + 1]);
