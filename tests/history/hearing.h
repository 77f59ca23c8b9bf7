/* SPDX-License-Identifier: Apache-2.0 */
/* Who has published what to the group, who was its member, and who has heard it (history.H10).
 *
 * Actors have no clock in common but the time of their notes, and a turn is committed somewhere
 * between its own and the first one of the next. So who has joined is a member from its next turn
 * on at the latest, and who has left is none from its next turn on; a publication is made no
 * earlier than its note. What lies between is nobody's fault, whether it is heard or not.
 *
 * What is published is known when all logs have been read: until then what was heard is kept.
 */
#pragma once

#include "tests/history/history.h"

struct heard;

struct hearing {
    uint64_t actor;
    uint64_t *published; /* when, by number - 1 */
    uint64_t n_published, room_published;
    struct heard *heard; /* as it came */
    uint64_t n_heard, room_heard;
    bool member, joined;         /* now; ever */
    uint64_t since_ns, until_ns; /* it is surely one since then; and surely none since then */
};

/* A record of this actor, of any kind from HISTORY_JOINED to HISTORY_HEARD. By `committed_ns` its
 * turn had been committed. */
void hearing_add(struct hearing *hearing, const struct history_record *record,
                 uint64_t committed_ns, struct history_verdict *verdict);
/* The actor has ended: it hears nothing more. */
void hearing_drop(struct hearing *hearing);
/* What was heard, or was not, of what the `n` others have published. */
void hearing_judge(const struct hearing *hearing, const struct hearing *const *publishers,
                   uint64_t n, struct history_verdict *verdict);
void hearing_free(struct hearing *hearing);
