/* SPDX-License-Identifier: Apache-2.0
 *
 * durable.pml - a kept state, the message that changed it and what it sent commit together, in
 * commit records as commit.h stores them.
 *
 * commit.pml has a flip as one step and the undo area as one word. Here both are as in the code: a
 * record {low, high of the count, source, cursor, sends}; a message commits in place, by one store
 * into the valid record; every other flip fills the other record word by word, void meanwhile (low
 * 0), and makes it valid by its last store, sometimes with a new high part; the greater count is
 * the valid one. The undo area has the state's header and two words, copied one by one, and a tag.
 * The process is killed at any store, up to CR times, recovery at any of its own, any number of
 * times.
 *
 * A queue's batch of N messages for one actor, run by either of two workers, set aside in between.
 * Each message stores its number into both words of the state, one before and one behind its send;
 * the first has init run, which makes the header 1. A flush is not modelled: a record's sends are a
 * total (commit.pml has the flush).
 *
 * Shown: behind each recovery, and at the end, both words of the state, the cursor and the sends
 * are the same number, and the header says whether there has been an init.
 *
 * Mutants (each must fail):
 *   undo     UNDO_LATE (the state changes before the tag), UNDO_TAGFIRST (the tag before the copy),
 *            UNDO_NOCHECK (copied back whatever the tag is), UNDO_NOHEAD (without the header),
 *            UNDO_AFTER (recovery flips first)
 *   records  commit.F2: FILL_VALID (the valid record is filled), FILL_NOVOID (the other is not
 *            void meanwhile); commit.F1: TWO_WORDS (a message's cursor and its sends by two stores)
 *
 * States: CR=2 N=2 0.07 million.
 */
#ifndef N
#define N 2
#endif
#ifndef CR
#define CR 2
#endif
#define HALF 2 /* from this low part on the next flip begins a new high part */

/* durable: records [worker * 2 + which], the queue's own words, undo areas, the actor's state */
byte lo[4]; byte hi[4]; byte src[4]; byte cu[4]; byte se[4];
byte qcur; byte qsent;
byte utag[2]; byte uhead[2]; byte u0[2]; byte u1[2];
byte head; byte s0; byte s1;
/* world */
bool up = true; bool rested = true; byte crashes;

#define COUNT(r) (lo[r] == 0 -> 0 : hi[r]*8 + lo[r])
#define VALID(w) (COUNT((w)*2+1) > COUNT((w)*2) -> (w)*2+1 : (w)*2)
#define OTHER(r) ((r) % 2 == 0 -> (r)+1 : (r)-1)

#ifdef FILL_VALID
#define FILLED(v_) v_
#else
#define FILLED(v_) OTHER(v_)
#endif
#ifdef FILL_NOVOID
#define VOID(x_) skip
#else
#define VOID(x_) lo[x_] = 0
#endif
/* The form of all but messages. K: where recovery may be killed. */
#define FLIP(w_, src_, cu_, se_, K) \
  d_step { v = VALID(w_); nl = (lo[v] < HALF -> lo[v]+1 : 1); \
      nh = (lo[v] < HALF -> hi[v] : hi[v]+1); x = FILLED(v) }; \
  VOID(x); K; \
  hi[x] = nh; K; \
  src[x] = src_; K; \
  d_step { cu[x] = cu_; se[x] = se_; lo[x] = nl; v = 0; x = 0; nl = 0; nh = 0 }; K
inline commit_message(w_, cu_, se_) {
  x = VALID(w_);
#ifdef TWO_WORDS
  d_step { cu[x] = cu_; lo[x] = lo[x]+1 };
  se[x] = se_;
#else
  d_step { cu[x] = cu_; se[x] = se_; lo[x] = lo[x]+1 };
#endif
  x = 0
}

proctype executor() {
  byte me, c, o, v, x, nl, nh;
E0:
  {
  up;
end_loop:
  atomic { qcur < N -> rested = false; if :: me = 0 :: me = 1 fi };     /* takes it, or steals it */
  d_step { c = qcur; o = qsent };
  FLIP(me, 1, c, o, skip);                                              /* attach */
  do
  :: c < N ->
#ifdef UNDO_TAGFIRST
     utag[me] = COUNT(VALID(me));
#endif
     uhead[me] = head;
     u0[me] = s0;
     u1[me] = s1;
#if !defined(UNDO_TAGFIRST) && !defined(UNDO_LATE)
     utag[me] = COUNT(VALID(me));
#endif
     if
     :: head == 0 -> s0 = 0; s1 = 0; head = 1 /* zeroed, init, and then it is the actor's */
     :: else -> assert(s0 == c && s1 == c)
     fi;
     s0 = c+1;                                                          /* the handler */
#ifdef UNDO_LATE
     utag[me] = COUNT(VALID(me));
#endif
     o = o+1;
     s1 = c+1;
     c = c+1;
     commit_message(me, c, o);
     if :: true -> break :: true fi                                     /* the limit */
  :: else -> break
  od;
  qcur = c; /* park; the record rules until the flip */
  qsent = o;
  FLIP(me, 0, 0, 0, skip);
  atomic { me = 0; c = 0; o = 0; rested = true };
  goto end_loop
  } unless { !up };
  d_step { me = 0; c = 0; o = 0; v = 0; x = 0; nl = 0; nh = 0; rested = true };
  up;
  goto E0
}
proctype chaos() { end: do :: d_step { up && crashes < CR -> crashes++; up = false } od }
#define KILL if :: true -> goto again :: true fi
proctype recovery() {
  byte w, r, v, x, nl, nh; bit u, z;
end: !up && rested;
again:
  atomic { w = 0; r = 0; v = 0; x = 0; nl = 0; nh = 0; u = 0; z = 0 };
  do
  :: w < 2 ->
     d_step { r = VALID(w); u = (utag[w] == COUNT(r)); z = src[r] };
#ifdef UNDO_NOCHECK
     u = (utag[w] != 0);
#endif
#ifdef UNDO_AFTER
     if :: z -> qcur = cu[r]; KILL; qsent = se[r]; KILL; FLIP(w, 0, 0, 0, KILL) :: else fi;
     z = 0;
#endif
     if
     :: u ->
        s0 = u0[w]; KILL;
        s1 = u1[w]; KILL;
#ifndef UNDO_NOHEAD
        head = uhead[w]; KILL
#endif
     :: else
     fi;
     if :: z -> qcur = cu[r]; KILL; qsent = se[r]; KILL; FLIP(w, 0, 0, 0, KILL) :: else fi;
     w++
  :: else -> break
  od;
  w = 0;
  d_step {
    assert(qcur == qsent && head == (qcur > 0));
    assert(head == 0 || (s0 == qcur && s1 == qcur));
    r = 0; u = 0; z = 0; up = true };
  goto end
}
proctype watch() { timeout -> assert(qcur == N && qsent == N && s0 == N && s1 == N && head == 1 &&
    src[VALID(0)] == 0 && src[VALID(1)] == 0) }
init { atomic { lo[0] = 1; lo[2] = 1; run executor(); run chaos(); run recovery(); run watch() } }
