/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker: pairs in a hash table, the fate of each number in two bits (history.H1 to
 * history.H5); the rest is turns.c's. */
#include "tests/history/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/history/turns.h"
#include "tests/history/verdict.h"

enum fate { FATE_NONE, FATE_RUN, FATE_REFUSED, FATE_DROPPED };
enum {
    FATES_A_WORD = 32,
    JUMP_MAX = 1 << 24 /* a number so far above the last one is damage, not a gap */
};

struct pair {
    uint64_t sender, receiver;
    uint16_t lane;
    bool used;
    uint32_t attempt;     /* of `last`'s latest run */
    uint64_t begun, sent; /* the highest that its sender has begun, that were accepted */
    uint64_t last, top;   /* the highest that was run; that has a fate */
    uint64_t *fates;      /* from number 1 */
    uint64_t words;
};

struct history {
    struct pair *pairs; /* open addressing; a power of two */
    uint64_t capacity;
    uint64_t drops;
    struct turns *turns;
    struct history_verdict so_far;
};

static void __attribute__((format(printf, 4, 5)))
found(struct history_verdict *verdict, enum history_wrong wrong, const struct pair *pair,
      const char *format, ...)
{
    char who[64] = "";
    va_list args;
    if (pair)
        snprintf(who, sizeof(who), "from %" PRIx64 " to %" PRIx64 ": ", pair->sender,
                 pair->receiver);
    va_start(args, format);
    verdict_found_va(verdict, wrong, who, format, args);
    va_end(args);
}

/* ---- pairs ---- */

static struct pair *pair_slot(struct pair *pairs, uint64_t capacity, uint64_t sender,
                              uint64_t receiver, uint16_t lane)
{
    uint64_t hash =
        (sender * UINT64_C(0x9e3779b97f4a7c15) ^ (receiver + lane)) * UINT64_C(0xff51afd7ed558ccd);
    for (uint64_t at = hash ^ hash >> 32;; at++) {
        struct pair *pair = &pairs[at & (capacity - 1)];
        if (!pair->used ||
            (pair->sender == sender && pair->receiver == receiver && pair->lane == lane))
            return pair;
    }
}

static void pairs_grow(struct history *history)
{
    uint64_t capacity = history->capacity ? history->capacity * 2 : 64;
    struct pair *pairs = history_memory(NULL, capacity, sizeof(*pairs));
    memset(pairs, 0, capacity * sizeof(*pairs));
    for (uint64_t i = 0; i < history->capacity; i++) {
        const struct pair *pair = &history->pairs[i];
        if (pair->used)
            *pair_slot(pairs, capacity, pair->sender, pair->receiver, pair->lane) = *pair;
    }
    free(history->pairs);
    history->pairs = pairs;
    history->capacity = capacity;
}

static struct pair *pair_of(struct history *history, const struct history_record *record)
{
    if (history->so_far.pairs * 2 >= history->capacity)
        pairs_grow(history);
    struct pair *pair = pair_slot(history->pairs, history->capacity, record->sender,
                                  record->receiver, record->lane);
    if (!pair->used) {
        *pair = (struct pair){ .sender = record->sender,
                               .receiver = record->receiver,
                               .lane = record->lane,
                               .used = true };
        history->so_far.pairs++;
    }
    return pair;
}

static enum fate fate_of(const struct pair *pair, uint64_t number)
{
    uint64_t at = number - 1;
    return at / FATES_A_WORD < pair->words
               ? (enum fate)(pair->fates[at / FATES_A_WORD] >> at % FATES_A_WORD * 2 & 3)
               : FATE_NONE;
}

static void fate_set(struct pair *pair, uint64_t number, enum fate fate)
{
    uint64_t at = number - 1, word = at / FATES_A_WORD;
    if (word >= pair->words) {
        uint64_t words = (word + 8) * 3 / 2;
        pair->fates = history_memory(pair->fates, words, sizeof(*pair->fates));
        memset(pair->fates + pair->words, 0, (words - pair->words) * sizeof(*pair->fates));
        pair->words = words;
    }
    pair->fates[word] |= (uint64_t)fate << at % FATES_A_WORD * 2;
    if (number > pair->top)
        pair->top = number;
}

