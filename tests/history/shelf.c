/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/history/shelf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/history/verdict.h"

static void __attribute__((format(printf, 4, 5)))
found(struct history_verdict *verdict, enum history_wrong wrong, const struct shelf *shelf,
      const char *format, ...)
{
    char who[32];
    va_list args;
    snprintf(who, sizeof(who), "actor %" PRIx64 ": ", shelf->actor);
    va_start(args, format);
    verdict_found_va(verdict, wrong, who, format, args);
    va_end(args);
}

/* Of all senders' messages. */
static uint64_t name_of(const struct history_record *record)
{
    return (uint64_t)record->from << 32 | (uint32_t)record->sequence;
}

/* ---- what was run ---- */

static uint64_t *run_slot(uint64_t *run, uint64_t max, uint64_t name)
{
    uint64_t hash = name * UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t at = hash ^ hash >> 32;; at++) {
        uint64_t *slot = &run[at & (max - 1)];
        if (*slot == 0 || *slot == name)
            return slot;
    }
}

static bool was_run(const struct shelf *shelf, uint64_t name)
{
    return shelf->run_max > 0 && *run_slot(shelf->run, shelf->run_max, name) == name;
}

static void remember_run(struct shelf *shelf, uint64_t name)
{
    if (shelf->n_run * 2 >= shelf->run_max) {
        uint64_t max = shelf->run_max ? shelf->run_max * 2 : 64;
        uint64_t *run = history_memory(NULL, max, sizeof(*run));
        memset(run, 0, max * sizeof(*run));
        for (uint64_t i = 0; i < shelf->run_max; i++)
            if (shelf->run[i] != 0)
                *run_slot(run, max, shelf->run[i]) = shelf->run[i];
        free(shelf->run);
        shelf->run = run;
        shelf->run_max = max;
    }
    uint64_t *slot = run_slot(shelf->run, shelf->run_max, name);
    shelf->n_run += *slot == 0;
    *slot = name;
}

/* ---- the shelf ---- */

/* `n`: it is not there. */
static uint64_t place_of(const struct shelf *shelf, uint64_t name)
{
    uint64_t at = 0;
    while (at < shelf->n && shelf->off[at] != name)
        at++;
    return at;
}

static void remove_at(struct shelf *shelf, uint64_t at)
{
    shelf->n--;
    memmove(shelf->off + at, shelf->off + at + 1, (shelf->n - at) * sizeof(*shelf->off));
    shelf->coming -= at < shelf->coming;
}

static void come_back(struct shelf *shelf, uint64_t at, const struct history_record *record,
                      struct history_verdict *verdict)
{
    if (at >= shelf->coming)
        found(verdict, HISTORY_PHANTOM, shelf,
              "%" PRIu64 " of actor %x is run, was put off, and not taken back", record->sequence,
              record->from);
    else if (at > 0)
        found(verdict, HISTORY_REORDERED, shelf,
              "%" PRIu64 " of actor %x has come back before one that was put off earlier",
              record->sequence, record->from);
    verdict->came_back++;
    remove_at(shelf, at);
}

static void take(struct shelf *shelf, const struct history_record *record,
                 struct history_verdict *verdict)
{
    uint64_t name = name_of(record), at = place_of(shelf, name);
    if (at < shelf->n)
        come_back(shelf, at, record, verdict);
    else if (was_run(shelf, name))
        found(verdict, HISTORY_DOUBLED, shelf, "%" PRIu64 " of actor %x has come once more",
              record->sequence, record->from);
    else if (shelf->coming > 0)
        found(verdict, HISTORY_REORDERED, shelf,
              "%" PRIu64 " of actor %x is run before what was taken back", record->sequence,
              record->from);
    remember_run(shelf, name);
}

static void put_off(struct shelf *shelf, const struct history_record *record,
                    struct history_verdict *verdict)
{
    uint64_t name = name_of(record);
    if (!was_run(shelf, name) || place_of(shelf, name) < shelf->n) {
        found(verdict, HISTORY_PHANTOM, shelf, "%" PRIu64 " of actor %x was put off, and not run",
              record->sequence, record->from);
        return;
    }
    if (shelf->n == shelf->room) {
        shelf->room = (shelf->room + 8) * 3 / 2;
        shelf->off = history_memory(shelf->off, shelf->room, sizeof(*shelf->off));
    }
    shelf->off[shelf->n++] = name;
    verdict->put_off++;
}

static void take_back(struct shelf *shelf, const struct history_record *record,
                      struct history_verdict *verdict)
{
    uint64_t there = shelf->n - shelf->coming,
             due = record->most > 0 && record->most < there ? record->most : there;
    if (record->sequence == due) {
        shelf->coming += due;
        return;
    }
    found(verdict, record->sequence < due ? HISTORY_LOST : HISTORY_DOUBLED, shelf,
          "%" PRIu64 " were taken back, of %" PRIu64 " that had been put off", record->sequence,
          due);
    shelf->adrift = true;
}

void shelf_add(struct shelf *shelf, const struct history_record *record,
               struct history_verdict *verdict)
{
    if (record->kind == HISTORY_PHASE) {
        if (record->sequence != shelf->phase)
            found(verdict, HISTORY_MISPHASED, shelf,
                  "a behaviour of phase %" PRIu64 " is run in phase %" PRIu64, record->sequence,
                  shelf->phase);
    } else if (record->kind == HISTORY_BECOMES) {
        shelf->phase = record->sequence;
        verdict->becomes++;
    } else if (shelf->adrift) {
        return;
    } else if (record->kind == HISTORY_TAKEN) {
        take(shelf, record, verdict);
    } else if (record->kind == HISTORY_PUT_OFF) {
        put_off(shelf, record, verdict);
    } else if (record->kind == HISTORY_TAKEN_BACK) {
        take_back(shelf, record, verdict);
    } else {
        found(verdict, HISTORY_DAMAGED, shelf, "a record of kind %u, number %" PRIu64, record->kind,
              record->sequence);
    }
}

/* ---- the end ---- */

void shelf_drop(struct shelf *shelf)
{
    shelf->n = shelf->coming = 0;
}

void shelf_judge(const struct shelf *shelf, struct history_verdict *verdict)
{
    for (uint64_t i = 0; i < shelf->coming && !shelf->adrift; i++)
        found(verdict, HISTORY_LOST, shelf, "%u of actor %x was taken back, and has not come",
              (uint32_t)shelf->off[i], (uint32_t)(shelf->off[i] >> 32));
}

void shelf_free(struct shelf *shelf)
{
    free(shelf->off);
    free(shelf->run);
}
