/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/history/hearing.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/history/verdict.h"

/* `place`: so many were heard before. */
struct heard {
    uint64_t number, at_ns, since_ns, until_ns, place;
    uint32_t from;
};

static void __attribute__((format(printf, 4, 5)))
found(struct history_verdict *verdict, enum history_wrong wrong, const struct hearing *hearing,
      const char *format, ...)
{
    char who[32];
    va_list args;
    snprintf(who, sizeof(who), "actor %" PRIx64 ": ", hearing->actor);
    va_start(args, format);
    verdict_found_va(verdict, wrong, who, format, args);
    va_end(args);
}

/* ---- records ---- */

static void publish(struct hearing *h, const struct history_record *record,
                    struct history_verdict *verdict)
{
    if (record->sequence != h->n_published + 1) {
        found(verdict, HISTORY_MISNUMBERED, h, "%" PRIu64 " is published behind %" PRIu64,
              record->sequence, h->n_published);
        return;
    }
    if (h->n_published == h->room_published) {
        h->room_published = (h->room_published + 8) * 3 / 2;
        h->published = history_memory(h->published, h->room_published, sizeof(*h->published));
    }
    h->published[h->n_published++] = record->at_ns;
    verdict->published++;
}

static void hear(struct hearing *h, const struct history_record *record,
                 struct history_verdict *verdict)
{
    verdict->heard++;
    if (!h->joined) {
        found(verdict, HISTORY_PHANTOM, h,
              "%" PRIu64 " of actor %x is heard, and it has never joined", record->sequence,
              record->from);
        return;
    }
    if (h->n_heard == h->room_heard) {
        h->room_heard = (h->room_heard + 8) * 3 / 2;
        h->heard = history_memory(h->heard, h->room_heard, sizeof(*h->heard));
    }
    h->heard[h->n_heard] = (struct heard){ .number = record->sequence,
                                           .at_ns = record->at_ns,
                                           .since_ns = h->since_ns,
                                           .until_ns = h->until_ns,
                                           .place = h->n_heard,
                                           .from = record->from };
    h->n_heard++;
}

static void join(struct hearing *h, uint64_t committed_ns, struct history_verdict *verdict)
{
    if (h->member)
        found(verdict, HISTORY_CONTRADICTED, h, "it has joined, and was a member");
    h->member = h->joined = true;
    h->since_ns = committed_ns;
    h->until_ns = UINT64_MAX;
    verdict->joined++;
}

static void leave(struct hearing *h, uint64_t committed_ns, struct history_verdict *verdict)
{
    if (!h->member)
        found(verdict, HISTORY_CONTRADICTED, h, "it has left, and was no member");
    h->member = false;
    h->until_ns = committed_ns;
    verdict->left++;
}

void hearing_add(struct hearing *h, const struct history_record *record, uint64_t committed_ns,
                 struct history_verdict *verdict)
{
    switch (record->kind) {
    case HISTORY_JOINED:
        join(h, committed_ns, verdict);
        break;
    case HISTORY_IS_MEMBER:
        if (!h->member)
            found(verdict, HISTORY_REVOKED, h, "it is a member, and had left");
        break;
    case HISTORY_LEFT:
        leave(h, committed_ns, verdict);
        break;
    case HISTORY_NO_MEMBER:
        if (h->member)
            found(verdict, HISTORY_LOST, h, "it is no member, and had joined");
        break;
    case HISTORY_PUBLISHED:
        publish(h, record, verdict);
        break;
    default:
        hear(h, record, verdict);
        break;
    }
}

void hearing_drop(struct hearing *h)
{
    h->member = false;
}

/* ---- the verdict ---- */

static int by_number(const void *a, const void *b)
{
    const struct heard *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

static const struct hearing *publisher_of(const struct hearing *const *publishers, uint64_t n,
                                          uint64_t actor)
{
    for (uint64_t i = 0; i < n; i++)
        if (publishers[i]->actor == actor)
            return publishers[i];
    return NULL;
}

/* Of those below `below`, and behind `above`, each that was published while it was surely a member
 * is missing. */
static void miss(const struct hearing *h, const struct hearing *publisher, uint64_t above,
                 uint64_t below, uint64_t since_ns, struct history_verdict *verdict)
{
    for (uint64_t number = below - 1;
         number > above && publisher->published[number - 1] >= since_ns; number--)
        found(verdict, HISTORY_LOST, h, "%" PRIu64 " of actor %" PRIx64 " was not heard", number,
              publisher->actor);
}

/* By itself: it was there to be heard, by this one. */
static bool was_to_be_heard(const struct hearing *h, const struct heard *heard,
                            const struct hearing *publisher, struct history_verdict *verdict)
{
    bool there = publisher && heard->number - 1 < publisher->n_published;
    uint64_t at_ns = there ? publisher->published[heard->number - 1] : UINT64_MAX;
    if (at_ns > heard->at_ns)
        found(verdict, HISTORY_PHANTOM, h, "%" PRIu64 " of actor %x is heard, and not published",
              heard->number, heard->from);
    else if (at_ns > heard->until_ns)
        found(verdict, HISTORY_REVOKED, h,
              "%" PRIu64 " of actor %x is heard, and it had left before that was published",
              heard->number, heard->from);
    return there && at_ns <= heard->until_ns;
}

/* Of one publisher, `heard` to `end`, by number. What is the highest is told. */
static uint64_t judge_publisher(const struct hearing *h, const struct heard *heard,
                                const struct heard *end, const struct hearing *publisher,
                                struct history_verdict *verdict)
{
    uint64_t last = 0, place = 0; /* the highest number, and the latest place, so far */
    for (; heard < end; heard++) {
        if (heard->number == last && last > 0) {
            found(verdict, HISTORY_DOUBLED, h, "%" PRIu64 " of actor %x is heard once more",
                  heard->number, heard->from);
            continue;
        }
        if (last > 0 && heard->place < place)
            found(verdict, HISTORY_REORDERED, h,
                  "%" PRIu64 " of actor %x is heard before one that was published earlier",
                  heard->number, heard->from);
        if (!was_to_be_heard(h, heard, publisher, verdict))
            continue;
        miss(h, publisher, last, heard->number, heard->since_ns, verdict);
        last = heard->number;
        place = heard->place > place ? heard->place : place;
    }
    return last;
}

void hearing_judge(const struct hearing *h, const struct hearing *const *publishers, uint64_t n,
                   struct history_verdict *verdict)
{
    struct heard *heard = history_memory(NULL, h->n_heard + 1, sizeof(*heard));
    uint64_t *last = history_memory(NULL, n + 1, sizeof(*last)); /* by publisher */
    memset(last, 0, (n + 1) * sizeof(*last));
    if (h->n_heard > 0)
        memcpy(heard, h->heard, h->n_heard * sizeof(*heard));
    qsort(heard, h->n_heard, sizeof(*heard), by_number);
    for (uint64_t first = 0, i = 1; i <= h->n_heard; i++) {
        if (i < h->n_heard && heard[i].from == heard[first].from)
            continue;
        const struct hearing *publisher = publisher_of(publishers, n, heard[first].from);
        uint64_t highest = judge_publisher(h, heard + first, heard + i, publisher, verdict);
        for (uint64_t p = 0; p < n; p++)
            if (publishers[p] == publisher)
                last[p] = highest;
        first = i;
    }
    for (uint64_t p = 0; p < n && h->member; p++)
        miss(h, publishers[p], last[p], publishers[p]->n_published + 1, h->since_ns, verdict);
    free(last);
    free(heard);
}

void hearing_free(struct hearing *h)
{
    free(h->published);
    free(h->heard);
}
