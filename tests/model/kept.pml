/* SPDX-License-Identifier: Apache-2.0
 *
 * kept.pml - a member at its limit that waits delays nobody, loses nothing, and gets what one group
 * has for it in order (daemon/engine/timers/kept.h).
 *
 * A group has N publications for one member, another group has one, and each is run by a worker of
 * its own. A turn looks under the mutex at what is kept, then at the member's queue, which has room
 * for one; it sends to its worker's outbox, or keeps the copy, and flips, which is one step. The
 * worker flushes when it likes to, and before its outbox is full. The control thread sends the copy
 * that was kept first when it sees room: it flips under the mutex, flushes without it, and says so
 * under the mutex again. The executor is killed up to K times, between any two steps; recovery
 * flushes what was committed. How a timer is armed and fires is timer.pml's.
 *
 * Shown: the member gets all of it, each once, those of a group in order, and no group ever waits.
 *
 * Mutants (each must fail): KEPT_PAST (what is published is sent as soon as there is room),
 * KEPT_UNFLUSHED (... as soon as the control thread has sent what waited), KEPT_OTHERS (it is kept
 * because another group's waits), KEPT_ORDER (any of those that wait is sent).
 */
#ifndef K
#define K 1
#endif
#ifndef N
#define N 3
#endif
#define LIMIT 1
#define ROOM  (len(q) < LIMIT)
#define OTHER 9 /* what the other group publishes */

/* durable: publications that have been run, what is kept, what is in outboxes, in the queue */
byte next = 1;
bool other;
chan kept = [N + 1] of { byte };
chan out0 = [2] of { byte };
chan out1 = [2] of { byte };
chan cout = [1] of { byte };
chan q = [2 * N + 3] of { byte };
/* the executor's own: which of the group's, and of the other one's, have been sent and not flushed;
 * has this worker looked at the queue since its last flush, and found room? */
byte sent;
bool mutex, room0, room1;
/* world */
bool up = true;
byte kills, stopped;
/* ghosts */
byte got, n;

#define KILLABLE unless { !up }

inline look(word, waits) {
  d_step {
    !mutex ->
    waits = false;
    i = 0;
    do
    :: i < len(kept) -> kept?w; kept!w; waits = waits || ((w == OTHER) == (word == OTHER)); i++
    :: else -> break
    od;
#ifdef KEPT_OTHERS
    waits = len(kept) > 0 || sent != 0;
#endif
#ifndef KEPT_UNFLUSHED
    waits = waits || (sent != 0 && (sent == OTHER) == (word == OTHER));
#endif
#ifdef KEPT_PAST
    waits = false;
#endif
    i = 0; w = 0
  }
}

/* One turn: a copy, to the outbox `out` or kept. It ends with its flip. */
inline turn(word, out, room) {
  look(word, waits);
  if
  :: !waits -> room = room || ROOM
  :: waits
  fi;
  d_step {
    !mutex ->
    if
    :: !waits && room -> out!word
    :: else -> kept!word
    fi;
    if :: word == OTHER -> other = true :: else -> next++ fi;
    waits = false
  }
}
inline flush(out, room) {
  do
  :: d_step { len(out) > 0 -> out?w; q!w; w = 0 }
  :: len(out) == 0 -> break
  od;
  room = false
}

proctype group() {
  byte i, w; bool waits;
G0:
  {
  up;
  do
  :: next <= N && len(out0) < 2 -> turn(next, out0, room0)
  :: len(out0) > 0 -> flush(out0, room0)
  :: next > N && len(out0) == 0 -> break
  od;
end_over:
  false
  } KILLABLE;
  d_step { i = 0; w = 0; waits = false; stopped++ };
end_down:
  atomic { up -> stopped-- };
  goto G0
}

proctype others() {
  byte i, w; bool waits;
O0:
  {
  up;
  do
  :: !other -> turn(OTHER, out1, room1)
  :: len(out1) > 0 -> flush(out1, room1)
  :: other && len(out1) == 0 -> break
  od;
end_over:
  false
  } KILLABLE;
  d_step { i = 0; w = 0; waits = false; stopped++ };
end_down:
  atomic { up -> stopped-- };
  goto O0
}

proctype control() {
  byte w;
C0:
  {
  up;
end_idle:
  do
  :: atomic { len(kept) > 0 && ROOM && !mutex -> mutex = true };
     d_step {
#ifdef KEPT_ORDER
       if
       :: len(kept) > 1 -> kept?w; kept!w; kept?w
       :: else -> kept?w
       fi;
#else
       kept?w;
#endif
       cout!w; sent = w; w = 0
     };
     mutex = false;
     d_step { cout?w; q!w; w = 0 };
     d_step { !mutex -> sent = 0 }
  od
  } KILLABLE;
  d_step { w = 0; stopped++ };
end_down:
  atomic { up -> stopped-- };
  goto C0
}

/* It takes what is first when it likes to, whatever executor there is. */
proctype member() {
  byte w;
end:
  do
  :: d_step {
       up && len(q) > 0 ->
       q?w;
       if
       :: w == OTHER
       :: else -> assert(w == got + 1); got = w
       fi;
       n++; w = 0
     }
  od
}

proctype chaos() {
end:
  do
  :: atomic { up && kills < K -> kills++; up = false }
  od
}

proctype recovery() {
  byte w;
end:
  do
  :: d_step {
       !up && stopped == 3 ->
       do :: len(out0) > 0 -> out0?w; q!w :: else -> break od;
       do :: len(out1) > 0 -> out1?w; q!w :: else -> break od;
       do :: len(cout) > 0 -> cout?w; q!w :: else -> break od;
       w = 0; sent = 0; mutex = false; room0 = false; room1 = false;
       up = true
     }
  od
}

proctype judge() {
  timeout -> assert(got == N && n == N + 1 && len(kept) == 0)
}

init {
  atomic {
    run group(); run others(); run control(); run member(); run chaos(); run recovery();
    run judge()
  }
}
