/* SPDX-License-Identifier: Apache-2.0
 *
 * rate.pml - a port that waits for a grant (docs/engine.md, Rates;
 * daemon/engine/ports/port_rate.h), with nobody who polls.
 *
 * One port with N records that may be taken one for each grant; a control thread that grants N in
 * all, U of them whenever it likes and the others when it has been told that the port is spent. A
 * runner that finds no grant says that the port is spent, and looks again; the control thread
 * grants, then takes `spent` away, and sets the ready bit when it was set. The port may also be run
 * for other reasons (D times). That a ready bit is not overlooked is shown elsewhere
 * (port_source.pml): here the runner is a process that waits for it.
 *
 * Shown: at the end everything has been taken, and never more than was granted.
 *
 * Mutants that must fail: SPENT_RECHECK (the runner does not look again), SPENT_FENCE (... or
 * before `spent` can be seen: FENCE), SPENT_ORDER (`spent` is taken away before the grant can be
 * seen), SPENT_SILENT (it is taken away without a ready bit).
 */
#ifndef N
#define N 3
#endif
#ifndef U
#define U 2
#endif
#ifndef D
#define D 1
#endif
byte granted, taken;
bool spent, ready, told;

inline take() { assert(taken < granted); taken++ }

proctype port() {
  bool some;
  do
  :: atomic { ready -> ready = false }
     some = granted > taken;
     if
     :: some ->
        if :: spent -> spent = false :: else fi;
        if :: taken < N -> take() :: else fi
     :: else ->
        if
        :: spent /* the control thread knows */
        :: !spent ->
#ifdef SPENT_FENCE
           some = granted > taken;
#endif
           spent = true;
           /* FENCE */
#ifndef SPENT_RECHECK
#ifndef SPENT_FENCE
           some = granted > taken;
#endif
#endif
           if
           :: some -> spent = false; take()
           :: else -> told = true
           fi
        fi
     fi;
     /* the release: more to do, unless it waits */
     if :: !spent && taken < N -> ready = true :: else fi
  :: taken == N && !ready -> break
  od
}
proctype control() {
  byte given = 0, free_ = 0;
  bool was;
end_idle:
  do
  :: given < N && (told || free_ < U) ->
     if :: told -> told = false :: free_ < U -> free_++ fi;
#ifdef SPENT_ORDER
     atomic { was = spent; spent = false };
     granted++;
#else
     granted++;
     /* FENCE */
     atomic { was = spent; spent = false };
#endif
     given++;
#ifndef SPENT_SILENT
     if :: was -> ready = true :: else fi
#endif
  od
}
/* Doorbells, thieves: the port is run although nobody told it to go on. */
proctype others() {
  byte n = 0;
  do
  :: n < D -> if :: taken < N -> ready = true :: else fi; n++
  :: break
  od
}
proctype watch() { timeout -> assert(taken == N) }
init { atomic { ready = true; run port(); run control(); run others(); run watch() } }
