/* SPDX-License-Identifier: Apache-2.0
 *
 * commit.pml - a message takes effect once, whatever instruction the process is killed at.
 *
 * The protocol of docs/commit-protocol.md for queues: flush with journal, gulp, attach, run and
 * commit, tail append, park, release, steal, undo, redo, spawn, and recovery. The whole process is
 * killed at any store, up to CR times; recovery is killed at any of its own stores, any number of
 * times.
 *
 * Shown: every receiver takes every sender's records once, in order, none missing; no step of
 * recovery is relied on to run only once; at the end all queues are empty, all locks free, the
 * spawned actor exists and the ended one has ended.
 *
 * Durable   lock, sel = {act, bat}, len[2], cur, records; per worker two commit slots {queue,
 *           cursor, tail, out, redo} and the commit count (its low bit says which slot is valid),
 *           outbox, journal = two entries {destination, new length} and one arm word {count, step},
 *           undo area with its tag; actor slot {state, tag}, generation, state st[].
 * Volatile  own words, workers' locals.
 * The 64-bit count is abstracted: "tag equals the committed count" is one bit (jok, uok, sok), set
 * with the tag, cleared by every flip. A record is pair*8 + seq, and st[pair] is the receiver's
 * durable state, the last seq it took from that sender: the one assertion seq == st + 1 is order,
 * no loss and no repetition together. What a flip or a release makes unreachable is zeroed, and
 * reading a zero record is an error.
 *
 * CFG 0     q0: X, Z   q1: Y         X -> Y, X -> Z (own queue: tail append or active buffer), Y ->
 *           Z
 * CFG 1     q0: X  q1: Y  q2: Z      X -> Y, X -> Z, Y -> Z (two workers flush into q2)
 * CFG 2     q0: X, Z  q1: Y  q2: V   X -> Y, X -> Z, X -> V, Y -> V (three steps in one flush, own
 *           queue among them) X's first message spawns Z, Y's last message ends Y. N messages for
 *           X, CR kills of the running process, W workers.
 *
 * Mutants (-DNAME, each must fail), named like the rules in docs/commit-protocol.md sections 3 and
 * 4:
 *   flush     J_AFTER J_TORN J_NOTAG J_BEFORECOPY J_DISARM OUT_REUSE DEST_LATE FLIP_NOLOCK
 *   commit    TWO_WORDS CUR_FIRST UNDO_LATE UNDO_NOCHECK UNDO_CURTAG REDO_BLIND SLOT_NOTAG
 *       TAIL_RESUMED TAIL_REOPEN TAIL_FORGOT TAIL_CRASH
 *   release   REL_FLUSH DETACH_FIRST OWN_EARLY LEN_LATE STEAL_RUNNING
 *   recovery  R_LOCKFIRST R_ONEPASS R_LENCMP R_NOLOCK R_FLIPEARLY
 * Five of them need N=2 to show: REL_FLUSH, and those of the tail.
 * Rules of header files that these break: turn.U1 (TWO_WORDS), segment_layout.L3 (CUR_FIRST),
 * segment_layout.L4 (J_NOTAG UNDO_NOCHECK UNDO_CURTAG SLOT_NOTAG), recover.V2 (R_LOCKFIRST
 * R_ONEPASS); that recovery is killed at any of its own stores is recover.V1.
 *
 * States: CR=1 N=1 1.2 million, CR=2 N=1 5 million, CR=0 N=2 4.5 million, CR=1 N=2 65 million; N=1
 * CFG=1 1.4, CFG=2 9 million.
 */