/* ---- records ---- */

static void note_run_again(struct history *history, const struct pair *pair,
                           const struct history_record *record)
{
    if (!record->redelivered)
        found(&history->so_far, HISTORY_DOUBLED, pair, "%" PRIu64 " was run again, and not marked",
              record->sequence);
    else if (record->sequence != pair->last)
        found(&history->so_far, HISTORY_DOUBLED, pair, "%" PRIu64 " was run again behind %" PRIu64,
              record->sequence, pair->last);
    else if (record->attempt < pair->attempt)
        found(&history->so_far, HISTORY_MISMARKED, pair,
              "%" PRIu64 ": attempt %u behind attempt %u", record->sequence, record->attempt,
              pair->attempt);
    else
        history->so_far.redelivered++;
}

static void note_run(struct history *history, struct pair *pair,
                     const struct history_record *record)
{
    enum fate fate = fate_of(pair, record->sequence);
    if (record->attempt > 0 && !record->redelivered)
        found(&history->so_far, HISTORY_MISMARKED, pair, "%" PRIu64 ": attempt %u without a mark",
              record->sequence, record->attempt);
    if (fate == FATE_RUN)
        note_run_again(history, pair, record);
    else if (fate != FATE_NONE)
        found(&history->so_far, HISTORY_CONTRADICTED, pair, "%" PRIu64 " was %s, and run",
              record->sequence, fate == FATE_REFUSED ? "refused" : "dropped");
    if (fate == FATE_RUN || fate == FATE_NONE)
        pair->attempt = record->attempt;
    if (fate != FATE_NONE)
        return;
    if (record->sequence < pair->last)
        found(&history->so_far, HISTORY_REORDERED, pair, "%" PRIu64 " was run behind %" PRIu64,
              record->sequence, pair->last);
    else
        pair->last = record->sequence;
    fate_set(pair, record->sequence, FATE_RUN);
    history->so_far.run++;
}

static void note_not_run(struct history *history, struct pair *pair, uint64_t number,
                         enum fate fate)
{
    const char *word = fate == FATE_REFUSED ? "refused" : "dropped";
    if (fate_of(pair, number) != FATE_NONE) {
        found(&history->so_far, HISTORY_CONTRADICTED, pair, "%" PRIu64 " was %s, and has a fate",
              number, word);
        return;
    }
    fate_set(pair, number, fate);
    history->so_far.refused += fate == FATE_REFUSED;
    history->so_far.dropped += fate == FATE_DROPPED;
}

static void note_sent(struct history *history, struct pair *pair, uint64_t number)
{
    if (number <= pair->sent) {
        found(&history->so_far, HISTORY_MISNUMBERED, pair, "%" PRIu64 " was sent behind %" PRIu64,
              number, pair->sent);
        return;
    }
    history->so_far.sent += number - pair->sent;
    pair->sent = number;
}

static uint64_t highest(const struct pair *pair)
{
    uint64_t most = pair->begun > pair->sent ? pair->begun : pair->sent;
    return most > pair->top ? most : pair->top;
}

