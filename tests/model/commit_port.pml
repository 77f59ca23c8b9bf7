/* SPDX-License-Identifier: Apache-2.0
 *
 * commit_port.pml - the commit protocol where a client's port is the source or the destination.
 *
 * Companion of commit.pml: same rules, same abstraction of the commit count
 * (docs/commit-protocol.md, "Ports as sources" and "Direct gulp"). The client is a process of its
 * own and survives every kill.
 *
 * Shown: a record the client posted reaches the actor once and in order, also by direct gulp; every
 * reply reaches the client once and in order; the visible head never leads the committed cursor;
 * after recovery the client is told of all room and all replies.
 *
 * Client -> X (queue q0) -> client. Source 0 = q0, source 1 = the port; destination 0 = q0,
 * destination 1 = the delivery ring. Durable, in the executor's own table: pcur (cursor in the
 * submission ring), dtail (tail of the delivery ring). In client memory, copies: phead, vtail.
 * Invariant: phead <= committed cursor, vtail <= dtail or the step is armed.
 *
 * Direct gulp: a single record becomes q0's batch by one flip, whose slot also names the port's
 * cursor behind it (sd; 0: no direct gulp). The port is given back before the batch runs, so the
 * other worker may take it, and move pcur on, while that slot is still the valid one. Whether a
 * single record goes directly or the long way is open, and so is which worker takes what: more than
 * the engine does, which goes directly only to queues of its own. Not here: the port's generation
 * (the port is never closed), batches in two pieces.
 *
 * Mutants (each must fail):
 *   direct gulp         DIRECT_NONEMPTY (the queue is not looked at), DIRECT_OUTBOX (with this
 *                       port's records still in the outbox),
 *                       DIRECT_EARLY (batch bit before the flip), DIRECT_LATE (pcur behind the
 *                       port's own word)
 *   its recovery        DIRECT_PCUR (the slot's cursor, not the greater one), DIRECT_NOBATCH (the
 *                       batch bit is not set)
 *   the port as source  HEAD_EARLY, and in recovery R_NOVTAIL (deliver.D3) R_NOHEAD; the two rings'
 *                       words are port_layout.P1 and port_layout.P3
 * N=2 for DIRECT_NONEMPTY DIRECT_OUTBOX DIRECT_PCUR. The ones of commit.pml are not repeated here.
 *
 * States: CR=1 N=1 0.2 million, CR=1 N=2 5.0 million, CR=2 N=2 13.9 million, CR=1 N=3 53.8 million.
 */
#ifndef W
#define W 2
#endif
#ifndef N
#define N 3
#endif
#ifndef CR
#define CR 1
#endif
#define R 2
#define OC 6
#define CAP 4
#define ACT act
#define INA (1-act)
#define B(h,i) buf[(h)*CAP + (i)]
#define DQ(v) ((v) >> 3) /* record = pair*8 + seq; pair 0: to X, pair 1: to the client */
byte lock[2]; bit act; bit bat; byte ln[2]; byte cur; byte buf[2*CAP];
byte pcur; byte dtail; byte st;
bit idx[W]; byte sq[W*2]; byte sc[W*2]; byte sl[W*2]; byte so[W*2]; byte sd[W*2];
byte ob[W*OC]; byte jd[W*2]; byte jn[W*2]; byte jstep[W]; bit jok[W]; byte uv[W]; bit uok[W];
byte own[2];
/* client-visible memory and the client's own state */
byte ring[R]; byte phead; byte ptail; byte dl[N+1]; byte vtail; byte got;
bool up = true; bool rst[W]; byte crashes;

inline fill(w, Q_, C_, T_, O_, D_) { d_step { x = w*2 + 1 - idx[w]; sq[x] = Q_; sc[x] = C_;
    sl[x] = T_; so[x] = O_; sd[x] = D_; x = 0 } }
inline flip(w) { d_step {
  x = w*2 + idx[w]; sq[x] = 0; sc[x] = 0; sl[x] = 0; so[x] = 0; sd[x] = 0;
  idx[w] = 1 - idx[w]; jok[w] = 0; jstep[w] = 0; jd[w*2] = 0; jd[w*2+1] = 0; jn[w*2] = 0;
      jn[w*2+1] = 0; uok[w] = 0; uv[w] = 0;
  x = w*2 + idx[w]; i = so[x]; do :: i < OC -> ob[w*OC+i] = 0; i++ :: else -> break od; i = 0;
      x = 0 } }
inline commit(w, Q_, C_, T_, O_) { fill(w, Q_, C_, T_, O_, 0); flip(w) }
inline nth(w, o_, s_, d_) { d_step { x = 0; b = 0; i = 0; d_ = 255;
  do :: i < o_ -> assert(ob[w*OC+i] != 0);
        if :: ((x >> DQ(ob[w*OC+i])) & 1) == 0 -> b++; x = x | (1 << DQ(ob[w*OC+i]));
              if :: b == s_ -> d_ = DQ(ob[w*OC+i]) :: else fi
           :: else fi; i++
     :: else -> break od; x = 0; b = 0; i = 0 } }
