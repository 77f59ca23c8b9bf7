/* SPDX-License-Identifier: Apache-2.0 */
/* Histories: what senders and receivers of numbered messages have seen, and whether it can have
 * been.
 *
 * Each sender numbers what it sends to a receiver from 1, without gaps, and each of both notes what
 * happens: a record per event. The checker takes records in any order between senders and
 * receivers; those of one sender for one receiver, and those of one receiver from one sender, must
 * come as they happened. It takes O(1) for a record, and O(n) for all; two bits a number are kept.
 *
 * What must hold, for each pair of sender and receiver (and lane):
 *   history.H1  Each number that was accepted has exactly one fate: run, refused, or dropped. Drops
 *       of which only the sum is known (a counter of the service) must be exactly as many as are
 *       missing.
 *   history.H2  A number is run once. It may be run again only with the mark `redelivered`, before
 *       any later one of the pair: the executor has died in it.
 *   history.H3  Numbers are run in ascending order.
 *   history.H4  Nothing is run that was not sent. What its sender had begun to send when it was
 *       killed may be there or not, but only as a prefix.
 *   history.H5  `attempt` (faults of earlier runs) is above 0 only with the mark, and does not
 *       fall.
 *
 * Actors note, besides, what they have been promised: timers that they arm, and outcomes of their
 * questions. Each sort is numbered from 1, without gaps, as it was armed or asked. Records of one
 * actor must come as they happened.
 *   history.H6  An actor numbers its turns in a state that is kept: each is one more than the last.
 *       A turn that begins once more was not committed, which is the mark's to say, and what it had
 *       noted has not happened.
 *   history.H7  A timer that comes once does so once, and not early, or it was cancelled and does
 *       not come. A question has one outcome, or was withdrawn and has none.
 *   history.H8  A periodic timer comes, or misses, once in each period, until it is cancelled: what
 *       has come and what was missed are together never more than the periods that have passed.
 *   history.H9  What an actor has been promised ends with it; of one that lives, all must come.
 *   history.H10  What is published to the group is heard by each who was a member before it, once
 *       and in its publisher's order. Nobody hears it who has not joined, nor who had left before
 *       it; what was on its way when somebody left may come. A membership is there until it is
 *       given up, and not behind that.
 *   history.H11  What an actor puts off comes again once it takes it back, each once, in the order
 *       in which it was put off, and before what has not come yet. As many are taken back as are
 *       there.
 *   history.H12  What is run is a behaviour of the phase that the actor's turns have led to.
 *   history.H13  The end of a child that is linked is told, and not before its parent ends.
 *
 * A checker, and a log, belong to one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum history_kind {
    HISTORY_BEGUN = 1, /* the sender is about to send up to this number */
    HISTORY_SENT,      /* all up to this number have been accepted */
    HISTORY_RUN,       /* the receiver has it */
    HISTORY_REFUSED,   /* the sender was told that it is not run */
    HISTORY_DROPPED,   /* this one was dropped, as its policy says */
    HISTORY_DROPS,     /* so many (`sequence`) were dropped, whichever; of any pair */

    /* From here on: what an actor, `sender`, notes of itself; `at_ns` is the time. */
    HISTORY_TURN = 32,   /* a turn of this number begins */
    HISTORY_ENDED,       /* the actor ends with this turn */
    HISTORY_ARMED,       /* a timer, to come once, `span_us` from `at_ns`, or a little later */
    HISTORY_ARMED_EVERY, /* ... for ever, each `span_us` */
    HISTORY_FIRED,       /* it has come; `missed`: so many times went by before it */
    HISTORY_CANCELLED,   /* it is not to come, said the service */
    HISTORY_TIMER_GONE,  /* there is none to be cancelled, said the service */
    HISTORY_ASKED,       /* a question, with `span_us` to its deadline */
    HISTORY_ANSWERED,    /* ... and its outcome is an answer */
    HISTORY_EXPIRED,     /* ... is that its deadline is over */
    HISTORY_UNANSWERED,  /* ... is that there will be no answer, for another reason */
    HISTORY_WITHDRAWN,   /* no outcome is to come, said the service */
    HISTORY_ASK_GONE,    /* there is none to be withdrawn, said the service */
    HISTORY_WATCHED,     /* somebody is monitored, that will end */
    HISTORY_DOWN,        /* ... has, it was told */
    HISTORY_UNWATCHED,   /* it is not to be told, said the service */
    HISTORY_WATCH_GONE,  /* there is no such monitor, said the service */
    HISTORY_LINKED,      /* somebody is monitored that is to end with the actor `parent` */

    HISTORY_JOINED,    /* it is a member of the group, of which a history has one */
    HISTORY_IS_MEMBER, /* it is one already, said the service */
    HISTORY_LEFT,      /* it is a member no more */
    HISTORY_NO_MEMBER, /* it is none, said the service */
    HISTORY_PUBLISHED, /* to the group; each numbers its own, from 1 */
    HISTORY_HEARD,     /* what the actor `from` has published under this number */

    HISTORY_PHASE,      /* a behaviour of this phase runs; 0: of the first one */
    HISTORY_BECOMES,    /* from the next turn on it is in this phase */
    HISTORY_TAKEN,      /* the message of this number, of `from`, that can be put off, is run */
    HISTORY_PUT_OFF,    /* ... is put off */
    HISTORY_TAKEN_BACK, /* so many are to come again; `most`: no more were wanted, 0: all */
};

