/* SPDX-License-Identifier: Apache-2.0
 *
 * room.pml - a client that waits for room in its submission ring is told of it, though who takes
 * the ring's only record directly looks for nobody (port.R5, port_layout.P4).
 *
 * A client posts records of one unit or of MAX. Where there is no room it says that it waits
 * (FENCE), looks once more, and sleeps. The executor takes what there is and stores the visible
 * head by a locked instruction, which is a full barrier; behind it, it looks who waits. A ring's
 * only record of at most DIRECT units may be taken directly: the head is then an ordinary store,
 * which may stay in the store buffer, and nobody is looked for. Which way such a record goes is
 * open. A visit begins by taking the owner word, which is a full barrier, too, and comes before it
 * reads the tail: so of the records that were taken before it, all are seen by then.
 *
 * Shown: no client sleeps for ever. What waits for room has published more than two records that
 * are taken directly, the last one, whose head it may not see yet, and the next: for the ring has
 * room for these and for the largest one. So a visit comes that looks. The model found that room
 * for one of them, which the engine asserted before, is not enough.
 *
 * With -DPIPE the client sleeps on its pipe: it empties it, says that it waits, looks once more,
 * and polls; the executor writes a byte where it would count the futex up.
 *
 * Mutants (each must fail):
 *   R5_RING   a ring that has room for one such record and for the largest one
 *   R5_BYTES  a record of any size is taken directly
 *   R5_ONLY   so is one that is not the only one
 *   R5_VISIT  a visit reads the tail while the last head is still on its way
 *   R5_DRAIN  (with PIPE) the pipe is emptied behind the last look
 *   R5_ORDER  the visit that looks does so before its store of the head is seen (port_layout.P4)
 */
#ifndef N
#define N 6
#endif
#define MAX 2
#ifdef R5_BYTES
#define DIRECT MAX
#else
#define DIRECT 1
#endif
#ifdef R5_RING
#define R (1 + MAX)
#else
#define R (2 + MAX)
#endif

byte size[N];            /* of the records, in their order */
byte posted, tail, head; /* records and units; the head that the client sees */
byte taken, cursor;      /* the executor's own */
byte kept; bool keeps;   /* its store buffer: one store of the head */
byte waits;              /* 0, or the number of the wait */
byte futex;

/* Any time; the processor's. */
proctype buffer() { end: do :: d_step { keeps -> head = kept; keeps = false } od }

proctype client() {
  byte need, before, n;
  do
  :: posted < N ->
     if :: need = 1 :: need = MAX fi;
     do
     :: R - (tail - head) >= need -> break
     :: else ->
        before = futex; n++;
#ifdef PIPE
#ifndef R5_DRAIN
        futex = 0;
#endif
        waits = n; /* FENCE */
        if
        :: R - (tail - head) >= need -> waits = 0
        :: else ->
#ifdef R5_DRAIN
           futex = 0;
#endif
           futex != 0 /* poll(); the word stays as it is */
        fi
#else
        waits = n; /* FENCE */
        if
        :: R - (tail - head) >= need -> skip
        :: else -> futex != before
        fi;
        waits = 0
#endif
     od;
     skip;
     d_step { size[posted] = need; posted++; tail = tail + need }
  :: else -> break
  od
}

#ifdef PIPE
#define WAKE futex = 1 /* a byte in the pipe */
#else
#define WAKE futex++
#endif

#ifdef R5_ONLY
#define MAY_DIRECT (size[taken] <= DIRECT)
#else
#define MAY_DIRECT (last - taken == 1 && size[taken] <= DIRECT)
#endif
proctype executor() {
  byte woken, seen, last;
end: do
     :: posted > taken ->
#ifndef R5_VISIT
        d_step { if :: keeps -> head = kept; keeps = false :: else fi };
#endif
        last = posted;
        if
        :: MAY_DIRECT ->
           /* two that are kept are one: the older may be seen first, or never */
           d_step { cursor = cursor + size[taken]; taken++; kept = cursor; keeps = true }
        :: true ->
           d_step { cursor = cursor + size[taken]; taken++ }; /* and of the others as many */
           do
           :: taken < last -> d_step { cursor = cursor + size[taken]; taken++ }
           :: true -> break
           od;
#ifdef R5_ORDER
           seen = waits;
           d_step { keeps = false; head = cursor };
#else
           skip;
           d_step { keeps = false; head = cursor };
           seen = waits;
#endif
           if
           :: seen != 0 && seen != woken -> woken = seen; WAKE
           :: else
           fi
        fi;
        seen = 0; last = 0
     od
}

init { atomic { run client(); run executor(); run buffer() } }