inline copygroup(w, o_, d_, nl_) { d_step { i = 0; nl_ = (d_ == 0 -> ln[ACT] : dtail);
  do :: i < o_ -> if :: DQ(ob[w*OC+i]) == d_ ->
                        if :: d_ == 0 -> assert(nl_ < CAP); B(ACT, nl_) = ob[w*OC+i]
                           :: else -> assert(nl_ <= N); dl[nl_] = ob[w*OC+i] fi; nl_++ :: else fi;
                               i++
     :: else -> break od; i = 0 } }
inline flush(o_) {
  s = 1;
  do
  :: nth(me, o_, s, d);
     if :: d == 255 -> break :: else fi;
     atomic { lock[d] == 0 -> lock[d] = me+1 };
     copygroup(me, o_, d, nl);
     d_step { jd[me*2+(s&1)] = d; jn[me*2+(s&1)] = nl };
     d_step { jstep[me] = s; jok[me] = 1 };
     if :: d == 0 -> ln[ACT] = nl
        :: else -> dtail = nl; vtail = nl
     fi;
     d_step { lock[d] = 0; s++; d = 0; nl = 0 }
  od; s = 0; d = 0
}
inline handler() {
  d_step { assert(m != 0 && (m >> 3) == 0 && own[0] == me+1); assert((m & 7) == st + 1);
      uv[me] = st };
  uok[me] = 1;
  st = m;
  d_step { assert(o < OC); ob[me*OC+o] = 8 + m; o++; m = 0; c++ }
}
/* The record at the port's cursor c, the last one, becomes the batch of q0, whose own word is ours;
 * behind it q0 is run, c and t its. */
inline take_directly() {
  d_step { B(INA, 0) = ring[c % R]; assert(B(INA, 0) != 0) };
#ifdef DIRECT_EARLY
  d_step { ln[INA] = 1; cur = 0; bat = 1 };
#endif
  fill(me, 1, 0, 1, o, c + 1); flip(me);
#ifndef DIRECT_EARLY
  ln[INA] = 1; cur = 0; bat = 1;
#endif
#ifdef DIRECT_LATE
  own[1] = 0; pcur = c + 1; phead = c + 1;
#else
  pcur = c + 1; phead = c + 1; own[1] = 0;
#endif
  q = 0
}
#define WORK0 (bat || ln[ACT] > 0)
#define WORK1 (pcur < ptail)
proctype worker(byte me) {
  byte q, c, t, o, m, i, x, s, d, b, nl;
W0:
  {
  up;
end_loop:
  atomic { if :: own[0] == 0 && WORK0 -> q = 0 :: own[1] == 0 && WORK1 -> q = 1 fi; own[q] = me+1;
      rst[me] = false };
  if
  :: q == 1 ->
     d_step { c = pcur; t = ptail };
     if
     /* take the queue, then look whether it is empty */
     :: atomic { t - c == 1 && own[0] == 0 -> own[0] = me+1 };
        if
#ifdef DIRECT_NONEMPTY
        :: true -> take_directly()
#else
        :: !WORK0 -> take_directly()
        :: else -> own[0] = 0
#endif
        fi
     :: true
     fi
  :: else
  fi;
attach:
  if
  :: q == 1
  :: else ->
     if :: !bat -> atomic { lock[0] == 0 -> lock[0] = me+1 };
         d_step { assert(ln[INA] == 0 && cur == 0); act = 1-act; bat = 1 }; lock[0] = 0
        :: else fi;
     d_step { c = cur; t = ln[INA] }
  fi;
  commit(me, q+1, c, t, o); /* o: not 0 in DIRECT_OUTBOX alone */
  do
  :: c < t ->
     if
     :: q == 0 -> m = B(INA, c); handler(); commit(me, q+1, c, t, o)
     :: else ->
#ifdef DIRECT_OUTBOX
        if
        :: atomic { o > 0 && t - c == 1 && own[0] == 0 -> own[0] = me+1 };
           if :: !WORK0 -> take_directly(); goto attach :: else -> own[0] = 0 fi
        :: true
        fi;
#endif
        /* route: beyond the committed length */
        d_step { assert(ring[c % R] != 0 && o < OC); ob[me*OC+o] = ring[c % R]; o++; c++ };
#ifdef HEAD_EARLY
        phead = c;
#endif
        if :: true -> commit(me, q+1, c, t, o); if :: phead = c :: true fi
           :: c < t
        fi
     fi;
     if
     :: o > 0 && so[me*2+idx[me]] == o && c < t -> flush(o); commit(me, q+1, c, t, 0); o = 0
     :: true
     fi;
     if :: c < t && so[me*2+idx[me]] == o -> break :: true fi
  :: c >= t -> break
  od;
  flush(o);
  if
  :: q == 0 && c == t ->
     d_step { i = 0; do :: i < CAP -> B(INA, i) = 0; i++ :: else -> break od; i = 0; ln[INA] = 0 };
     cur = 0; bat = 0
  :: q == 0 && c < t -> ln[INA] = t; cur = c
  :: q == 1 -> pcur = c
  fi;
  commit(me, 0, 0, 0, 0);
  if :: q == 1 -> phead = c :: else fi;
  own[q] = 0;
  atomic { q = 0; c = 0; t = 0; o = 0; rst[me] = true };
  goto end_loop
  } unless { !up };
  d_step { q = 0; c = 0; t = 0; o = 0; m = 0; i = 0; x = 0; s = 0; d = 0; b = 0; nl = 0;
      rst[me] = true };
  up;
  goto W0
}
proctype client() {
  byte n = 1;
end: do
     :: n <= N && ptail - phead < R -> d_step { ring[ptail % R] = n; n++ }; ptail++
     :: got < vtail -> d_step { assert(dl[got] == 8 + got + 1); got++ }
     od
}
proctype chaos() { end: do :: d_step { up && crashes < CR -> crashes++; up = false; own[0] = 0;
    own[1] = 0 } od }
