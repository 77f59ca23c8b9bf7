/* SPDX-License-Identifier: Apache-2.0
 *
 * shelf.pml - questions that have not waited for long (daemon/engine/timers/shelf.c).
 *
 * A worker asks Q questions, one a turn. Each is answered at once, and the turn that takes the
 * answer asks the next one, before its commit. The numbers are on the worker's shelf, and the
 * control thread moves whatever it finds open to the others, whenever it is told to look. The
 * executor is killed up to K times, at any store; then nothing is on a shelf, recovery looks at the
 * durable words alone, and a turn that was not committed is run again. The store that opens a
 * question may stay in the worker's store buffer for a while, but for what a locked instruction, or
 * order_all(), makes of it. What a deadline sends is ask.pml's.
 *
 * Shown: each question has one outcome, in a turn that was committed; no number is on a shelf and
 * among the others at once; and while one is open on the shelf, a look is due.
 *
 * Mutants (each must fail): SHELF_BLIND (a slot's state is read, and then stored), SHELF_SOON (a
 * number is used again by the turn that has claimed it), SHELF_DEAF (the control thread does not
 * order all before it looks again).
 */
#ifndef K
#define K 1
#endif
#define Q 3
#define N 2
#define NONE 255

mtype = { EMPTY, OURS, OPEN };

/* durable; an answer waits from the commit of its question until that of the turn that takes it */
bool live[N]; byte asks[N], claim[N], armed[N];
byte count = 1, answer = NONE, turn, outcomes;
/* of the process */
mtype state[N]; bool others[N], buffered[N], look, asking, mutex;
/* world */
bool up = true; byte kills, stopped;

#define KILLABLE unless { !up }
#define LOCK atomic { !mutex -> mutex = true; drain() }
#define UNLOCK mutex = false
#define SETTLED(n_) (live[n_] && claim[n_] != 0 && claim[n_] != count)
#ifdef SHELF_SOON
#define REUSABLE(n_) (!live[n_] || claim[n_] != 0)
#else
#define REUSABLE(n_) (!live[n_] || SETTLED(n_))
#endif
#define EXCLUSIVE assert(!(others[0] && state[0] != EMPTY) && !(others[1] && state[1] != EMPTY))

/* The worker's store buffer; a locked instruction of its own, or anybody's order_all(). */
inline drain() {
  d_step {
    if :: buffered[0] -> buffered[0] = false; state[0] = OPEN :: else fi;
    if :: buffered[1] -> buffered[1] = false; state[1] = OPEN :: else fi
  }
}

/* Away from OPEN, to `to_`. */
#ifdef SHELF_BLIND
inline leave(n_, to_, left_) {
  left_ = state[n_] == OPEN;
  if :: left_ -> state[n_] = to_ :: else fi
}
#else
inline leave(n_, to_, left_) {
  atomic { left_ = state[n_] == OPEN; if :: left_ -> state[n_] = to_ :: else fi }
}
#endif

inline give_back(n_) {
  live[n_] = false; d_step { others[n_] = false }
}

proctype worker() {
  byte n; bool taken, left;
W0:
  {
  up;
end_wait:
  do
  :: turn == 0 || (turn <= Q && answer == turn - 1) ->
     taken = turn == 0;
     if
     :: turn > 0 ->
        /* the slot's own token, or the table's message */
        n = (live[0] && asks[0] == turn - 1 && armed[0] != count -> 0 : 1);
        atomic { drain(); skip }
        leave(n, OURS, left);
        if
        :: left -> claim[n] = count; taken = true
        :: else ->
           LOCK;
           if
           :: others[n] && live[n] && asks[n] == turn - 1 && claim[n] == 0 ->
              claim[n] = count; taken = true
           :: else
           fi;
           UNLOCK
        fi;
        EXCLUSIVE
     :: else
     fi;
     if
     :: turn < Q ->
        /* a number */
        LOCK;
        if :: state[0] == EMPTY && !others[0] -> state[0] = OURS :: else fi;
        if :: state[1] == EMPTY && !others[1] -> state[1] = OURS :: else fi;
        UNLOCK;
        do
        :: state[0] == OURS && REUSABLE(0) -> n = 0; break
        :: state[1] == OURS && REUSABLE(1) -> n = 1; break
        :: else -> /* the long way: when the control thread has given one back */
           LOCK;
           if
           :: others[0] && SETTLED(0) -> give_back(0); state[0] = OURS
           :: others[1] && SETTLED(1) -> give_back(1); state[1] = OURS
           :: else
           fi;
           UNLOCK
        od;
        live[n] = false;
        d_step { claim[n] = 0; armed[n] = count; asks[n] = turn };
        live[n] = true;
        atomic { asking = true; buffered[n] = true };
        if
        :: !look -> LOCK; look = true; UNLOCK
        :: else
        fi;
        asking = false
     :: else
     fi;
     /* the commit: the answer is consumed, and what was asked is answered */
     d_step {
       outcomes = outcomes + (turn > 0 && taken);
       count++;
       answer = (turn < Q -> turn : NONE);
       turn++
     }
  od
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}

/* Stores get through some time. */
proctype buffer() {
end_full:
  do
  :: buffered[0] || buffered[1] -> drain()
  od
}

proctype control() {
  bool left, open;
C0:
  {
  up;
end_idle:
  do
  :: look ->
     atomic { !mutex -> mutex = true };
     open = false;
     if
     :: leave(0, EMPTY, left); if :: left -> others[0] = true :: else fi
     :: open = open || state[0] == OPEN
     fi;
     if
     :: leave(1, EMPTY, left); if :: left -> others[1] = true :: else fi
     :: open = open || state[1] == OPEN
     fi;
     EXCLUSIVE;
     if
     :: !open ->
        look = false;
#ifndef SHELF_DEAF
        drain();
#endif
        open = state[0] == OPEN || state[1] == OPEN;
        if :: open -> look = true :: else fi
     :: else
     fi;
     UNLOCK
  :: SETTLED(0) && others[0] ->
     atomic { !mutex -> mutex = true };
     if :: SETTLED(0) && others[0] -> give_back(0) :: else fi;
     UNLOCK
  :: SETTLED(1) && others[1] ->
     atomic { !mutex -> mutex = true };
     if :: SETTLED(1) && others[1] -> give_back(1) :: else fi;
     UNLOCK
  od
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto C0
}

#define RECOVER(n_) \
  if \
  :: live[n_] && (armed[n_] == count || SETTLED(n_)) -> live[n_] = false \
  :: live[n_] && claim[n_] == count -> claim[n_] = 0 \
  :: else \
  fi; \
  others[n_] = live[n_]; state[n_] = EMPTY; buffered[n_] = false

proctype world() {
end_world:
  do
  :: kills < K ->
     atomic { kills++; up = false };
     stopped == 2;
     d_step { RECOVER(0); RECOVER(1); look = false; asking = false; mutex = false; up = true }
  :: atomic { up && !look && !mutex && !asking && (state[0] == OPEN || state[1] == OPEN) ->
     assert(false) } /* nobody will ever look at it */
  :: atomic { turn == Q + 1 && up -> assert(outcomes == Q); break }
  od
}

init {
  atomic {
    state[0] = EMPTY; state[1] = EMPTY;
    run worker(); run control(); run buffer(); run world()
  }
}
