/* SPDX-License-Identifier: Apache-2.0
 *
 * port_watch.pml - a client's monitor is told once, or given up: a record begins it, another one
 * gives it up, in the flips that consume them (daemon/engine/ports/port_later.h,
 * daemon/engine/timers/timer_posted.h).
 *
 * A client posts two records, the second of which gives up what the first has begun, and it may
 * give it up once more. A worker takes them from the ring, each by a flip of its own, with the
 * mutex of the timers; the one who is watched ends at any time; the control thread tells it by one
 * flip, under the mutex, and flushes behind it. The executor is killed up to K times, at any store,
 * and recovery at any of its own. How an end is found is watch.pml's.
 *
 * Shown: the client is told, or one of its records has given the monitor up, never both, and once
 * at most; each record that gives up and finds nothing is refused, and no other; what counts for
 * its user is nothing in the end.
 *
 * Mutants (each must fail): MONITOR_EARLY (the flip that consumes the record comes behind the one
 * that ends the tag), GIVE_EARLY (the monitor has ended before the flip), GIVE_LATE (the claim is
 * stored behind the flip), GIVE_VOID (recovery takes a claim for committed), GIVE_OPEN (the control
 * thread does not look whether it has been claimed, nor waits for the mutex).
 */
#ifndef K
#define K 2
#endif
#define MONITOR 1
#define GIVE_UP 2

/* durable */
chan ring = [3] of { byte };
bool word;                 /* the monitor's entry lives */
byte armed_at, claimed_at; /* tags; claimed_at 0: nobody has */
byte count = 1;            /* the worker's flips */
bool cout, redo;           /* the control thread's record: a word in its outbox, whose timer ends */
bool ended;                /* who is watched */
/* what the client gets, whatever dies */
byte told, refused;
/* world */
bool up = true, mutex;
byte kills, stopped, posted;
/* ghosts */
byte given_up, begun;

#define KILLABLE unless { !up }
#define LOCK     atomic { !mutex -> mutex = true }
#define OPEN     (armed_at == count)
#define CLAIMED  (claimed_at != 0)

proctype client() {
end_over:
  do
  :: posted == 0 -> atomic { ring!MONITOR; posted++ }
  :: posted > 0 && posted < 3 -> atomic { ring!GIVE_UP; posted++ }
  :: posted > 1 -> break /* once or twice */
  :: posted == 3 -> break
  od
}

proctype watched() {
end_over:
  atomic { up -> ended = true }
}

proctype worker() {
  byte r;
W0:
  {
  up;
end_idle:
  do
  :: ring?[MONITOR] ->
     LOCK;
     d_step { armed_at = count; claimed_at = 0 };
     word = true;
#ifdef MONITOR_EARLY
     count++;
#endif
     d_step { count++; ring?r; begun++; r = 0 };
     mutex = false
  :: ring?[GIVE_UP] ->
     LOCK;
     if
     :: word ->
#if defined(GIVE_EARLY)
        word = false;
#elif !defined(GIVE_LATE)
        claimed_at = count;
#endif
        d_step { count++; ring?r; given_up++; r = 0 };
#ifdef GIVE_LATE
        claimed_at = count - 1;
#endif
        word = false
     :: !word -> d_step { count++; ring?r; refused++; r = 0 }
     fi;
     mutex = false
  od
  } KILLABLE;
  d_step { r = 0; stopped++ };
end_down:
  atomic { up -> stopped-- };
  goto W0
}

proctype control() {
C0:
  {
  up;
end_idle:
  do
#ifdef GIVE_OPEN
  :: atomic { word && ended && !cout && !redo } ->
#else
  :: atomic { word && ended && !OPEN && !CLAIMED && !cout && !mutex -> mutex = true };
#endif
     d_step { cout = true; redo = true };
     word = false;
#ifndef GIVE_OPEN
     mutex = false;
#endif
     d_step { cout = false; redo = false; told++ }
  od
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

/* At any store it may be killed: it begins anew. */
proctype recovery() {
end:
  do
  :: !up && stopped == 2 ->
     mutex = false;
R0:
     if
     :: redo -> word = false /* timers.TM3 */
     :: !redo
     fi;
     if
     :: kills < K -> kills++; goto R0
     :: true
     fi;
     if
     :: word && OPEN -> word = false
     :: word && !OPEN && CLAIMED ->
        if
#ifndef GIVE_VOID
        :: claimed_at == count -> claimed_at = 0
        :: claimed_at != count -> word = false
#else
        :: word = false
#endif
        fi
     :: else
     fi;
     if
     :: kills < K -> kills++; goto R0
     :: true
     fi;
     d_step { if :: cout -> told++; cout = false :: else fi; redo = false };
     count++;
     d_step { armed_at = 0; up = true }
  od
}

proctype judge() {
  timeout -> assert(begun == 1 && told + given_up == 1 && !word && len(ring) == 0 &&
                    refused == posted - 1 - given_up)
}

init {
  atomic {
    run client(); run watched(); run worker(); run control(); run chaos(); run recovery();
    run judge()
  }
}