#define KILL if :: true -> goto again :: true fi
proctype recovery() {
  byte w, s, d, b, nl, x, i, y;
end: !up && rst[0] && rst[W-1];
again:
  atomic { w = 0; s = 0; d = 0; b = 0; nl = 0; x = 0; i = 0; y = 0 };
  do
  :: w < W ->
     d = jd[w*2+(jstep[w]&1)]; nl = jn[w*2+(jstep[w]&1)];
     if :: jok[w] && lock[d] == w+1 ->
           if :: d == 0 -> ln[ACT] = nl
              :: else -> dtail = nl; KILL
#ifndef R_NOVTAIL
                 ; vtail = nl
#endif
           fi; KILL;
           lock[d] = 0; KILL
        :: else fi;
     w++
  :: else -> break
  od;
  w = 0; d = 0; nl = 0;
  do :: w < 2 -> if :: lock[w] != 0 -> lock[w] = 0; KILL :: else fi; w++ :: else -> break od;
  w = 0;
  do
  :: w < W ->
     y = w*2 + idx[w];
     if :: uok[w] -> st = uv[w]; KILL :: else fi;
     s = (jok[w] -> jstep[w] + 1 : 1);
     do
     :: nth(w, so[y], s, d);
        if :: d == 255 -> break :: else fi;
        lock[d] = w+1; KILL;
        copygroup(w, so[y], d, nl);
        d_step { jd[w*2+(s&1)] = d; jn[w*2+(s&1)] = nl }; KILL;
        d_step { jstep[w] = s; jok[w] = 1 }; KILL;
        if :: d == 0 -> ln[ACT] = nl :: else -> dtail = nl; KILL; vtail = nl fi; KILL;
        lock[d] = 0; KILL;
        s++
     od;
     d = 0; nl = 0; s = 0;
     if
     :: sd[y] != 0 ->
#ifdef DIRECT_PCUR
        pcur = sd[y]; KILL;
#else
        if :: sd[y] > pcur -> pcur = sd[y]; KILL :: else fi;
#endif
#ifndef DIRECT_NOBATCH
        if :: !bat -> ln[INA] = sl[y]; KILL; cur = 0; KILL; bat = 1; KILL :: else fi
#endif
     :: else
     fi;
     if
     :: sq[y] == 1 && bat -> ln[INA] = sl[y]; KILL; cur = sc[y]; KILL
     :: sq[y] == 2 -> pcur = sc[y]; KILL
     :: else
     fi;
     fill(w, 0, 0, 0, 0, 0); KILL;
     flip(w); KILL;
     w++
  :: else -> break
  od;
#ifndef R_NOHEAD
  /* every port, attached or not: the client may be waiting for room */
  assert(phead <= pcur); phead = pcur; KILL;
#endif
  w = 0;
  d_step {
    do :: w < 2 -> i = ln[w]; do :: i < CAP -> B(w, i) = 0; i++ :: else -> break od;
        w++ :: else -> break od;
    i = dtail; do :: i <= N -> dl[i] = 0; i++ :: else -> break od;
    assert(lock[0] == 0 && lock[1] == 0 && (bat || (cur == 0 && ln[INA] == 0)) && vtail == dtail);
    w = 0; i = 0; y = 0; x = 0; up = true };
  goto end
}
proctype watch() { timeout -> assert(got == N && st == N && ptail == N && phead == N && pcur == N &&
    dtail == N && !bat && ln[0] == 0 && ln[1] == 0) }
init { byte i; atomic { i = 0; do :: i < W -> rst[i] = true; run worker(i);
    i++ :: else -> break od; i = 0;
  run client(); run chaos(); run recovery(); run watch() } }
