/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/history/promises.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/history/verdict.h"

enum fate { FATE_OPEN, FATE_CAME, FATE_REVOKED, FATE_DROPPED };

struct promise {
    uint64_t from_ns; /* no later than this it was made; of an end that was told: when it was */
    uint64_t times;   /* of a periodic timer: how often it has come, or was missed */
    union {
        uint32_t span_us; /* until it may come; a period */
        uint32_t parent;  /* of an end: with whom it comes; 0: with nobody */
    };
    uint8_t fate;
    bool periodic;
};

static const char *const nouns[PROMISES_SORTS] = {
    [PROMISES_TIMERS] = "timer", [PROMISES_QUESTIONS] = "question", [PROMISES_ENDS] = "end"
};
static const char *const revoked[PROMISES_SORTS] = { [PROMISES_TIMERS] = "cancelled",
                                                     [PROMISES_QUESTIONS] = "withdrawn",
                                                     [PROMISES_ENDS] = "not to be told" };

static void __attribute__((format(printf, 4, 5)))
found(struct history_verdict *verdict, enum history_wrong wrong, const struct promises *promises,
      const char *format, ...)
{
    char who[32];
    va_list args;
    snprintf(who, sizeof(who), "actor %" PRIx64 ": ", promises->actor);
    va_start(args, format);
    verdict_found_va(verdict, wrong, who, format, args);
    va_end(args);
}

static uint64_t due_ns(const struct promise *promise, uint64_t times)
{
    return promise->from_ns + times * promise->span_us * UINT64_C(1000);
}

/* ---- made ---- */

static void make(struct promises *p, enum promises_sort sort, const struct history_record *record,
                 struct history_verdict *verdict)
{
    if (record->sequence != p->sorts[sort].n + 1) {
        found(verdict, HISTORY_MISNUMBERED, p, "%s %" PRIu64 " is made behind %" PRIu64,
              nouns[sort], record->sequence, p->sorts[sort].n);
        return;
    }
    if (p->sorts[sort].n == p->sorts[sort].room) {
        p->sorts[sort].room = (p->sorts[sort].room + 8) * 3 / 2;
        p->sorts[sort].of =
            history_memory(p->sorts[sort].of, p->sorts[sort].room, sizeof(struct promise));
    }
    p->sorts[sort].of[p->sorts[sort].n++] =
        (struct promise){ .from_ns = record->at_ns,
                          .span_us = record->span_us,
                          .periodic = record->kind == HISTORY_ARMED_EVERY };
    p->sorts[sort].open++;
    verdict->armed += sort == PROMISES_TIMERS;
    verdict->asked += sort == PROMISES_QUESTIONS;
    verdict->watched += sort == PROMISES_ENDS;
    verdict->linked += record->kind == HISTORY_LINKED;
}

/* The one that a record is about. NULL: there is none, which has been said. */
static struct promise *promise_of(struct promises *p, enum promises_sort sort,
                                  const struct history_record *record,
                                  struct history_verdict *verdict)
{
    if (record->sequence - 1 < p->sorts[sort].n)
        return &p->sorts[sort].of[record->sequence - 1];
    found(verdict, HISTORY_PHANTOM, p, "%s %" PRIu64 " was never made", nouns[sort],
          record->sequence);
    return NULL;
}

static void settle(struct promises *p, enum promises_sort sort, struct promise *promise,
                   enum fate fate)
{
    promise->fate = (uint8_t)fate;
    p->sorts[sort].open--;
}

/* ---- has come ---- */

/* Something has come for one whose fate is known. */
static void come_again(const struct promises *p, enum promises_sort sort,
                       const struct promise *promise, uint64_t number,
                       struct history_verdict *verdict)
{
    if (promise->fate == FATE_REVOKED)
        found(verdict, HISTORY_REVOKED, p, "%s %" PRIu64 " has come, and was %s", nouns[sort],
              number, revoked[sort]);
    else
        found(verdict, HISTORY_DOUBLED, p, "%s %" PRIu64 " has come once more", nouns[sort],
              number);
}

