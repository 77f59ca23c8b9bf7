/* SPDX-License-Identifier: Apache-2.0
 *
 * lock.pml - a lock in one word, on which who waits sleeps (daemon/engine/base/lock.h).
 *
 * N threads take the lock and give it back, ROUNDS times each. What reads, changes and writes the
 * word is one step, and so is the kernel's comparison with what it does. A thread may give up
 * looking whenever it likes.
 *
 * Shown: one thread at most has it, and nobody sleeps for ever.
 *
 * Mutants that must fail: LOCK_TRY (taking it is a load and a store), LOCK_ALONE (who has slept
 * takes it as if nobody else could sleep), LOCK_DEAF (who sleeps does so whatever the word says by
 * then).
 */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define FREE 0
#define HELD 1
#define WAITED 2

byte word, inside;
bool asleep[N];

inline try() {
#ifdef LOCK_TRY
  was = word;
  if :: was == FREE -> word = HELD :: else fi
#else
  atomic { was = word; if :: was == FREE -> word = HELD :: else fi }
#endif
}

/* one of those who sleep, if any does */
inline wake() {
  atomic {
    if
    :: asleep[0] -> asleep[0] = false
    :: asleep[1] -> asleep[1] = false
#if N > 2
    :: asleep[2] -> asleep[2] = false
#endif
    :: else
    fi
  }
}

proctype thread(byte me) {
  byte round = 0, was;
  do
  :: round == ROUNDS -> break
  :: else ->
     round++;
     try();
     if
     :: was == FREE
     :: else ->
        do
        :: atomic {
#ifdef LOCK_ALONE
             was = word;
             word = (was == FREE -> HELD : WAITED)
#else
             was = word;
             word = WAITED
#endif
           };
           if :: was == FREE -> break :: else fi;
#ifdef LOCK_DEAF
           asleep[me] = true;
#else
           atomic { asleep[me] = (word == WAITED) };
#endif
           !asleep[me]
        od
     fi;
     atomic { inside++; assert(inside == 1) };
     inside--;
     atomic { was = word; word = FREE };
     if :: was == WAITED -> wake() :: else fi
  od
}

init {
  byte j = 0;
  atomic { do :: j < N -> run thread(j); j++ :: else -> break od }
}