#ifndef W
#define W 2
#endif
#ifndef N
#define N 2
#endif
#ifndef CR
#define CR 1
#endif
#ifndef CFG
#define CFG 0
#endif
#define OC 6
#define CAP 6
#if CFG==0
#define Q 2
#define P 4
#ifdef DEST_LATE /* destination looked up at flush: Y's records go elsewhere once Y has ended */
#define DQ(p) ((p) == 1 && !gen -> 1 : 0)
#else
#define DQ(p) ((p) == 1 -> 1 : 0)
#endif
#define DY 3
#endif
#if CFG==1
#define Q 3
#define P 4
#define DQ(p) ((p) == 0 -> 0 : ((p) == 1 -> 1 : 2))
#define DY 3
#endif
#if CFG==2
#define Q 3
#define P 5
#define DQ(p) ((p) == 1 -> 1 : ((p) >= 3 -> 2 : 0))
#define DY 4
#endif
#define ACT(q) ((q)*2 + act[q])
#define INA(q) ((q)*2 + 1 - act[q])
#define B(h,i) buf[(h)*CAP + (i)]

/* durable */
byte lock[Q]; bit act[Q]; bit bat[Q]; byte ln[Q*2]; byte cur[Q]; byte buf[Q*2*CAP];
bit idx[W]; byte sq[W*2]; byte sc[W*2]; byte sl[W*2]; byte so[W*2]; bit sr[W*2];
byte ob[W*OC]; byte jd[W*2]; byte jn[W*2]; byte jstep[W]; bit jok[W];
byte up_[W]; byte uv[W]; bit uok[W];
#ifdef UNDO_CURTAG
byte utq[W]; byte utc[W];
#endif
byte st[P]; bit slot; bit sok[W]; byte gen;
/* volatile */
byte own[Q];
bit tf[Q]; /* volatile: nothing that its own actors have sent is in the active buffer */
/* world */
bool up = true; bool rst[W]; byte crashes;

#if defined(UNDO_NOCHECK) || defined(UNDO_CURTAG)
#define UCLR(w) skip
#else
#define UCLR(w) uok[w] = 0; up_[w] = 0; uv[w] = 0
#endif
#ifdef J_NOTAG
#define JCLR(w) skip
#else
#define JCLR(w) jok[w] = 0; jstep[w] = 0; jd[w*2] = 0; jd[w*2+1] = 0; jn[w*2] = 0; jn[w*2+1] = 0
#endif
#ifdef SLOT_NOTAG                               /* "reserved" until the init message has run */
#define SCLR(w) skip
#define INITRUN if :: m == 17 -> sok[0] = 0; sok[1] = 0 :: else fi
#else
#define SCLR(w) sok[w] = 0
#define INITRUN skip
#endif
#ifdef J_TORN
#define JE(s) 0
#else
#define JE(s) ((s) & 1)
#endif

inline fill(w, Q_, C_, T_, O_, R_) { d_step {
  x = w*2 + 1 - idx[w]; sq[x] = Q_; sc[x] = C_; sl[x] = T_; so[x] = O_; sr[x] = R_; x = 0 } }
inline flip(w) { d_step {                      /* ONE store: count + 1 */
  /* the old slot: unreachable now */
  x = w*2 + idx[w]; sq[x] = 0; sc[x] = 0; sl[x] = 0; so[x] = 0; sr[x] = 0;
  idx[w] = 1 - idx[w]; JCLR(w); UCLR(w); SCLR(w);
  x = w*2 + idx[w];
  i = so[x]; do :: i < OC -> ob[w*OC+i] = 0; i++ :: else -> break od; i = 0; x = 0 } }
inline commit(w, Q_, C_, T_, O_, R_) {
#ifdef TWO_WORDS /* no slots: cursor and outbox length stored one after the other */
  d_step { x = w*2 + idx[w]; sq[x] = Q_; sc[x] = C_; sl[x] = T_; sr[x] = R_ };
  d_step { so[x] = O_; JCLR(w); UCLR(w); SCLR(w); i = O_; do :: i < OC -> ob[w*OC+i] = 0;
      i++ :: else -> break od; i = 0; x = 0 }
#else
  fill(w, Q_, C_, T_, O_, R_); flip(w)
#endif
}
/* s-th destination of the log in order of first touch, 255 = none */
inline nth(w, o_, s_, d_) { d_step { x = 0; b = 0; i = 0; d_ = 255;
  do :: i < o_ -> assert(ob[w*OC+i] != 0);
        if :: ((x >> DQ(ob[w*OC+i] >> 3)) & 1) == 0 ->
              b++; x = x | (1 << DQ(ob[w*OC+i] >> 3));
              if :: b == s_ -> d_ = DQ(ob[w*OC+i] >> 3) :: else fi
           :: else fi; i++
     :: else -> break od; x = 0; b = 0; i = 0 } }
