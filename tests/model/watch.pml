/* SPDX-License-Identifier: Apache-2.0
 *
 * watch.pml - who watches an actor is told once of its end, behind what that has sent last, and why
 * (daemon/engine/timers/watches.h).
 *
 * One worker ends the actor in a turn that sends; another one begins to watch it in a turn of its
 * own, earlier, later or meanwhile. The control thread looks at what is new, stamps what waits for
 * an end with the reason that stands in the actor's slot, and sends. A slot that has been given
 * back may be another actor's at once. The store that ends the slot stays in its processor's buffer
 * until that takes a lock, or is made to pass a barrier. The executor is killed up to K times, at
 * any store, and recovery at any of its own. How a watch is sent once, and cancelled, is
 * timer.pml's: here a flip and what follows it are two steps as there.
 *
 * Shown: the watcher is told once, not before what was sent last has come, and with the reason, if
 * the one that ended the actor, or recovery, knew of it.
 *
 * Mutants (each must fail): WATCH_FENCE (the control thread looks at a new watch without having
 * made all pass a barrier), WATCH_NEW (nobody looks at a new one), WATCH_EARLY (the end is handed
 * over before the flush), WATCH_SLOT (the slot is given back at once), WATCH_STAMP (it is given
 * back before its watches have the reason), WATCH_FLUSH (who is found to have ended before anybody
 * watched it is told of before what it sent can have left), WATCH_NOLOOK (recovery does not look
 * who has ended).
 */
#ifndef K
#define K 2
#endif
#define LIVE   0
#define REASON 1 /* ended, and why */
#define OTHER  2 /* another actor's */
#define GONE   2

/* durable */
byte slot = LIVE;
byte count = 1, turn; /* of who ends: its flips; messages that it has consumed */
bool out, ends;       /* its outbox as committed; its record ends the actor */
byte count2 = 1, turn2; /* the same of who watches */
bool word; byte armed_at, end_;
bool cout, redo; byte creason; /* the control thread's */
byte last, down, why;          /* what has come to the watcher */
/* the executor's own */
bool buffered; /* slot's word is not to be seen by others yet */
bool chain; /* the watch hangs at the slot */
bool new_, ending, free_;
/* world */
bool up = true, mutex; byte kills, stopped;
bool knew; /* ghost: who ended the actor has seen the watch */

#define KILLABLE unless { !up }
#define LOCK     atomic { !mutex -> mutex = true }
#define SEEN     (buffered -> LIVE : slot)

inline give_back() { free_ = true }

proctype ender() {
E0:
  {
  up;
  if
  :: turn == 0 ->
     d_step { count++; turn = 1; out = 1; ends = true };
     atomic { slot == LIVE -> slot = REASON; buffered = true };
     if
     :: chain ->
        knew = true;
#ifdef WATCH_SLOT
        give_back();
#endif
#ifdef WATCH_EARLY
        atomic { !mutex -> mutex = true; buffered = false }; ending = true; mutex = false;
#endif
        d_step { last = last + out; out = 0; ends = false; count++; buffered = false };
#ifndef WATCH_EARLY
        LOCK;
        ending = true;
        mutex = false
#else
        skip
#endif
     :: !chain ->
        give_back();
        d_step { last = last + out; out = 0; ends = false; count++; buffered = false }
     fi
  :: turn == 1 -> skip
  fi;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto E0
}

proctype watcher() {
W0:
  {
  up;
  if
  :: turn2 == 0 ->
     LOCK;
     d_step { end_ = 0; knew = false };
     armed_at = count2;
     word = true;
     chain = true;
     new_ = true;
     mutex = false;
     d_step { count2++; turn2 = 1 }
  :: turn2 == 1 -> skip
  fi;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}

/* Another actor gets the slot. */
proctype spawner() {
end:
  do
  :: atomic { up && free_ && slot == REASON -> slot = OTHER; free_ = false; buffered = false }
  od
}

#define OPEN (armed_at == count2)
#define STAMP end_ = (slot == REASON -> REASON : GONE)

proctype control() {
  bool there;
C0:
  {
  up;
end_idle:
  atomic { !mutex && (new_ || ending || (word && end_ != 0 && !OPEN)) -> mutex = true };
  if
  :: new_ && !OPEN ->
#ifndef WATCH_FENCE
     buffered = false;
#endif
#ifndef WATCH_NEW
     if
     :: word && end_ == 0 && SEEN != LIVE && !ending ->
#ifndef WATCH_FLUSH
        !out;
#endif
        STAMP; chain = false
     :: else
     fi;
#endif
     new_ = false
  :: new_ && OPEN && !ending && !(word && end_ != 0) -> skip
  :: ending ->
#ifdef WATCH_STAMP
     give_back();
#endif
     if
     :: word && end_ == 0 -> STAMP
     :: else
     fi;
     chain = false;
     ending = false;
#ifndef WATCH_STAMP
     give_back()
#endif
  :: word && end_ != 0 && !OPEN ->
     d_step { cout = true; redo = true; creason = end_ };
     word = false;
     d_step { if :: cout -> assert(last == 1); down++; why = creason :: else fi; cout = false;
              redo = false }
  :: else -> skip
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
  :: atomic { up && kills < K -> kills++; up = false; buffered = false }
  od
}

#define KILL if :: kills < K -> kills++; goto again :: true fi
proctype recovery() {
end:
  !up && stopped == 3;
again:
  skip;
  d_step { mutex = false; chain = false; new_ = false; ending = false; free_ = false };
  if :: redo -> word = false; KILL :: else fi;
  if :: word && OPEN -> word = false; KILL :: else fi;
  if :: ends && slot == LIVE -> slot = REASON; KILL :: else fi;
  d_step { last = last + out; out = 0; ends = false; count++ }; KILL;
  count2++; KILL;
  d_step { if :: cout -> assert(last == 1); down++; why = creason :: else fi; cout = false;
           redo = false }; KILL;
#ifndef WATCH_NOLOOK
  if :: word && end_ == 0 && slot != LIVE -> STAMP; KILL :: else fi;
#endif
  d_step { chain = (word && end_ == 0); free_ = (slot == REASON); up = true };
  goto end
}

proctype judge() {
  timeout -> assert(turn == 1 && turn2 == 1 && last == 1 && down == 1 &&
                    (!knew || why == REASON))
}
init {
  atomic {
    run ender(); run watcher(); run spawner(); run control(); run chaos(); run recovery();
    run judge()
  }
}
