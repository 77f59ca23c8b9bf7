/* SPDX-License-Identifier: Apache-2.0
 *
 * stall.pml - ports that wait for a full queue (docs/engine.md, Limits), with nobody who polls.
 *
 * One queue, full as soon as something is in its active buffer; P ports with R records each for it.
 * A port that finds it full says what it waits for, sets the queue's flag, and looks at the length
 * once more; whoever gulps looks at the flag behind the gulp, takes it away, and sets the ready
 * bits of the ports that wait. A port may also be run for other reasons (D times), and then tries
 * again. That queue and ports are run by one worker at a time, and that a ready bit is not
 * overlooked, is shown elsewhere (gulp_steal_park.pml, port_source.pml): here each has a process of
 * its own that waits for its bit.
 *
 * The same words are those of a port that waits for memory (overflow.X6): the queue is then what
 * the budget has left, and who gives memory back is who gulps.
 *
 * Shown: at the end everything has arrived.
 *
 * Mutants that must fail: STALL_RECHECK (the port does not look again), STALL_FENCE (... or before
 * its flag can be seen: FENCE), STALL_FLAG (the flag before the word), STALL_GULP (the flag is
 * looked at before the gulp), STALL_TAKE (the flag is taken away behind the look at the ports),
 * STALL_BIT (the bit before the word is cleared).
 */
#ifndef P
#define P 2
#endif
#ifndef R
#define R 2
#endif
#ifndef D
#define D 1
#endif
byte length, total, left_[P];
bool flag, stalled[P], ready[P];

proctype port(byte me) {
  bool no_room;
  do
  :: atomic { ready[me] -> ready[me] = false }
     stalled[me] = false;
     do
     :: left_[me] == 0 -> break
     :: left_[me] > 0 ->
        if
        :: atomic { length == 0 -> length++; left_[me]-- }   /* the append: under the lock */
        :: length > 0 ->
#ifdef STALL_FLAG
           flag = true; stalled[me] = true;
#else
           stalled[me] = true;
#ifdef STALL_FENCE
           no_room = length > 0;
#endif
           flag = true;
#endif
           /* FENCE */
#ifdef STALL_RECHECK
           no_room = true;
#else
#ifndef STALL_FENCE
           no_room = length > 0;
#endif
#endif
           if :: no_room -> break :: else -> stalled[me] = false fi
        fi
     od;
     /* the release: more to do, unless it waits */
     if :: !stalled[me] && left_[me] > 0 -> ready[me] = true :: else fi
  :: left_[me] == 0 && !ready[me] -> break
  od
}
proctype runner() {
  byte batch, p; bool seen;
end_idle:
  do
  :: length > 0 ->
#ifdef STALL_GULP
     seen = flag;
     atomic { batch = length; length = 0 }
#else
     atomic { batch = length; length = 0 } /* the gulp, which is the FENCE */
     seen = flag;
#endif
     if
     :: seen ->
#ifndef STALL_TAKE
        flag = false;
#endif
        p = 0;
        do
        :: p < P ->
           if
           :: stalled[p] ->
#ifdef STALL_BIT
              ready[p] = true; stalled[p] = false
#else
              stalled[p] = false; ready[p] = true
#endif
           :: else
           fi;
           p++
        :: else -> break
        od;
#ifdef STALL_TAKE
        flag = false
#endif
     :: else
     fi;
     total = total + batch
  od
}
/* Doorbells, thieves: a port is run although nobody told it to go on. */
proctype others() {
  byte n = 0, p;
  do
  :: n < D -> select(p : 0 .. (P-1)); if :: left_[p] > 0 -> ready[p] = true :: else fi; n++
  :: break
  od
}
proctype watch() { timeout -> assert(total == P * R) }
init { byte i = 0; atomic {
    do :: i < P -> left_[i] = R; ready[i] = true; i++ :: else -> break od;
    i = 0; do :: i < P -> run port(i); i++ :: else -> break od;
    run runner(); run others(); run watch() } }
