/* SPDX-License-Identifier: Apache-2.0
 *
 * owed.pml - an actor that was to begin while its type was not run (daemon/engine/timers/owed.h).
 *
 * One actor, whose init record waits in its queue, a worker that runs the queue, and the control
 * thread, which has the type run again at any moment and sends an init record to who has not begun.
 * Queue, word and the actor's kept beginning are the segment's; that the type is run is the
 * process's, and goes with it. The process is killed K times, at any step; a turn takes effect with
 * its commit, a flush with its flip. FENCE: what is stored before it is seen before what is loaded
 * behind it; the model's memory is in program order, so that a missing one is a load that is moved.
 *
 * Shown: when all is still in the last life, the actor has begun.
 *
 * Mutants that must fail: OWED_LOOK (the worker does not look again behind its store), OWED_FENCE
 * (... or before it can be seen), OWED_NOTE (the word is stored behind the commit), OWED_EARLY (the
 * word is 0 before the init record is committed), OWED_ORDER (the control thread looks at the word
 * before the type is run).
 */
#ifndef K
#define K 2
#endif
byte life = 0;
byte records = 1;
bool owed, begun, runs;

#define MINE (life == me)

proctype worker(byte me) {
  bool seen;
end_idle:
  do
  :: !MINE -> break
  :: MINE && records > 0 ->
     seen = runs;
     if
     :: seen -> atomic { if :: MINE -> begun = true; records-- :: else fi }
     :: else ->
#ifdef OWED_FENCE
        seen = runs;
        atomic { if :: MINE -> owed = true :: else fi };
#else
#ifndef OWED_NOTE
        atomic { if :: MINE -> owed = true :: else fi };
#endif
        /* FENCE */
#ifndef OWED_LOOK
        seen = runs;
#endif
#endif
        if
        :: !MINE -> break
        :: atomic { MINE && seen -> begun = true; records-- }
        :: atomic { MINE && !seen -> records-- } /* refused */
        fi;
#ifdef OWED_NOTE
        atomic { if :: MINE && !seen -> owed = true :: else fi };
#endif
     fi
  od
}
proctype control(byte me) {
  bool seen;
#ifdef OWED_ORDER
  seen = owed;
#endif
  atomic { if :: MINE -> runs = true :: else fi };
  /* FENCE */
#ifndef OWED_ORDER
  seen = owed;
#endif
  if
  :: seen && MINE ->
#ifdef OWED_EARLY
     atomic { if :: MINE -> owed = false :: else fi };
#endif
     atomic { if :: MINE && !begun -> records++ :: else fi }; /* the flip, and its flush */
     atomic { if :: MINE -> owed = false :: else fi }
  :: else
  fi
}
proctype watch() { timeout -> assert(begun) }
init {
  byte n = 0;
  atomic { run worker(0); run control(0); run watch() };
  do
  :: n < K -> atomic { n++; life = n; runs = false; run worker(n); run control(n) }
  :: break
  od
}
