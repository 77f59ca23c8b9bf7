/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/history/turns.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/history/hearing.h"
#include "tests/history/promises.h"
#include "tests/history/shelf.h"
#include "tests/history/verdict.h"

struct turns_actor {
    bool used, open, ended; /* open: its latest turn may be void yet */
    uint64_t turn;          /* the latest; 0: it has noted none */
    uint64_t ended_ns;
    struct promises promises;
    struct hearing hearing;
    struct shelf shelf;
    struct history_record *noted; /* in the turn that is open */
    size_t n_noted, room;
};

struct turns {
    struct turns_actor *actors; /* open addressing; a power of two */
    uint64_t capacity, n;
};

static void __attribute__((format(printf, 4, 5)))
found(struct history_verdict *verdict, enum history_wrong wrong, const struct turns_actor *actor,
      const char *format, ...)
{
    char who[32];
    va_list args;
    snprintf(who, sizeof(who), "actor %" PRIx64 ": ", actor->promises.actor);
    va_start(args, format);
    verdict_found_va(verdict, wrong, who, format, args);
    va_end(args);
}

/* ---- actors ---- */

static struct turns_actor *slot_of(struct turns_actor *actors, uint64_t capacity, uint64_t actor)
{
    uint64_t hash = actor * UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t at = hash ^ hash >> 32;; at++) {
        struct turns_actor *slot = &actors[at & (capacity - 1)];
        if (!slot->used || slot->promises.actor == actor)
            return slot;
    }
}

static void grow(struct turns *turns)
{
    uint64_t capacity = turns->capacity ? turns->capacity * 2 : 64;
    struct turns_actor *actors = history_memory(NULL, capacity, sizeof(*actors));
    memset(actors, 0, capacity * sizeof(*actors));
    for (uint64_t i = 0; i < turns->capacity; i++)
        if (turns->actors[i].used)
            *slot_of(actors, capacity, turns->actors[i].promises.actor) = turns->actors[i];
    free(turns->actors);
    turns->actors = actors;
    turns->capacity = capacity;
}

static struct turns_actor *actor_of(struct turns *turns, uint64_t number,
                                    struct history_verdict *verdict)
{
    if (turns->n * 2 >= turns->capacity)
        grow(turns);
    struct turns_actor *actor = slot_of(turns->actors, turns->capacity, number);
    if (!actor->used) {
        *actor = (struct turns_actor){ .used = true,
                                       .promises = { .actor = number },
                                       .hearing = { .actor = number },
                                       .shelf = { .actor = number } };
        turns->n++;
        verdict->actors++;
    }
    return actor;
}

/* ---- records ---- */

static void end(struct turns_actor *actor, const struct history_record *record,
                struct history_verdict *verdict)
{
    actor->ended = true;
    actor->ended_ns = record->at_ns;
    promises_drop(&actor->promises, verdict);
    hearing_drop(&actor->hearing);
    shelf_drop(&actor->shelf);
}

/* By `committed_ns` the record's turn had been committed. */
static void apply(struct turns_actor *actor, const struct history_record *record,
                  uint64_t committed_ns, struct history_verdict *verdict)
{
    if (actor->ended)
        found(verdict, HISTORY_PHANTOM, actor, "a record of kind %u behind its end", record->kind);
    else if (record->kind == HISTORY_ENDED)
        end(actor, record, verdict);
    else if (record->kind < HISTORY_JOINED)
        promises_add(&actor->promises, record, verdict);
    else if (record->kind < HISTORY_PHASE)
        hearing_add(&actor->hearing, record, committed_ns, verdict);
    else
        shelf_add(&actor->shelf, record, verdict);
}

static void settle(struct turns_actor *actor, uint64_t committed_ns,
                   struct history_verdict *verdict)
{
    for (size_t i = 0; i < actor->n_noted; i++)
        apply(actor, &actor->noted[i], committed_ns, verdict);
    actor->n_noted = 0;
    actor->open = false;
}

