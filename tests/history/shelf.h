/* SPDX-License-Identifier: Apache-2.0 */
/* What one actor has put off, in the order in which it has (history.H11), and in which phase it is
 * (history.H12).
 *
 * A message has a number that is its sender's own: it is run once, and once more for each time that
 * it was put off. Those that were taken back are the first of the shelf, and the next to be run.
 */
#pragma once

#include "tests/history/history.h"

struct shelf {
    uint64_t actor, phase;
    uint64_t *off; /* that were put off; the first `coming` have been taken back */
    uint64_t n, room, coming;
    uint64_t *run, n_run, run_max; /* all that were ever run: open addressing, a power of two */
    bool adrift; /* one was lost, and nobody knows which one: nothing more is judged */
};

/* A record of this actor, of any kind from HISTORY_PHASE on. */
void shelf_add(struct shelf *shelf, const struct history_record *record,
               struct history_verdict *verdict);
/* The actor has ended: nothing comes back. */
void shelf_drop(struct shelf *shelf);
/* What was taken back, and has not come, is lost. */
void shelf_judge(const struct shelf *shelf, struct history_verdict *verdict);
void shelf_free(struct shelf *shelf);
