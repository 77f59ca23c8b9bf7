/* SPDX-License-Identifier: Apache-2.0
 *
 * timer.pml - a timer that has been armed fires once, unless it has been cancelled
 * (daemon/engine/timers).
 *
 * A worker runs two turns: the first arms a timer, the second cancels it, or not. The control
 * thread sends what is due, whenever it likes, under the mutex under which the worker arms and
 * cancels. The executor is killed up to K times, at any store, and recovery at any of its own; a
 * turn that was not committed is run again. The flush of what was sent is in commit.pml, and one
 * step here.
 *
 * Shown: the timer fires once, if its cancel has not been committed, and then never; a cancel that
 * was told to succeed is kept.
 *
 * Mutants (each must fail): TIMER_NOTAG (recovery keeps what no commit stands behind), TIMER_LATE
 * (... looks behind the flip that ends the tags), TIMER_CLAIM (a cancelled timer fires), TIMER_VOID
 * (recovery keeps a cancel that no commit stands behind), TIMER_EARLY (the timer ends before the
 * flip that sends), TIMER_NOREDO (recovery does not end what has been sent), TIMER_OPEN (one fires
 * before its turn has been committed), POST_EARLY (the flip that ends the tag does not consume the
 * message: of a client's record, which a worker takes from its port as a turn takes a message, the
 * cursor and the count are one flip).
 */
#ifndef K
#define K 2
#endif
#define CELLS 3

/* durable */
byte word[CELLS], armed_at[CELLS], claimed_at[CELLS];
byte count = 1; /* the worker's: of flips */
byte turn;      /* messages that it has consumed */
bit out;        /* the control thread's outbox, as committed */
byte redo;      /* its record: the timer that has fired + 1 */
byte got;       /* what has reached the receiver */
/* world */
bool up = true, mutex; byte kills, stopped; bool cancelled, will_cancel;

#define KILLABLE unless { !up }
#define OPEN(c_) (armed_at[c_] == count)
#ifdef TIMER_OPEN
#define WAITS(c_) false
#else
#define WAITS(c_) OPEN(c_)
#endif
#ifdef TIMER_CLAIM
#define CLAIMED(c_) false
#else
#define CLAIMED(c_) (claimed_at[c_] != 0)
#endif

inline arm() {
  byte c = 0;
  atomic { !mutex -> mutex = true };
  do :: word[c] == 0 -> break :: else -> c++; assert(c < CELLS) od;
  claimed_at[c] = 0;
  armed_at[c] = count;
  word[c] = 1;
  mutex = false
}

proctype worker() {
  byte at; bool claimed;
W0:
  {
  up;
  do
  :: turn == 0 ->
     arm();
#ifdef POST_EARLY
     count++;
#endif
     d_step { count++; turn = 1 }
  :: turn == 1 ->
     claimed = false;
     if
     :: will_cancel ->
        atomic { !mutex -> mutex = true };
        at = 0;
        do
        :: at < CELLS && word[at] == 1 && claimed_at[at] == 0 ->
           claimed_at[at] = count; claimed = true; break
        :: at < CELLS && !(word[at] == 1 && claimed_at[at] == 0) -> at++
        :: at == CELLS -> break
        od;
        mutex = false
     :: else
     fi;
     d_step { count++; turn = 2; cancelled = claimed }
  :: turn == 2 -> break
  od;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}

proctype control() {
  byte c;
C0:
  {
  up;
end_idle:
  atomic { !mutex && (word[0] == 1 || word[1] == 1 || word[2] == 1) -> mutex = true };
  c = 0;
  do :: word[c] == 1 -> break :: c < CELLS - 1 -> c++ :: c == CELLS - 1 -> break od;
  if
  :: word[c] != 1 || WAITS(c) -> skip
  :: word[c] == 1 && !WAITS(c) && CLAIMED(c) && claimed_at[c] == count -> skip
  :: word[c] == 1 && !WAITS(c) && CLAIMED(c) && claimed_at[c] != count -> word[c] = 0
  :: word[c] == 1 && !WAITS(c) && !CLAIMED(c) ->
#ifdef TIMER_EARLY
     word[c] = 0;
#endif
     d_step { out = 1; redo = c + 1 };
     word[c] = 0;
     d_step { got = got + out; out = 0; redo = 0 }
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
  w = 0;
  do
  :: w < CELLS && word[w] == 1 && OPEN(w) ->
#ifndef TIMER_NOTAG
     word[w] = 0; KILL;
#endif
     w++
  :: w < CELLS && word[w] == 1 && !OPEN(w) && claimed_at[w] == count ->
#ifndef TIMER_VOID
     claimed_at[w] = 0; KILL;
#endif
     w++
  :: w < CELLS && word[w] == 1 && !OPEN(w) && claimed_at[w] != 0 && claimed_at[w] != count ->
     word[w] = 0; KILL; w++
  :: w < CELLS && (word[w] != 1 || (!OPEN(w) && claimed_at[w] == 0)) -> w++
  :: w == CELLS -> break
  od
}
proctype recovery() {
  byte w;
end:
  !up && stopped == 2;
again:
  mutex = false;
  if
#ifndef TIMER_NOREDO
  :: redo != 0 -> word[redo - 1] = 0; KILL
#endif
  :: redo == 0 -> skip
#ifdef TIMER_NOREDO
  :: redo != 0 -> skip
#endif
  fi;
#ifndef TIMER_LATE
  undo();
#endif
  count++; KILL;                       /* the worker's flip: its tags are void */
#ifdef TIMER_LATE
  undo();
  skip;
#endif
  d_step { got = got + out; out = 0; redo = 0 }; KILL;
  d_step { w = 0; up = true };
  goto end
}

proctype watch() {
  timeout -> assert(turn == 2 && got == (cancelled -> 0 : 1))
}
init {
  atomic {
    if :: will_cancel = true :: will_cancel = false fi;
    run worker(); run control(); run chaos(); run recovery(); run watch()
  }
}
