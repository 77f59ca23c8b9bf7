/* SPDX-License-Identifier: Apache-2.0 */
/* What one look at the service has found: how it is as a whole, and the rows of one view.
 *
 * Made by the source (source.h), handed to the program, freed there; plain data in between.
 */
#pragma once

#include "client-lib/ctl/top/view.h"

#include <stdbool.h>
#include <stdint.h>

enum look_state {
    LOOK_UP,
    LOOK_EXECUTOR_DOWN,
    LOOK_AWAY, /* there is no odeond */
};

enum { LOOK_TEXT = 256 };
struct look {
    enum look_state state;
    uint64_t away_ns;   /* for how long it is not LOOK_UP */
    bool is_early;      /* odeond has just been asked: its rows come with a later look */
    bool is_fresh;      /* the figures of all are of now; false: another view of the look before */
    double seconds;     /* since the look before; 0: this is the first one, rates are not known */
    uint32_t odeond;    /* its process */
    uint64_t uptime_ns; /* of the executor */
    unsigned workers, clients;
    uint64_t actors;
    double rate;               /* messages a second */
    double busy;               /* of all workers, 0 to 1; NAN: not known */
    double wait_p99_ns;        /* the longest of the types'; NAN: not known */
    char wait_type[LOOK_TEXT]; /* whose it is */
    size_t n_shares;           /* workers ... */
    double *shares;            /* ... each one's, NAN: not known */
    enum view_id view;
    struct table *table; /* NULL: none could be had, the note says why */
    char note[LOOK_TEXT];
};

struct look *look_free(struct look *look); /* NULL is fine; returns it */
