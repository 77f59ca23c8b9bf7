/* SPDX-License-Identifier: Apache-2.0 */
/* What scribes, mayflies, ears and lamps note in their logs. The log is found by its path, since a
 * pointer in a kept state would lead nowhere in the next process. */
#pragma once

#include <odeon/plugin.h>
#include <stdbool.h>

#include "tests/history/history.h"

/* In a kept state: who it is, and how far its numbers are. */
struct scribe_log {
    uint64_t actor, turn, timers, questions, ends;
    char path[96];
};

void scribe_log_init(struct scribe_log *log, uint64_t actor, const char *path);
/* Of another actor's log, in the same folder. */
void scribe_log_beside(const struct scribe_log *log, char path[96], const char *who,
                       uint64_t number);
/* First in each turn. */
void scribe_note_turn(struct scribe_log *log, const struct odeon_context *ctx);
void scribe_note(const struct scribe_log *log, const struct odeon_context *ctx,
                 enum history_kind kind, uint64_t number, uint32_t span_us);
/* Before it is armed, asked, or monitored: its number. */
uint64_t scribe_note_armed(struct scribe_log *log, const struct odeon_context *ctx,
                           enum history_kind kind, uint32_t span_us);
uint64_t scribe_note_asked(struct scribe_log *log, const struct odeon_context *ctx,
                           uint32_t span_us);
/* `parent`: the end is to come with this actor's; 0: with nobody's. */
uint64_t scribe_note_watched(struct scribe_log *log, const struct odeon_context *ctx,
                             uint64_t parent);
void scribe_note_run(const struct scribe_log *log, const struct odeon_context *ctx, uint64_t client,
                     uint64_t number);
/* Damage, which the checker finds: the line is its number. */
void scribe_note_wrong(const struct scribe_log *log, const struct odeon_context *ctx, int line);

/* `reason` 0: an answer. */
static inline enum history_kind scribe_outcome_of(uint32_t reason)
{
    return reason == 0                       ? HISTORY_ANSWERED
           : reason == ODEON_REASON_DEADLINE ? HISTORY_EXPIRED
                                             : HISTORY_UNANSWERED;
}