struct history_record {
    uint64_t sender;
    union {
        uint64_t receiver;
        uint64_t at_ns;
    };
    uint64_t sequence;
    uint8_t kind; /* enum history_kind */
    uint8_t redelivered;
    uint16_t lane;
    union {
        uint32_t attempt;
        uint32_t span_us;
        uint32_t missed;
        uint32_t parent;
        uint32_t from;
        uint32_t most;
    };
};

enum history_wrong {
    HISTORY_LOST,         /* accepted, or promised, without a fate */
    HISTORY_DOUBLED,      /* run twice, without a mark that allows it; come twice */
    HISTORY_REORDERED,    /* run behind a later one */
    HISTORY_PHANTOM,      /* run, and never sent; or in doubt, and not a prefix */
    HISTORY_CONTRADICTED, /* two fates */
    HISTORY_MISMARKED,    /* attempts without a mark, or fewer than before */
    HISTORY_MISNUMBERED,  /* its sender's numbers do not ascend */
    HISTORY_UNBALANCED,   /* more drops counted than numbers missing */
    HISTORY_DAMAGED,      /* no record, or a log that was too small */
    HISTORY_REVOKED,      /* it has come, and had been taken back, or left */
    HISTORY_EARLY,        /* it has come before its time */
    HISTORY_MISPHASED,    /* run by a behaviour of another phase */
    HISTORY_WRONG_N,
};

struct history_verdict {
    uint64_t records, pairs, sent, run, refused, dropped, redelivered;
    uint64_t in_doubt;          /* begun, not known to be accepted, and there */
    uint64_t actors;            /* that have noted something of themselves */
    uint64_t turns, turns_void; /* that were committed; attempts that were not */
    uint64_t armed, fired, missed, cancelled;
    uint64_t asked, answered, unanswered, withdrawn;
    uint64_t watched, downs, linked;
    uint64_t joined, left, published, heard;
    uint64_t becomes, put_off, came_back; /* changes of phases; messages that were put off */
    uint64_t ended;                  /* timers, questions, monitors that ended with their actors */
    uint64_t wrong[HISTORY_WRONG_N]; /* how often */
    char first[200];                 /* what was wrong first, in words */
};

/* ---- check.c ---- */

struct history;

struct history *history_new(void); /* never NULL: a test that has no memory ends */
struct history *history_free(struct history *history);
void history_add(struct history *history, const struct history_record *record);
/* Nothing wrong has come up so far; what is missing is known at the end only. */
bool history_is_right(const struct history *history);
/* The verdict over all that was added; more may follow. The turns that actors have noted last are
 * taken for committed. True: all is as it must be. */
bool history_judge(struct history *history, struct history_verdict *ret_verdict);

static inline void history_note(struct history *history, enum history_kind kind, uint64_t sender,
                                uint64_t receiver, uint64_t sequence)
{
    history_add(history, &(struct history_record){ .sender = sender,
                                                   .receiver = receiver,
                                                   .sequence = sequence,
                                                   .kind = (uint8_t)kind });
}

/* ---- verdict.c ---- */

const char *history_wrong_name(enum history_wrong wrong);
/* one line, `history=ok …` or `history=WRONG …` */
void history_print(const struct history_verdict *verdict, FILE *to);

/* ---- log.c ---- */

/* Records in a file, mapped: whoever writes may be killed at any moment, and what it had noted is
 * there. One writer at a time; a file that is there is continued. */
struct history_log;

struct history_log *history_log_open(const char *path,
                                     /* NULL and errno; the file takes room as it fills */
                                     uint64_t capacity);
struct history_log *history_log_close(struct history_log *log);
void history_log_note(struct history_log *log,
                      /* beyond the capacity: counted, and damage */
                      const struct history_record *record);
/* How many there are by now, for whoever looks on while another writes. */
uint64_t history_log_records(const struct history_log *log, const struct history_record **ret);
/* Adds a log's records.  0; negative errno: no such file, or no log. */
int history_add_log(struct history *history, const char *path);
