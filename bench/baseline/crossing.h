/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crossing.h - what a run has done, counted: messages that go to a queue that another worker ran
 * last, thieves' looks, queues that change hands.
 *
 * Only odeon-baseline-crossing counts (BASELINE_CROSSING); in odeon-baseline all of this is
 * nothing, so that its times are those of the executor alone.
 *
 * Invariants:
 *  1. The numbers of a thread are its own until it adds them to the totals, at its end.
 */
#ifndef BASELINE_CROSSING_H
#define BASELINE_CROSSING_H

#ifdef BASELINE_CROSSING

#include <stdatomic.h>
#include <stdint.h>

struct crossing {
    unsigned worker; /* this thread's; worker 0's is the driver's, too */
    uint64_t sends, across;
    uint64_t runs, moved;  /* of queues; by another worker than the last one */
    uint64_t looks, swaps; /* of thieves: at a queue of their victim; that came about */
};

extern _Thread_local struct crossing crossing;

/* Adds this thread's to the totals, which crossing_print() prints and clears. */
void crossing_add(void);
void crossing_print(void);

#define CROSSING(...) __VA_ARGS__
#else
#define CROSSING(...)
#endif

#endif