inline copygroup(w, o_, d_, nl_) { d_step { nl_ = ln[ACT(d_)]; i = 0;
  do :: i < o_ -> if :: DQ(ob[w*OC+i] >> 3) == d_ -> assert(nl_ < CAP);
      B(ACT(d_), nl_) = ob[w*OC+i]; nl_++ :: else fi; i++
     :: else -> break od; i = 0 } }

inline flush(o_) {
  s = 1;
  do
  :: nth(me, o_, s, d);
     if :: d == 255 -> break :: else fi;
     atomic { lock[d] == 0 -> lock[d] = me+1 };
#ifdef J_BEFORECOPY /* lock, arm, copy, publish: recovery rolls forward what was not copied */
     d_step { i = 0; nl = ln[ACT(d)]; do :: i < o_ -> if :: DQ(ob[me*OC+i] >> 3) == d ->
         nl++ :: else fi; i++ :: else -> break od; i = 0;
       jd[me*2+JE(s)] = d; jn[me*2+JE(s)] = nl };
     d_step { jstep[me] = s; jok[me] = 1 };
#endif
     copygroup(me, o_, d, nl);
#ifdef J_AFTER
     ln[ACT(d)] = nl;
     d_step { jd[me*2+JE(s)] = d; jn[me*2+JE(s)] = nl; jstep[me] = s; jok[me] = 1 };
#else
     jd[me*2+JE(s)] = d;
     jn[me*2+JE(s)] = nl;
     d_step { jstep[me] = s; jok[me] = 1 };    /* arm: one store */
     ln[ACT(d)] = nl;                         /* publish */
#endif
#ifdef J_DISARM /* disarmed before the unlock: recovery cannot tell how far the flush was */
     d_step { jok[me] = 0; jstep[me] = 0 };
#endif
     d_step { lock[d] = 0; s++; d = 0; nl = 0 }
  od; s = 0; d = 0
}
inline send(p_) {
  if
  :: atomic { DQ(p_) == q &&
     /* tail append: beyond the committed tail */
     !tc -> assert(t < CAP); B(INA(q), t) = p_*8 + (m & 7); t++ }
  :: atomic { else -> assert(o < OC); ob[me*OC+o] = p_*8 + (m & 7); o++;
#ifndef TAIL_REOPEN
     tc = tc | (DQ(p_) == q)
#endif
     }
  :: atomic { DQ(p_) == q && !tc -> /* does not fit into the cache limit */
     assert(o < OC); ob[me*OC+o] = p_*8 + (m & 7); o++;
#ifndef TAIL_REOPEN
     tc = 1
#endif
     }
  fi
}
#define HASWORK(q) (bat[q] || ln[ACT(q)] > 0)
#ifdef STEAL_RUNNING
#define FREE(q) (own[q] != me+1)
#else
#define FREE(q) (own[q] == 0)
#endif

