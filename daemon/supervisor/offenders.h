/* SPDX-License-Identifier: Apache-2.0 */
/* Offenders: processes that have lately written what no client may write, and until when they are
 * not listened to.
 *
 * Whoever breaks a port is thrown out at once and may come back at once; each round costs the
 * executor mappings that are made and unmapped under its workers, and whoever does nothing else all
 * day takes that time from the others. So a process that offends more than twice within a second is
 * read from again only after a while: 10 ms, 20, 40, … up to what `offender-hold-ms` says. Others
 * of its user, who are other processes, are not held back, unless it has many that offend.
 *
 * Owned by the clients.  Event loop thread only; the clock is the caller's.
 *
 * offenders.F1  Only a process that has offended is held, but for offenders.F2, with all of its
 *     connections, until OFFENDERS_MEMORY_NS have gone by without an offence and without a hold.  A
 *     process number that is given again so soon costs the newcomer one wait, the longest of which
 *     is offenders.F3.
 * offenders.F2  A user of whom so many processes have offended lately that the next one is likely
 *     to do so, too (OFFENDERS_PROCESSES), has its new connections let in one after the other, and
 *     is held itself as a process is: each further offence of any of its processes holds the one
 *     that did it, and all new connections of the user, for longer.  Those that others of its
 *     processes had before are left alone.
 * offenders.F3  Holds of one process, and waits of one user, follow each other: who prepares many
 *     offences and commits them at once has won nothing.  All together reach no further than
 *     OFFENDERS_HOLDS_MAX of the longest hold into the future.
 * offenders.F4  The table is bounded; who offended longest ago is forgotten first. A user with more
 *     processes than it has room for wins nothing: offenders.F2 outlives them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OFFENDERS_MEMORY_NS UINT64_C(1000000000)

enum {
    OFFENDERS_MAX = 32,
    OFFENDERS_TOLERATED = 2, /* offences of a process */
    OFFENDERS_PROCESSES = 8, /* of a user */
    OFFENDERS_FIRST_HOLD_MS = 10,
    OFFENDERS_HOLDS_MAX = 10,
};

struct offender {
    pid_t pid; /* -1: the user (offenders.F2) */
    uid_t uid;
    uint32_t n;        /* offences; 0: a free entry */
    uint64_t until_ns; /* of its last hold */
    uint64_t last_ns;  /* offence or end of hold, whichever is later */
};
struct offenders {
    struct offender list[OFFENDERS_MAX];
};

/* An offence.  Until when the process is not to be listened to; `now_ns`: it need not wait. */
uint64_t offenders_note(struct offenders *offenders, pid_t pid, uid_t uid, uint64_t now_ns,
                        uint64_t hold_max_ns);
/* A new connection: likewise. */
uint64_t offenders_admit(struct offenders *offenders, pid_t pid, uid_t uid, uint64_t now_ns,
                         uint64_t hold_max_ns);
/* Whether its processes that have offended lately are too many to be told of one by one
 * (offenders.F2). */
bool offenders_are_many(struct offenders *offenders, uid_t uid, uint64_t now_ns);
