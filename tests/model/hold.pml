/* SPDX-License-Identifier: Apache-2.0
 *
 * hold.pml - a worker is held still inside a handler by a control thread that waits for nobody
 * (daemon/engine/stuck/hold.h).
 *
 * The control thread asks, by a signal, and looks for the answer again and again; meanwhile it may
 * have something else to do, and wait for the worker in that. It may withdraw what it has asked, K
 * times in all. The worker's signal handler offers itself, or refuses, and leaves when the offer is
 * not taken. A signal that comes late finds what has been asked by then.
 *
 * Shown: the worker does not move while the control thread touches what is its own, and moves at
 * last whatever the control thread waits for.
 *
 * Mutants that must fail: HOLD_TAKE (the offer is taken by a plain store), HOLD_LEAVE (it is
 * withdrawn by one), HOLD_STAY (it is never withdrawn), HOLD_BARE (what is offered is touched
 * without being taken).
 */
#ifndef K
#define K 3
#endif
mtype = { NONE, ASKED, OFFERED, HELD, REFUSED, LEFT };
mtype state = NONE;
bool moved, touches, done;
byte signals;

proctype worker() {
  bool answers, offers;
  do
  :: atomic { !done || signals > 0 -> assert(!touches); moved = true }
     if
     :: signals > 0 ->
        signals--;
        if
        :: state == ASKED ->
           if :: offers = true :: offers = false fi; /* where the stack says that it is */
           atomic {
             answers = state == ASKED;
             if
             :: answers && offers -> state = OFFERED
             :: answers && !offers -> state = REFUSED
             :: else
             fi
           }
           if
           :: answers && offers ->
              if
#ifndef HOLD_STAY
              :: true /* the time is up */
#endif
              :: state != OFFERED
              fi;
#ifdef HOLD_LEAVE
              if :: state == OFFERED -> state = LEFT; goto on :: else fi;
#else
              atomic { if :: state == OFFERED -> state = LEFT; goto on :: else fi };
#endif
              state != HELD
           :: else
           fi
        :: else
        fi
     :: true
     fi;
on:  skip
  :: done && signals == 0 -> break
  od
}
proctype control() {
  byte k = 0; bool taken;
  do
  :: k < K ->
     k++;
     state = ASKED;
     signals++;
     do
     /* withdrawn; whoever has just answered goes on, too */
     :: state == ASKED -> state = NONE; break
     :: state == OFFERED ->
#ifdef HOLD_BARE
        touches = true; touches = false; state = NONE;
#else
#ifdef HOLD_TAKE
        state = HELD; taken = true;
#else
        atomic { taken = state == OFFERED; if :: taken -> state = HELD :: else fi };
#endif
        if :: taken -> touches = true; touches = false :: else fi;
        state = NONE;
#endif
        break
     :: state == REFUSED || state == LEFT -> state = NONE; break
     :: true -> moved = false; moved /* something else, and it waits for the worker in that */
     od
  :: else -> done = true; break
  od
}
init { atomic { run worker(); run control() } }
