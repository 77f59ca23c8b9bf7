/* SPDX-License-Identifier: Apache-2.0
 *
 * drop_oldest.pml - a full queue's oldest messages are dropped (overflow.X3), whatever
 * instruction the process is killed at.
 *
 * overflow_mark_oldest() in overflow.c: who attaches a batch longer than the limit, with nothing of
 * it consumed, marks the oldest droppable records until the rest is within the limit, one byte
 * each, before he runs the first; a marked record is committed without being run. The batch may be
 * set aside at any message and be attached again. The process is killed at any store, up to CR
 * times; the record at the cursor is then marked as redelivered if handlers were running.
 *
 * Records 1..N of one batch; `keep` of them are of a type that is not dropped. Limit L records.
 *
 * Shown: no marked record is run, none of `keep` is dropped; what is run is run in order, once, but
 * for the one that a kill interrupted; of those that may go exactly as many go as are too many, and
 * they are the oldest.
 *
 * Mutants (each must fail): DROP_RUN (the first is run before it is marked), DROP_COUNT (marks that
 * are there are not counted, after a kill), DROP_BACK (recovery takes marks back), DROP_NEW (the
 * newest are marked), DROP_CUR (dropped by moving the cursor, without a commit). To mark again when
 * something of the batch has been consumed finds nothing to do: -DDROP_LATE holds.
 *
 * States: CR=2 N=5 L=2 0.01 million.
 */
#ifndef N
#define N 5
#endif
#ifndef L
#define L 2
#endif
#ifndef CR
#define CR 2
#endif
#ifndef KEEP
#define KEEP 4 /* a bit for each record that is not dropped */
#endif
#define KEPT(i_) ((KEEP >> (i_)) & 1)

/* durable: marks, the record of the commit, the queue's cursor */
bit mark[N]; byte ccur; bit attached; byte qcur; bit turn;
/* what the world has seen */
byte ran[N]; byte gone[N]; bit redelivered[N];
byte last; byte kills;
bool up = true; bool rested = true;

#ifdef DROP_NEW
#define AT(i_) (N-1-(i_))
#else
#define AT(i_) (i_)
#endif

proctype runner() {
  byte c, i, n;
R0:
  {
  up;
end_loop:
  atomic { !attached && qcur < N -> rested = false };
  d_step { c = qcur; ccur = c; attached = 1 };                         /* attach: a flip */
#ifdef DROP_LATE
  if :: N - c > L ->
#else
  if :: c == 0 && N > L ->
#endif
     i = 0;
     n = 0;
#ifdef DROP_RUN
     if :: ran[0] == 0 && !KEPT(0) && !mark[0] -> ran[0]++; last = 1; c = 1 :: else fi;
#endif
     do
     :: i < N && n < N - L ->
        if
        :: KEPT(AT(i)) -> i++
#ifdef DROP_COUNT
        :: !KEPT(AT(i)) && mark[AT(i)] -> i++
#endif
        :: else -> mark[AT(i)] = 1; n++; i++
        fi
     :: else -> break
     od
  :: else
  fi;
#ifdef DROP_CUR
  do :: c < N && mark[c] -> gone[c]++; c++; qcur = c; ccur = c :: else -> break od;
#endif
  turn = 1;
  do
  :: c < N ->
     if
     :: mark[c] -> d_step { c++; gone[c-1]++; ccur = c }               /* committed unread */
     :: else ->
        d_step {
          assert(ran[c] == 0 || redelivered[c]);
          assert(ran[c] <= kills && last <= c + 1);
          ran[c]++; last = c + 1 };
        d_step { c++; ccur = c }
     fi;
     if :: true -> break :: true fi
  :: else -> break
  od;
  turn = 0;
  qcur = c;
  d_step { attached = 0; ccur = 0 };                                   /* detach: a flip */
  atomic { c = 0; i = 0; n = 0; rested = true };
  goto end_loop
  } unless { !up };
  d_step { c = 0; i = 0; n = 0; rested = true };
  up;
  goto R0
}
proctype chaos() { end: do :: d_step { up && kills < CR -> kills++; up = false } od }
#define KILL if :: true -> goto again :: true fi
proctype recovery() {
  byte i;
end: !up && rested;
again:
  if
  :: attached ->
     if :: turn && ccur < N -> redelivered[ccur] = 1; KILL :: else fi;
     qcur = ccur; KILL;
#ifdef DROP_BACK
     i = ccur; do :: i < N -> mark[i] = 0; i++ :: else -> break od; i = 0; KILL;
#endif
     d_step { attached = 0; ccur = 0 }; KILL
  :: else
  fi;
  turn = 0;
  up = true;
  goto end
}
proctype watch() {
  byte i, n;
  timeout ->
  d_step {
    do :: i < N -> assert(mark[i] ->
        (ran[i] == 0 && gone[i] == 1 && !KEPT(i)) : (ran[i] > 0 && gone[i] == 0));
          assert(ran[i] <= 1 + redelivered[i] * kills);
          n = n + mark[i]; i++
       :: else -> break od;
    assert(qcur == N && n == N - L);
    i = 0; n = 0;
    do :: i < N -> if :: !KEPT(i) -> assert(!mark[i] || n == 0); n = n + !mark[i] :: else fi;
        i++ :: else -> break od }
}
init { atomic { run runner(); run chaos(); run recovery(); run watch() } }
