/* SPDX-License-Identifier: Apache-2.0
 *
 * suspect.pml - a message that ends the executor without a trace is given up, and no other one
 * (daemon/engine/run/suspect.h, recovery/accuse.c).
 *
 * Two workers, a message each. That of worker 0 kills the executor whenever it is run, at once.
 * That of worker 1 is innocent and takes as long as it likes. Beside it the executor is killed from
 * outside, up to K times, and for a reason that is known, up to E times; recovery is killed at any
 * of its stores, any number of times, for either reason. A worker's count is a tag that its flip
 * makes void.
 *
 * Shown, for K + 2 < N: the innocent message is run to its end. (2: the killer may strike twice
 * before it is on trial itself.) The killer is given up, and has killed N times at most.
 *
 * Mutants (each must fail): SUS_TWICE (counted up in the record), SUS_TAGFIRST (the tag before the
 * number), SUS_VERDICT (a recovery that begins anew goes by its own death), SUS_EXPLAINED (known
 * reasons count, too), SUS_WAITS (who is not on trial counts), SUS_BOTH (who takes the trial does
 * not end the other one's).
 */
#ifndef N
#define N 4
#endif
#ifndef K
#define K 1
#endif
#ifndef E
#define E 1
#endif
#define ALONE 2

/* durable */
byte mark[2]; byte deaths[2]; bit tag[2]; bit trial[2]; bit running[2]; bit over[2]; byte verdict;
/* world */
bool up = true; bool known; byte outside; byte explained; byte killed; byte stopped;

#define DIES(known_) up = false; known = known_

proctype worker(byte me) {
W0:
  {
  up;
  do
  :: over[me] -> break
  :: !over[me] && mark[me] >= N ->
     assert(me == 0);                         /* the innocent one is never given up */
     over[me] = 1
  :: !over[me] && mark[me] < N ->
     running[me] = 1;
     if
     :: mark[me] >= ALONE ->
        /* free, or what has it takes its time, which a killer does not */
        atomic { (!trial[1-me] || me == 0);
#ifndef SUS_BOTH
          trial[1-me] = 0;
#endif
          trial[me] = 1 }
     :: else
     fi;
     if
     :: me == 0 -> d_step { killed++; assert(killed <= N); DIES(false) }
     :: me == 1 -> trial[me] = 0; d_step { running[me] = 0; over[me] = 1 }
     fi
  od;
end_over:
  false
  } unless { !up };
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}
proctype chaos() {
end:
  do
  :: d_step { up && outside < K -> outside++; DIES(false) }
  :: d_step { up && explained < E -> explained++; DIES(true) }
  od
}
#define KILL if :: known = true; goto again :: known = false; goto again :: true fi
#ifdef SUS_WAITS
#define COUNTS(w_) true
#else
#define COUNTS(w_) (mark[w_] < ALONE || trial[w_])
#endif
proctype recovery() {
  byte w;
end:
  !up && stopped == 2;
again:
  w = 0;
#ifndef SUS_VERDICT
  if
  :: verdict == 0 ->
#endif
#ifdef SUS_EXPLAINED
     verdict = 2;
#else
     verdict = (known -> 1 : 2);
#endif
     KILL
#ifndef SUS_VERDICT
  :: else
  fi
#endif
  ;
  do
  :: w < 2 ->
     if
     :: running[w] && verdict == 2 && (tag[w] || COUNTS(w)) ->
#ifdef SUS_TWICE
        mark[w] = (mark[w] < N -> mark[w] + 1 : N); KILL;
#else
        if
        :: !tag[w] ->
#ifdef SUS_TAGFIRST
           tag[w] = 1; KILL;
           deaths[w] = mark[w] + 1; KILL
#else
           deaths[w] = mark[w] + 1; KILL;
           tag[w] = 1; KILL
#endif
        :: else
        fi;
        mark[w] = deaths[w]; KILL;
#endif
     :: else
     fi;
     d_step { tag[w] = 0; running[w] = 0 }; KILL;          /* the flip */
     trial[w] = 0; KILL;
     w++
  :: else -> break
  od;
  verdict = 0;
  KILL;
  d_step { w = 0; up = true };
  goto end
}
proctype watch() { timeout -> assert(over[0] && over[1] && up) }
init { atomic { run worker(0); run worker(1); run chaos(); run recovery(); run watch() } }