/* history.H8: of each period one, or a miss, and none before it is over. */
static void come_periodically(const struct promises *p, struct promise *promise,
                              const struct history_record *record, struct history_verdict *verdict)
{
    uint64_t times = promise->times + 1 + record->missed, due = due_ns(promise, times);
    if (promise->fate == FATE_REVOKED)
        come_again(p, PROMISES_TIMERS, promise, record->sequence, verdict);
    else if (due > record->at_ns)
        found(verdict, HISTORY_DOUBLED, p,
              "timer %" PRIu64 " has come more often than its period has passed, %" PRIu64
              " times with %u missed now",
              record->sequence, times, record->missed);
    promise->times = times;
    verdict->missed += record->missed;
}

static void fire(struct promises *p, const struct history_record *record,
                 struct history_verdict *verdict)
{
    struct promise *promise = promise_of(p, PROMISES_TIMERS, record, verdict);
    if (!promise)
        return;
    verdict->fired++;
    if (promise->periodic) {
        come_periodically(p, promise, record, verdict);
        return;
    }
    if (record->missed)
        found(verdict, HISTORY_MISMARKED, p, "timer %" PRIu64 " has no period, and missed %u",
              record->sequence, record->missed);
    if (promise->fate != FATE_OPEN) {
        come_again(p, PROMISES_TIMERS, promise, record->sequence, verdict);
        return;
    }
    if (record->at_ns < due_ns(promise, 1))
        found(verdict, HISTORY_EARLY, p, "timer %" PRIu64 " has come %" PRIu64 " ns early",
              record->sequence, due_ns(promise, 1) - record->at_ns);
    settle(p, PROMISES_TIMERS, promise, FATE_CAME);
}

static void answer(struct promises *p, const struct history_record *record,
                   struct history_verdict *verdict)
{
    struct promise *promise = promise_of(p, PROMISES_QUESTIONS, record, verdict);
    if (!promise)
        return;
    verdict->answered += record->kind == HISTORY_ANSWERED;
    verdict->unanswered += record->kind != HISTORY_ANSWERED;
    if (promise->fate != FATE_OPEN) {
        come_again(p, PROMISES_QUESTIONS, promise, record->sequence, verdict);
        return;
    }
    if (record->kind == HISTORY_EXPIRED && record->at_ns < due_ns(promise, 1))
        found(verdict, HISTORY_EARLY, p, "question %" PRIu64 " expired %" PRIu64 " ns early",
              record->sequence, due_ns(promise, 1) - record->at_ns);
    settle(p, PROMISES_QUESTIONS, promise, FATE_CAME);
}

/* ---- taken back ---- */

/* An end is told once, whenever it is. */
static void down(struct promises *p, const struct history_record *record,
                 struct history_verdict *verdict)
{
    struct promise *promise = promise_of(p, PROMISES_ENDS, record, verdict);
    if (!promise)
        return;
    verdict->downs++;
    if (promise->fate != FATE_OPEN)
        come_again(p, PROMISES_ENDS, promise, record->sequence, verdict);
    else
        settle(p, PROMISES_ENDS, promise, FATE_CAME);
    promise->from_ns = record->at_ns;
}

static void revoke(struct promises *p, enum promises_sort sort, const struct history_record *record,
                   struct history_verdict *verdict)
{
    struct promise *promise = promise_of(p, sort, record, verdict);
    if (!promise)
        return;
    if (promise->fate != FATE_OPEN) {
        found(verdict, HISTORY_CONTRADICTED, p, "%s %" PRIu64 " was taken back, and had %s",
              nouns[sort], record->sequence, promise->fate == FATE_CAME ? "come" : "been before");
        return;
    }
    settle(p, sort, promise, FATE_REVOKED);
    verdict->cancelled += sort == PROMISES_TIMERS;
    verdict->withdrawn += sort == PROMISES_QUESTIONS;
}

/* The service knows nothing of it. A timer that comes once, and an end, may be under way; anything
 * else that is open should be there. */
