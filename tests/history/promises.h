/* SPDX-License-Identifier: Apache-2.0 */
/* What is to come to one actor: its timers, the outcomes of its questions, and the ends of those
 * that it monitors (history.H7 to history.H9, history.H13). Each sort is numbered from 1, in the
 * order of arming and asking; a number's state is one small struct, and a record is looked at once.
 *
 * What else an actor can be promised is one more sort, with its own kinds of records.
 */
#pragma once

#include "tests/history/history.h"

struct promise;

enum promises_sort { PROMISES_TIMERS, PROMISES_QUESTIONS, PROMISES_ENDS, PROMISES_SORTS };

struct promises {
    uint64_t actor; /* who it is, for the verdict */
    struct {
        struct promise *of; /* by number - 1 */
        uint64_t n, room, open;
    } sorts[PROMISES_SORTS];
};

/* A record of this actor, of any kind from HISTORY_ARMED on. */
void promises_add(struct promises *promises, const struct history_record *record,
                  struct history_verdict *verdict);
/* The actor has ended: nothing is owed to it any more. */
void promises_drop(struct promises *promises, struct history_verdict *verdict);
/* Of an actor that lives, when all has come that is to come: what has not is lost. */
void promises_judge(const struct promises *promises, struct history_verdict *verdict);
/* When an actor has noted its end; UINT64_MAX: it lives. */
typedef uint64_t promises_ended(const void *of, uint64_t actor);
/* Ends that come with a parent's, when all have noted all. */
void promises_judge_links(const struct promises *promises, promises_ended *ended_ns, const void *of,
                          struct history_verdict *verdict);
void promises_free(struct promises *promises);
