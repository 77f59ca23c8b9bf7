/* SPDX-License-Identifier: Apache-2.0 */
/* Whose word counts: actors that note what happens to them number their turns in a state that is
 * kept (history.H6). What a turn has noted waits until the next one begins: when the same one
 * begins again it was not committed, and nothing of it has happened.
 *
 * Who notes no turns (a client) is not undone: each of its records counts at once.
 */
#pragma once

#include "tests/history/history.h"

struct turns;

struct turns *turns_new(void);
void turns_free(struct turns *turns);
/* A record of any kind from HISTORY_TURN on. */
void turns_add(struct turns *turns, const struct history_record *record,
               struct history_verdict *verdict);
/* What was noted last counts as committed: whoever judges has seen to that. */
void turns_settle(struct turns *turns, struct history_verdict *verdict);
/* What is missing. */
void turns_judge(const struct turns *turns, struct history_verdict *verdict);