static void miss(struct promises *p, enum promises_sort sort, const struct history_record *record,
                 struct history_verdict *verdict)
{
    struct promise *promise = promise_of(p, sort, record, verdict);
    if (!promise || promise->fate != FATE_OPEN || sort == PROMISES_ENDS ||
        (sort == PROMISES_TIMERS && !promise->periodic))
        return;
    found(verdict, HISTORY_LOST, p, "%s %" PRIu64 " was not there to be taken back", nouns[sort],
          record->sequence);
    settle(p, sort, promise, FATE_DROPPED);
}

void promises_add(struct promises *p, const struct history_record *record,
                  struct history_verdict *verdict)
{
    switch (record->kind) {
    case HISTORY_ARMED:
    case HISTORY_ARMED_EVERY:
        make(p, PROMISES_TIMERS, record, verdict);
        break;
    case HISTORY_FIRED:
        fire(p, record, verdict);
        break;
    case HISTORY_CANCELLED:
        revoke(p, PROMISES_TIMERS, record, verdict);
        break;
    case HISTORY_TIMER_GONE:
        miss(p, PROMISES_TIMERS, record, verdict);
        break;
    case HISTORY_ASKED:
        make(p, PROMISES_QUESTIONS, record, verdict);
        break;
    case HISTORY_ANSWERED:
    case HISTORY_EXPIRED:
    case HISTORY_UNANSWERED:
        answer(p, record, verdict);
        break;
    case HISTORY_WITHDRAWN:
        revoke(p, PROMISES_QUESTIONS, record, verdict);
        break;
    case HISTORY_ASK_GONE:
        miss(p, PROMISES_QUESTIONS, record, verdict);
        break;
    case HISTORY_WATCHED:
    case HISTORY_LINKED:
        make(p, PROMISES_ENDS, record, verdict);
        break;
    case HISTORY_DOWN:
        down(p, record, verdict);
        break;
    case HISTORY_UNWATCHED:
        revoke(p, PROMISES_ENDS, record, verdict);
        break;
    case HISTORY_WATCH_GONE:
        miss(p, PROMISES_ENDS, record, verdict);
        break;
    default:
        found(verdict, HISTORY_DAMAGED, p, "a record of kind %u, number %" PRIu64, record->kind,
              record->sequence);
        break;
    }
}

/* ---- the end ---- */

void promises_drop(struct promises *p, struct history_verdict *verdict)
{
    for (int sort = 0; sort < PROMISES_SORTS; sort++) {
        verdict->ended += p->sorts[sort].open;
        for (uint64_t i = 0; i < p->sorts[sort].n && p->sorts[sort].open; i++)
            if (p->sorts[sort].of[i].fate == FATE_OPEN)
                settle(p, (enum promises_sort)sort, &p->sorts[sort].of[i], FATE_DROPPED);
    }
}

void promises_judge(const struct promises *p, struct history_verdict *verdict)
{
    for (int sort = 0; sort < PROMISES_SORTS; sort++) {
        if (p->sorts[sort].open == 0)
            continue;
        for (uint64_t i = 0; i < p->sorts[sort].n; i++)
            if (p->sorts[sort].of[i].fate == FATE_OPEN && !p->sorts[sort].of[i].periodic)
                found(verdict, HISTORY_LOST, p, "%s %" PRIu64 " of %" PRIu64 " has not come",
                      nouns[sort], i + 1, p->sorts[sort].n);
    }
}

/* history.H13 */
void promises_judge_links(const struct promises *p, promises_ended *ended_ns, const void *of,
                          struct history_verdict *verdict)
{
    for (uint64_t i = 0; i < p->sorts[PROMISES_ENDS].n; i++) {
        const struct promise *promise = &p->sorts[PROMISES_ENDS].of[i];
        if (promise->parent != 0 && promise->fate == FATE_CAME &&
            promise->from_ns < ended_ns(of, promise->parent))
            found(verdict, HISTORY_EARLY, p,
                  "end %" PRIu64 " was told before actor %x ended, with whom it was to come", i + 1,
                  promise->parent);
    }
}

void promises_free(struct promises *p)
{
    for (int sort = 0; sort < PROMISES_SORTS; sort++)
        free(p->sorts[sort].of);
}
