/* SPDX-License-Identifier: Apache-2.0
 *
 * stash.pml - a message that an actor puts off is in one place: its queue, the stash, the lane in
 * which it comes again, or the dead letters (daemon/engine/asks/stash.h).
 *
 * A worker runs the actor in turns that put the message off, take it back, handle it, or end the
 * actor; the control thread gives back what has been taken, and ends the stash of an actor that has
 * ended. The executor is killed up to K times, at any store, and recovery at any of its own. A flip
 * is one step, and so is a flush, whose own stores are commit.pml's. How a timer is armed, and what
 * a claim is, is timer.pml's.
 *
 * Shown: the message is handled once, or is a dead letter once, and in the end one of the two.
 *
 * Mutants (each must fail): STASH_OPEN (recovery keeps what no commit stands behind), STASH_BOTH
 * (what is taken back is not claimed), STASH_END (the stash's word is ended before the flip that
 * makes the dead letter), STASH_VOID (recovery takes a claim for committed), STASH_LATE (recovery
 * looks at both behind a flip).
 */
#ifndef K
#define K 2
#endif
#define PUTS 2

/* durable */
bool queue = true, lane, word, ended; /* where it is; the actor */
byte armed_at, claimed_at;            /* claimed_at 0: nobody has */
byte count = 1;                       /* the worker's flips */
bool out;                             /* its outbox as committed */
bool cout, redo;                      /* the control thread's record */
byte handled, letters;
/* world */
bool up = true, mutex;
byte kills, stopped, puts;

#define KILLABLE unless { !up }
#define LOCK     atomic { !mutex -> mutex = true }
#define OPEN     (armed_at == count)
#define CLAIMED  (claimed_at != 0)

proctype worker() {
W0:
  {
  up;
end_idle:
  if
  :: queue && !ended && puts < PUTS -> /* it is put off */
     puts++;
     LOCK;
     d_step { armed_at = count; claimed_at = 0 };
     word = true;
     mutex = false;
     d_step { count++; queue = false }
  :: queue && (ended || puts == PUTS) ->
     d_step { count++; queue = false; handled = handled + (ended -> 0 : 1);
              letters = letters + (ended -> 1 : 0) }
  :: atomic { word && !CLAIMED && !ended && !OPEN && !mutex -> mutex = true };
     /* it is taken back */
#ifndef STASH_BOTH
     claimed_at = count;
#endif
     mutex = false;
     d_step { count++; out = true };
     d_step { out = false; lane = true; count++ }
  :: d_step { lane && ended -> lane = false; count++; letters++ }
  :: d_step { lane && !ended -> lane = false; count++; handled++ }
  :: d_step { lane && !ended && puts < PUTS -> lane = false; queue = true }
  :: d_step { !ended -> ended = true; count++ }
  fi;
  goto end_idle
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}

proctype control() {
C0:
  {
  up;
end_idle:
  atomic { word && !mutex && !OPEN && (CLAIMED || ended) -> mutex = true };
  if
  :: CLAIMED && claimed_at == count -> skip
  :: CLAIMED && claimed_at != count -> word = false
  :: !CLAIMED && !ended -> skip
  :: !CLAIMED && ended ->
#ifdef STASH_END
     word = false;
#endif
     d_step { cout = true; redo = true };
     word = false;
     d_step { letters++; cout = false; redo = false }
  fi;
  mutex = false;
  goto end_idle
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto C0
}

proctype chaos() {
end:
  do
  :: atomic { up && kills < K -> kills++; up = false }
  od
}

#define KILL if :: kills < K -> kills++; goto again :: true fi
inline undo() {
  if
  :: !word -> skip
  :: word && OPEN ->
#ifndef STASH_OPEN
     word = false; KILL
#else
     skip
#endif
  :: word && !OPEN && CLAIMED && claimed_at == count ->
#ifndef STASH_VOID
     claimed_at = 0; KILL
#else
     word = false; KILL
#endif
  :: word && !OPEN && CLAIMED && claimed_at != count -> word = false; KILL
  :: word && !OPEN && !CLAIMED -> skip
  fi
}

proctype recovery() {
end:
  !up && stopped == 2;
again:
  mutex = false;
  if :: redo -> word = false; KILL :: else -> skip fi;
#ifndef STASH_LATE
  undo();
#endif
  d_step { lane = lane || out; out = false; count++ }; KILL;
#ifdef STASH_LATE
  undo();
  skip;
#endif
  d_step { letters = letters + (cout -> 1 : 0); cout = false; redo = false }; KILL;
  up = true;
  goto end
}

proctype judge() {
  timeout -> assert(handled + letters == 1)
}
proctype twice() {
end:
  handled + letters > 1 -> assert(false)
}
init {
  atomic {
    run worker(); run control(); run chaos(); run recovery(); run judge(); run twice()
  }
}