static void begin(struct turns_actor *actor, const struct history_record *record,
                  struct history_verdict *verdict)
{
    if (actor->open && record->sequence == actor->turn) {
        if (!record->redelivered)
            found(verdict, HISTORY_DOUBLED, actor, "turn %" PRIu64 " was run again, and not marked",
                  record->sequence);
        actor->n_noted = 0;
        verdict->turns_void++;
        return;
    }
    settle(actor, record->at_ns, verdict);
    if (actor->ended)
        found(verdict, HISTORY_PHANTOM, actor, "turn %" PRIu64 " behind its end", record->sequence);
    else if (record->sequence != actor->turn + 1)
        found(verdict, record->sequence <= actor->turn ? HISTORY_REORDERED : HISTORY_LOST, actor,
              "turn %" PRIu64 " behind turn %" PRIu64, record->sequence, actor->turn);
    actor->turn = record->sequence;
    actor->open = true;
    verdict->turns++;
}

void turns_add(struct turns *turns, const struct history_record *record,
               struct history_verdict *verdict)
{
    struct turns_actor *actor = actor_of(turns, record->sender, verdict);
    if (record->kind == HISTORY_TURN) {
        begin(actor, record, verdict);
        return;
    }
    if (!actor->open) {
        apply(actor, record, record->at_ns, verdict);
        return;
    }
    if (actor->n_noted == actor->room) {
        actor->room = (actor->room + 8) * 3 / 2;
        actor->noted = history_memory(actor->noted, actor->room, sizeof(*actor->noted));
    }
    actor->noted[actor->n_noted++] = *record;
}

/* ---- the verdict ---- */

void turns_settle(struct turns *turns, struct history_verdict *verdict)
{
    for (uint64_t i = 0; i < turns->capacity; i++)
        if (turns->actors[i].open)
            settle(&turns->actors[i], UINT64_MAX, verdict);
}

static uint64_t ended_ns(const void *of, uint64_t number)
{
    const struct turns *turns = of;
    const struct turns_actor *actor = slot_of(turns->actors, turns->capacity, number);
    return actor->used && actor->ended ? actor->ended_ns : UINT64_MAX;
}

static void judge_hearings(const struct turns *turns, struct history_verdict *verdict)
{
    const struct hearing **publishers = history_memory(NULL, turns->n + 1, sizeof(*publishers));
    uint64_t n = 0;
    for (uint64_t i = 0; i < turns->capacity; i++)
        if (turns->actors[i].used && turns->actors[i].hearing.n_published > 0)
            publishers[n++] = &turns->actors[i].hearing;
    for (uint64_t i = 0; i < turns->capacity; i++)
        if (turns->actors[i].used && turns->actors[i].hearing.joined)
            hearing_judge(&turns->actors[i].hearing, publishers, n, verdict);
    free(publishers);
}

void turns_judge(const struct turns *turns, struct history_verdict *verdict)
{
    for (uint64_t i = 0; i < turns->capacity; i++) {
        if (!turns->actors[i].used)
            continue;
        promises_judge(&turns->actors[i].promises, verdict);
        promises_judge_links(&turns->actors[i].promises, ended_ns, turns, verdict);
        shelf_judge(&turns->actors[i].shelf, verdict);
    }
    judge_hearings(turns, verdict);
}

struct turns *turns_new(void)
{
    struct turns *turns = history_memory(NULL, 1, sizeof(*turns));
    *turns = (struct turns){ .capacity = 0 };
    return turns;
}

void turns_free(struct turns *turns)
{
    for (uint64_t i = 0; turns && i < turns->capacity; i++) {
        promises_free(&turns->actors[i].promises);
        hearing_free(&turns->actors[i].hearing);
        shelf_free(&turns->actors[i].shelf);
        free(turns->actors[i].noted);
    }
    if (turns)
        free(turns->actors);
    free(turns);
}