proctype worker(byte me) {
  byte q, c, t, o, m, i, x, s, d, b, nl; bool tc; bit r, gu;
W0:
  {
  up;
end_loop:
  atomic {                                     /* take or steal: one CAS (idle -> me, running) */
    if :: FREE(0) && HASWORK(0) -> q = 0
       :: FREE(1) && HASWORK(1) -> q = 1
#if Q==3
       :: FREE(2) && HASWORK(2) -> q = 2
#endif
    fi; own[q] = me+1; rst[me] = false };
  if
  :: !bat[q] ->
#ifndef FLIP_NOLOCK
     atomic { lock[q] == 0 -> lock[q] = me+1 };
#endif
     d_step { assert(ln[INA(q)] == 0 && cur[q] == 0); act[q] = 1 - act[q]; bat[q] = 1 };
     d_step { lock[q] = 0; gu = 1 }
  :: else
  fi;
  /* what the queue's own actors have sent to it may be in the active buffer: a parked batch */
  d_step { c = cur[q]; t = ln[INA(q)]; o = 0; tf[q] = tf[q] | gu;
#ifdef TAIL_RESUMED
           tc = 0;
#else
           tc = !tf[q] && ln[ACT(q)] > 0;
#endif
           gu = 0 };
  commit(me, q+1, c, t, 0, 0);                 /* attach */
  do
  :: c < t ->
     d_step { m = B(INA(q), c); assert(m != 0); assert(own[q] == me+1);
         assert((m & 7) == st[m>>3] + 1);
       if :: (m >> 3) == 2 || (m >> 3) == 3 && CFG < 2 -> assert(slot == 1) :: else fi; INITRUN };
#ifdef UNDO_LATE
     st[m>>3] = (m & 7);
     d_step { up_[me] = (m >> 3) + 1; uv[me] = (m & 7) - 1; uok[me] = 1 };
#else
     /* copy to the undo area (its tag is old: not valid) */
     d_step { up_[me] = (m >> 3) + 1; uv[me] = st[m>>3] };
     d_step { uok[me] = 1; /* arm: tag = committed count */
#ifdef UNDO_CURTAG
       utq[me] = q; utc[me] = c
#endif
     };
     st[m>>3] = (m & 7); /* the handler changes its state ... */
#endif
     r = 0;
     if
     :: (m >> 3) == 0 ->
        /* ... spawns ... */
        if :: (m & 7) == 1 -> d_step { assert(slot == 0); slot = 1; sok[me] = 1 } :: else fi;
        send(1); send(2);                                              /* ... and sends */
#if CFG==2
        send(3);
#endif
     :: (m >> 3) == 1 -> send(DY); r = ((m & 7) == N)
     :: else
     fi;
#ifdef CUR_FIRST
     cur[q] = c+1;
#endif
     d_step { c++; m = 0 };
     commit(me, q+1, c, t, o, r);
     if :: r -> d_step { /* redo: after its flip, before the next one */
#ifdef REDO_BLIND
               gen++; r = 0
#else
               if :: gen == 0 -> gen = 1 :: else fi; r = 0
#endif
               }
        :: else fi;
     if
     :: o > 0 && c < t -> /* flush at a message boundary */
        flush(o);
#ifdef OUT_REUSE
        d_step { i = 0; do :: i < OC -> ob[me*OC+i] = 0; i++ :: else -> break od; i = 0; o = 0 }
#else
        commit(me, q+1, c, t, 0, 0); o = 0 /* reset: a flip; only then may the outbox be reused */
#endif
     :: true
     fi;
     if :: c < t -> goto park :: true fi
  :: c >= t -> break
  od;
  /* release: batch done */
#ifndef TAIL_FORGOT
  tf[q] = tf[q] & !tc;
#endif
#ifdef REL_FLUSH
  ln[INA(q)] = 0; cur[q] = 0; bat[q] = 0;
  commit(me, 0, 0, 0, o, 0); own[q] = 0; flush(o); commit(me, 0, 0, 0, 0, 0);
#else
  flush(o);
#ifdef LEN_LATE
  cur[q] = 0; bat[q] = 0; ln[INA(q)] = 0;
#else
  d_step { i = 0; do :: i < CAP -> B(INA(q), i) = 0; i++ :: else -> break od; i = 0;
      ln[INA(q)] = 0 };
  cur[q] = 0;
  bat[q] = 0;
#endif
#ifdef OWN_EARLY
  own[q] = 0; commit(me, 0, 0, 0, 0, 0);
#else
  commit(me, 0, 0, 0, 0, 0);                   /* detach, and reset of the outbox, in one flip */
  own[q] = 0;
#endif
#endif
  goto next;
park:
#ifndef TAIL_FORGOT
  tf[q] = tf[q] & !tc;
#endif
#ifdef REL_FLUSH
  ln[INA(q)] = t; cur[q] = c;
  commit(me, 0, 0, 0, o, 0); own[q] = 0; flush(o); commit(me, 0, 0, 0, 0, 0);
#else
  flush(o);
#ifdef DETACH_FIRST
  commit(me, 0, 0, 0, 0, 0);
  ln[INA(q)] = t; cur[q] = c;
#else
  ln[INA(q)] = t;
  cur[q] = c;
#ifdef OWN_EARLY
  own[q] = 0;
#endif
  commit(me, 0, 0, 0, 0, 0);
#endif
#ifndef OWN_EARLY
  own[q] = 0;
#endif
#endif
next:
  atomic { q = 0; c = 0; t = 0; o = 0; tc = 0; rst[me] = true };
  goto end_loop
  } unless { !up };
  d_step { q = 0; c = 0; t = 0; o = 0; m = 0; i = 0; x = 0; s = 0; d = 0; b = 0; nl = 0; tc = 0;
      r = 0; rst[me] = true };
  up;
  goto W0
}
proctype chaos() {
end: do :: d_step { up && crashes < CR -> crashes++; up = false; own[0] = 0; own[1] = 0;
#ifndef TAIL_CRASH
       tf[0] = 0; tf[1] = 0;
#if Q==3
       tf[2] = 0;
#endif
#endif
#if Q==3
       own[2] = 0
#endif
       } od
}
#define KILL if :: true -> goto again :: true fi
proctype recovery() {
  byte w, q, s, d, b, nl, x, i, y;
end: !up && rst[0] && rst[W-1];
again:
  atomic { w = 0; q = 0; s = 0; d = 0; b = 0; nl = 0; x = 0; i = 0; y = 0 };
#ifdef R_LOCKFIRST
  do :: q < Q -> lock[q] = 0; KILL; q++ :: else -> break od; q = 0;
#endif
#ifndef R_ONEPASS
  /* 1. every interrupted append of a flush: rolled forward, while the lock word still says whose it
   *    is */
  do
  :: w < W ->
     d = jd[w*2+JE(jstep[w])];
#ifdef R_LENCMP /* published or not by comparing len with the journal; no lock owner */
     if :: jok[w] && ln[ACT(d)] < jn[w*2+JE(jstep[w])] -> ln[ACT(d)] = jn[w*2+JE(jstep[w])];
         KILL :: else fi;
#else
     if :: jok[w] && lock[d] == w+1 ->
           ln[ACT(d)] = jn[w*2+JE(jstep[w])]; KILL;
           lock[d] = 0; KILL
        :: else fi;
#endif
     w++
  :: else -> break
  od;
  /* 2. all other locks */
  do :: q < Q -> if :: lock[q] != 0 -> lock[q] = 0; KILL :: else fi; q++ :: else -> break od;
#endif
  /* 3. worker by worker */
  atomic { w = 0; q = 0; d = 0 };
  do
  :: w < W ->
     y = w*2 + idx[w];
#ifdef R_ONEPASS
     d = jd[w*2+JE(jstep[w])];
     if :: jok[w] && lock[d] == w+1 -> ln[ACT(d)] = jn[w*2+JE(jstep[w])]; KILL; lock[d] = 0;
         KILL :: else fi;
#endif
     if
#ifdef UNDO_NOCHECK
     :: up_[w] != 0 -> st[up_[w]-1] = uv[w]; KILL
#else
#ifdef UNDO_CURTAG
     :: uok[w] && sq[y] == utq[w]+1 && sc[y] == utc[w] -> st[up_[w]-1] = uv[w]; KILL
#else
     :: uok[w] -> st[up_[w]-1] = uv[w]; KILL
#endif
#endif
     :: else
     fi;
     if :: slot && sok[w] -> slot = 0; KILL :: else fi;
#ifdef REDO_BLIND
     if :: sr[y] -> gen++; KILL :: else fi;
#else
     if :: sr[y] && gen == 0 -> gen = 1; KILL :: else fi;
#endif
     /* the rest of the flush, by the ordinary step, in the worker's name */
     s = (jok[w] -> jstep[w] + 1 : 1);
     do
     :: nth(w, so[y], s, d);
        if :: d == 255 -> break :: else fi;
#ifdef R_ONEPASS
        lock[d] = w+1; KILL;
#else
#ifndef R_NOLOCK
        assert(lock[d] == 0); lock[d] = w+1; KILL;
#endif
#endif
        copygroup(w, so[y], d, nl);
        jd[w*2+JE(s)] = d; KILL;
        jn[w*2+JE(s)] = nl; KILL;
        d_step { jstep[w] = s; jok[w] = 1 }; KILL;
        ln[ACT(d)] = nl; KILL;
        lock[d] = 0; KILL;
        s++
     od;
     d = 0; nl = 0; s = 0;
#ifdef R_FLIPEARLY                             /* detach before the queue has its cursor */
     q = sq[y]; x = sc[y]; b = sl[y]; d_step { s = x; nl = b };
     fill(w, 0, 0, 0, 0, 0); flip(w); KILL;
     if :: q > 0 && bat[q-1] -> ln[INA(q-1)] = nl; KILL; cur[q-1] = s; KILL :: else fi;
#else
     if
     :: sq[y] > 0 && bat[sq[y]-1] ->
        q = sq[y] - 1;
        ln[INA(q)] = sl[y]; KILL;
#ifdef CUR_FIRST
        if :: cur[q] < sc[y] -> cur[q] = sc[y] :: else fi; KILL
#else
        cur[q] = sc[y]; KILL
#endif
     :: else
     fi;
     fill(w, 0, 0, 0, 0, 0); KILL;
     flip(w); KILL;
#endif
     d_step { q = 0; s = 0; nl = 0; w++ }
  :: else -> break
  od;
#ifdef R_ONEPASS
  q = 0; do :: q < Q -> lock[q] = 0; KILL; q++ :: else -> break od;
#endif
  w = 0;
  d_step { /* bytes beyond a len are garbage (ghost: zero them) */
    w = 0;
    do :: w < Q*2 -> i = ln[w]; do :: i < CAP -> B(w, i) = 0; i++ :: else -> break od;
        w++ :: else -> break od;
    q = 0; do :: q < Q -> assert(lock[q] == 0); assert(bat[q] || (cur[q] == 0 && ln[INA(q)] == 0));
        q++ :: else -> break od;
    w = 0; q = 0; i = 0; y = 0; x = 0; b = 0; up = true };
  goto end
}
proctype watch() {
  byte i;
  timeout ->
  d_step {
    i = 0; do :: i < P -> assert(st[i] == N); i++ :: else -> break od;
    i = 0; do :: i < Q -> assert(!bat[i] && lock[i] == 0 && cur[i] == 0 && ln[i*2] == 0 &&
        ln[i*2+1] == 0 && own[i] == 0); i++ :: else -> break od;
    assert(slot == 1 && gen == 1) }
}
init {
  byte i;
  atomic {
    i = 0; do :: i < W -> rst[i] = true; run worker(i); i++ :: else -> break od;
    i = 0;
    if /* seeds 1..N for X: all in the active buffer, or the first one gulped already */
    :: do :: i < N -> B(0, i) = i+1; ln[0] = i+1; i++ :: else -> break od
    :: act[0] = 1; bat[0] = 1; B(0, 0) = 1; ln[0] = 1; i = 1;
       do :: i < N -> B(1, i-1) = i+1; ln[1] = i; i++ :: else -> break od
    fi;
    i = 0; run chaos(); run recovery(); run watch() }
}