void history_add(struct history *history, const struct history_record *record)
{
    history->so_far.records++;
    if (record->kind == HISTORY_DROPS) {
        history->drops += record->sequence;
        return;
    }
    if (record->kind >= HISTORY_TURN) {
        turns_add(history->turns, record, &history->so_far);
        return;
    }
    struct pair *pair = pair_of(history, record);
    if (record->sequence == 0 || record->sequence > highest(pair) + JUMP_MAX) {
        found(&history->so_far, HISTORY_DAMAGED, pair,
              "a record with number %" PRIu64 " behind %" PRIu64, record->sequence, highest(pair));
        return;
    }
    switch (record->kind) {
    case HISTORY_BEGUN:
        if (record->sequence <= pair->sent)
            found(&history->so_far, HISTORY_MISNUMBERED, pair,
                  "%" PRIu64 " was begun behind %" PRIu64, record->sequence, pair->sent);
        else if (record->sequence > pair->begun)
            pair->begun = record->sequence;
        break;
    case HISTORY_SENT:
        note_sent(history, pair, record->sequence);
        break;
    case HISTORY_RUN:
        note_run(history, pair, record);
        break;
    case HISTORY_REFUSED:
        note_not_run(history, pair, record->sequence, FATE_REFUSED);
        break;
    case HISTORY_DROPPED:
        note_not_run(history, pair, record->sequence, FATE_DROPPED);
        break;
    default:
        found(&history->so_far, HISTORY_DAMAGED, pair, "a record of kind %u, number %" PRIu64,
              record->kind, record->sequence);
        break;
    }
}

/* ---- the verdict ---- */

/* What is missing of a pair; `verdict` gets what is there and must not be. */
static uint64_t pair_judge(const struct pair *pair, struct history_verdict *verdict,
                           uint64_t *ret_first)
{
    uint64_t missing = 0, in_doubt = 0;
    for (uint64_t number = 1; number <= pair->sent; number++)
        if (fate_of(pair, number) == FATE_NONE && missing++ == 0)
            *ret_first = number;
    for (uint64_t number = pair->sent + 1; number <= pair->top; number++) {
        if (fate_of(pair, number) == FATE_NONE)
            continue;
        in_doubt++;
        if (number > pair->begun)
            found(verdict, HISTORY_PHANTOM, pair, "%" PRIu64 " is there and was never sent",
                  number);
        else if (number != pair->sent + in_doubt)
            found(verdict, HISTORY_PHANTOM, pair, "%" PRIu64 " is there, and one before it is not",
                  number);
    }
    verdict->in_doubt += in_doubt;
    return missing;
}

bool history_judge(struct history *history, struct history_verdict *ret_verdict)
{
    turns_settle(history->turns, &history->so_far);
    struct history_verdict verdict = history->so_far;
    const struct pair *first = NULL;
    uint64_t missing = 0, number = 0;
    for (uint64_t i = 0; i < history->capacity; i++) {
        uint64_t first_of_pair = 0,
                 n = history->pairs[i].used
                         ? pair_judge(&history->pairs[i], &verdict, &first_of_pair)
                         : 0;
        if (n && !first) {
            first = &history->pairs[i];
            number = first_of_pair;
        }
        missing += n;
    }
    if (missing > history->drops) {
        found(&verdict, HISTORY_LOST, first,
              "%" PRIu64 " (%" PRIu64 " in all are missing, %" PRIu64 " drops were counted)",
              number, missing, history->drops);
        verdict.wrong[HISTORY_LOST] = missing - history->drops;
    } else if (missing < history->drops) {
        found(&verdict, HISTORY_UNBALANCED, NULL,
              "%" PRIu64 " drops were counted, %" PRIu64 " numbers are missing", history->drops,
              missing);
        verdict.wrong[HISTORY_UNBALANCED] = history->drops - missing;
    }
    verdict.dropped += missing < history->drops ? missing : history->drops;
    turns_judge(history->turns, &verdict);
    *ret_verdict = verdict;
    return verdict.first[0] == '\0';
}

bool history_is_right(const struct history *history)
{
    return history->so_far.first[0] == '\0';
}

struct history *history_new(void)
{
    struct history *history = history_memory(NULL, 1, sizeof(*history));
    *history = (struct history){ .turns = turns_new() };
    return history;
}

struct history *history_free(struct history *history)
{
    for (uint64_t i = 0; history && i < history->capacity; i++)
        free(history->pairs[i].fates);
    if (history) {
        free(history->pairs);
        turns_free(history->turns);
    }
    free(history);
    return NULL;
}
