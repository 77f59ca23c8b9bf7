/* SPDX-License-Identifier: Apache-2.0
 *
 * backlog.pml - who tells a port's runner that something waits behind a full delivery ring
 * (deliver.D6, drain.D7).
 *
 * A workers deliver N records each to one port, under its lock: to the ring (K records), or, while
 * something waits or there is no room, to the backlog's active buffer. Only the first append to a
 * buffer may tell the runner, and does not when, behind its unlock, the runner has a batch in hand.
 * The runner moves records from the backlog to the ring; without room for the oldest it attaches
 * nothing, and a batch may be set aside for want of room. The client takes what is in the ring when
 * it likes, and rings if it sees that there is a backlog. A ready bit is not overlooked (shown
 * elsewhere: ready.pml): the runner is a process that waits for it.
 *
 * Shown: at the end the client has got everything.
 *
 * Mutants (each must fail): BL_EARLY (the batch bit is read before the append), BL_LOOK (the runner
 * looks at what was appended before it clears the bit), BL_HEAD (it looks for room before it says
 * that there is a backlog, and attaches nothing), BL_LEAVE (the same where it sets its batch aside;
 * with -DOLDEST, policy drop-oldest, where the runner always attaches).
 */
#ifndef A
#define A 2
#endif
#ifndef N
#define N 2
#endif
#ifndef K
#define K 1
#endif
byte waits, batch_left, ring, taken;
bool batch, backlog, ready, locked;

#define LOCK   atomic { !locked -> locked = true }
#define UNLOCK locked = false

proctype worker() {
  byte n = 0;
  bool first, in_hand;
  do
  :: n < N ->
     LOCK;
     first = false;
     if
     :: !batch && waits == 0 && ring < K -> ring++
     :: else ->
        first = waits == 0;
#ifdef BL_EARLY
        in_hand = batch;
#endif
        waits++;
        backlog = true
     fi;
     UNLOCK;
     /* FENCE: the unlock */
     if
     :: first ->
#ifndef BL_EARLY
        in_hand = batch;
#endif
        if :: !in_hand -> ready = true :: else fi
     :: else
     fi;
     n++
  :: else -> break
  od
}
proctype runner() {
  bool room, more;
end_idle:
  do
  :: atomic { ready -> ready = false };
     more = batch || waits > 0;
     room = true;
     if
     :: more ->
#if defined(OLDEST)
        skip
#elif defined(BL_HEAD)
        room = ring < K;
        backlog = true
#else
        backlog = true;
        /* FENCE */
        room = ring < K
#endif
     :: else
     fi;
     if
     :: more && !room -> skip /* drain.D7: the client rings */
     :: else ->
        do
        :: room && more ->
           if
           :: !batch -> LOCK; d_step { batch_left = waits; waits = 0; batch = true }; UNLOCK
           :: else
           fi;
           do
           :: batch_left > 0 && ring < K -> d_step { ring++; batch_left-- }
           :: else -> break
           od;
           if
           :: batch_left == 0 ->
#ifdef BL_LOOK
              more = waits > 0;
              batch = false
#else
              batch = false;
              /* FENCE */
              more = waits > 0
#endif
           :: else -> room = false
           fi
        :: else -> break
        od;
        if
        :: !more -> backlog = false
        :: else ->
#ifdef BL_LEAVE
           room = ring < K;
           backlog = true;
#else
           backlog = true;
           /* FENCE */
           room = ring < K;
#endif
           if :: room -> ready = true :: else fi
        fi
     fi
  od
}
proctype client() {
end_full:
  do
  :: ring > 0 ->
     d_step { ring--; taken++ };
     /* FENCE: port_layout.P4 */
     if :: backlog -> ready = true :: else fi
  od
}
proctype watch() { timeout -> assert(taken == A * N) }
init { atomic { byte i; for (i : 1 .. A) { run worker() }; run runner(); run client();
    run watch() } }
