/* SPDX-License-Identifier: Apache-2.0
 *
 * reconfigure.pml - workers come and go while messages flow: the pause, the redrawing of ownership,
 * and those whom the pause does not stop.
 *
 * Queues are counters here, looks at masks are single steps (gulp_steal_park.pml has them in
 * detail). R reconfigures, workers run, search, park; D is a detached thread, or anybody else
 * outside the pause, that appends at any time.
 *
 * Shown, whenever everything that can move has stopped: R has come to its end (completed, or taken
 * back: because a handler hung, or early); nothing is pending but in the source of a handler that
 * never returns; a queue is run by one worker at a time, and only by one that is active; nobody is
 * counted as searcher. At full stop: nobody runs, sleeps, or has a token under way.
 *
 * THE RULES (docs/models.md tells them in prose; a name in brackets is a mutant -DNAME that must
 * fail)
 *
 *   pause        even: run; odd: the epoch of a wanted pause.  Written by R alone.
 *   worker       at the top of its loop, holding nothing: p = pause; odd: pat[me] = p; wait until
 *       pause != p (barrier.G2); pat[me] = p + 1; id >= n: the thread ends.
 *   park         sleepers bit; FENCE; mask not empty, or pause odd: claim it back, or wait for the
 *       token [PARK_PAUSE].
 *   reconfigure.R1           the new threads, told the number p of the coming pause: they begin by
 *                standing at it, until it is over or taken back [NEW_EARLY: they begin at the top;
 *                NEW_LOOKS: made behind pause = p, they look themselves: one that comes after the
 *                pause was taken back runs, and never ends]. Then pause = p (odd), FENCE.
 *   reconfigure.R2           claim each sleeper; won: write its eventfd [WAKE_PARKED]; never
 *       without the claim [WAKE_UNCLAIMED].
 *   reconfigure.R3           wait until pat == p for all [STALE_JOIN: a counter instead of epochs].
 *        Too long: pause = p + 1; new threads end. That is all.
 *   reconfigure.R4           full stop: nobody is a searcher, searching = 0 [RESET_SEARCH: not
 *       recomputed though a searcher's thread ends].
 *   reconfigure.R6           own words of queues whose home changed or whose owner goes: ready bit
 *                of the old owner cleared, then own stored [MOVE_RUNNING: before all have come].
 *                FENCE.
 *   reconfigure.R8           then, for every queue that has work, the ready bit at its owner
 *                [SCAN_ORDER: looked at before own is stored; SCAN_ALL: only where the old owner
 *                had a bit; CLEAR_AFTER: the old owner's bit cleared behind that].
 *   reconfigure.R9           pause = p + 1; wait for pat == p + 1; join.
 *   D            publish; FENCE; o = own; ready bit at o; FENCE; notify. The publish and
 *   reconfigure.R8's look
 *                are on the two sides of own: either D reads the new owner or reconfigure.R8 sees
 *                the message [PUB_OWN].
 *
 * W worker ids Q queues N posts by D ROUNDS reconfigurations EARLY pauses that are taken back with
 * nobody stuck STUCK handlers that may never return
 */
#ifndef W
#define W 2
#endif
#ifndef Q
#define Q 2
#endif
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef STUCK
#define STUCK 0
#endif
#define NIL 255
#define BIT(q_) (1 << (q_))
#define SET_READY(w_,q_) rdy[w_] = rdy[w_] | BIT(q_)
#define CLEAR_READY(w_,q_) rdy[w_] = rdy[w_] & (255 - BIT(q_))
#define CLAIM(s_) atomic { if :: asleep[s_] -> asleep[s_] = 0; ok = 1 :: else -> ok = 0 fi }
#define OWN_CAS(v_) atomic { if :: own[q] == v_ && !run_[q] -> own[q] = me; run_[q] = 1; \
    busy[me] = 1; ok = 1 :: else -> ok = 0 fi }

byte todo[Q]; byte own[Q]; bit run_[Q]; byte home[Q];
byte rdy[W]; bit asleep[W]; bit busy[W]; bit srch[W]; byte searching; bit tok[W]; bit given[W];
    byte hint[W];
byte pause; byte pat[W]; byte n; bit alive[W];
#ifdef STALE_JOIN
byte joined;
#endif
/* ghosts */
byte stuck; byte stuckers; byte inrun[Q]; byte posted[Q]; byte done_[Q]; byte early; bit finished;

inline wake_one(v_) {
  if
  :: searching == 0 ->
     d_step { s = 0; ok = 0; do :: s < W && !ok -> if :: asleep[s] -> asleep[s] = 0;
         ok = 1 :: else -> s++ fi :: else -> break od };
     if :: ok -> searching++; d_step { hint[s] = v_; given[s] = 1; tok[s] = 1 } :: else fi
  :: else
  fi;
  atomic { s = 0; ok = 0 }
}
inline notify(o_, q_) {
  CLAIM(o_);
  if
  :: ok -> d_step { tok[o_] = 1; ok = 0 }
  :: else -> if :: busy[o_] && own[q_] == o_ && !run_[q_] -> wake_one(o_) :: else fi
  fi
}
inline pass_on() { o = own[q]; if :: o != me -> SET_READY(o, q); notify(o, q) :: else fi; o = 0 }
inline look_others() {
  d_step {
    v = 0; h = NIL;
    do
    :: v < n ->
       o = 0;
       do :: o < Q -> if :: v != me && busy[v] && (rdy[v] & BIT(o)) && own[o] == v && !run_[o] ->
           h = v :: else fi; o++ :: else -> break od;
       v++
    :: else -> break
    od;
    v = 0; o = 0 }
}

proctype worker(byte me; byte p) {             /* p: the pause it begins with, or 0 */
  byte q, o, v, s, h;
  bit ok;
top:
  if
  :: p == 0 -> p = pause
  :: else                                     /* new */
  fi;
  if
  :: p & 1 ->
#ifdef STALE_JOIN
     joined++;
#else
     pat[me] = p;
#endif
     pause != p && pause != p - 1;
     d_step { pat[me] = p + 1; p = 0 };
     if :: me >= n -> atomic { alive[me] = 0; goto gone } :: else fi;
     goto top
  :: else -> p = 0
  fi;
  if
  :: atomic { rdy[me] & 1 -> CLEAR_READY(me, 0); q = 0 }
  :: atomic { rdy[me] & 2 -> CLEAR_READY(me, 1); q = 1 }
  :: else -> goto search
  fi;
  OWN_CAS(me);
  if :: ok -> ok = 0 :: else -> pass_on(); q = 0; goto top fi;
start:
  h = NIL;
  if :: srch[me] -> d_step { searching--; srch[me] = 0 }; look_others() :: else fi;
  d_step { if :: h == NIL && (rdy[me] & (255 - BIT(q))) -> h = me :: else fi };
  if :: h != NIL -> wake_one(h) :: else fi;
  d_step { h = 0; inrun[q]++; assert(inrun[q] == 1); assert(me < n) };
  if
  :: d_step { todo[q] > 0 -> done_[q] = done_[q] + todo[q]; todo[q] = 0 };
     if
     :: atomic { stuckers < STUCK -> stuckers++; stuck = stuck | BIT(q) };
end_stuck: false
     :: true
     fi
  :: else
  fi;
  d_step { inrun[q]--; if :: todo[q] > 0 -> SET_READY(me, q) :: else fi };
  d_step { own[q] = me; run_[q] = 0; busy[me] = 0; q = 0 };
  goto top;
search:
  if :: !srch[me] -> atomic { if :: searching == 0 -> searching = 1;
      srch[me] = 1 :: else fi } :: else fi;
  if :: !srch[me] -> goto park :: else fi;
  if                                          /* a victim and a source, or none */
  :: atomic { me != 0 && (rdy[0] & 1) -> v = 0; q = 0 }
  :: atomic { me != 0 && (rdy[0] & 2) -> v = 0; q = 1 }
  :: atomic { me != 1 && (rdy[1] & 1) -> v = 1; q = 0 }
  :: atomic { me != 1 && (rdy[1] & 2) -> v = 1; q = 1 }
  :: goto park
  fi;
  OWN_CAS(v);
  if :: ok -> ok = 0; CLEAR_READY(v, q); v = 0; goto start :: else -> atomic { v = 0; q = 0 } fi;
park:
  asleep[me] = 1;
  if
#ifdef PARK_PAUSE
  :: rdy[me] ->
#else
  :: rdy[me] || (pause & 1) ->
#endif
     CLAIM(me); if :: ok -> ok = 0; goto top :: else -> goto wait fi
  :: else
  fi;
  if :: srch[me] -> d_step { searching--; srch[me] = 0 } :: else fi;
  look_others();
  if
  :: h == NIL
  :: else ->
     atomic { if :: searching == 0 -> searching = 1; srch[me] = 1 :: else fi };
     if :: srch[me] -> CLAIM(me); if :: ok -> atomic { ok = 0; h = 0 };
         goto search :: else fi :: else fi
  fi;
wait:
  h = 0;
end_wait:
  atomic {
    tok[me] -> tok[me] = 0;
    if :: given[me] -> given[me] = 0; hint[me] = 0; if :: srch[me] -> searching-- :: else ->
        srch[me] = 1 fi :: else fi };
  goto top;
gone:
  skip
}

proctype outside() {                          /* D: no pause stops it */
  byte i, o, s, z, me = NIL; bit ok;
  do
  :: i < N -> i++;
     if :: z = 0 :: z = 1 fi;
#ifdef PUB_OWN
     o = own[z];
#endif
     d_step { todo[z]++; posted[z]++ };
#ifndef PUB_OWN
     o = own[z];
#endif
     SET_READY(o, z);
     notify(o, z);
     d_step { z = 0; o = 0 }
  :: else -> break
  od
}

#define STANDS(i_,p_) (!alive[i_] || pat[i_] == (p_))
#if W > 2
#define ALL_STAND(p_) (STANDS(0, p_) && STANDS(1, p_) && STANDS(2, p_))
#else
#define ALL_STAND(p_) (STANDS(0, p_) && STANDS(1, p_))
#endif
#ifdef STALE_JOIN
#define ALL_IN(p_) (joined >= alive[0] + alive[1])
#else
#define ALL_IN(p_) ALL_STAND(p_)
#endif
#if defined(NEW_LOOKS) || defined(NEW_EARLY)
#define NEW_BEGINS 0
#else
#define NEW_BEGINS p
#endif
inline new_threads() {
  i = n;
  do :: i < to -> atomic { alive[i] = 1; pat[i] = 0; run worker(i, NEW_BEGINS) };
      i++ :: else -> break od
}
inline move(q_) {
  if
  :: own[q_] != home[q_] && (own[q_] >= to || old[q_] != home[q_]) ->
     was = own[q_];
#ifndef CLEAR_AFTER
#ifdef SCAN_ALL
     bits = bits | (rdy[was] & BIT(q_));
#endif
     CLEAR_READY(was, q_);
#endif
     own[q_] = home[q_]
  :: else
  fi;
  was = 0
}
inline scan(q_) {
#ifdef SCAN_ALL
  if :: todo[q_] > 0 && (bits & BIT(q_)) -> SET_READY(own[q_], q_) :: else fi
#elif defined(SCAN_ORDER)
  if :: todo[q_] > 0 -> SET_READY(home[q_], q_) :: else fi
#else
  if :: todo[q_] > 0 -> SET_READY(own[q_], q_) :: else fi
#endif
#ifdef CLEAR_AFTER
  ; was = 0; do :: was < W -> if :: was != old[q_] :: else -> CLEAR_READY(was, q_) fi;
      was++ :: else -> break od; was = 0
#endif
}
inline redraw() {
  d_step { old[0] = home[0]; old[1] = home[1]; home[0] = 0; home[1] = 1 % to };
#ifdef SCAN_ORDER
  scan(0); scan(1);
#endif
  move(0); move(1);
#ifndef SCAN_ORDER
  scan(0); scan(1);
#endif
}
proctype reconfigure() {
  byte p, to, i, was, round, old[Q];
#ifdef SCAN_ALL
  byte bits;
#endif
  bit ok;
  do
  :: round < ROUNDS ->
     round++;
     if
     :: to = 1
     :: to = 2
#if W > 2
     :: to = 3
#endif
     fi;
     p = pause + 1;
#ifndef NEW_LOOKS
     new_threads();
#endif
#ifdef STALE_JOIN
     joined = 0;
#endif
     pause = p;
#ifdef NEW_LOOKS
     new_threads();
#endif
#ifndef WAKE_PARKED
     i = 0;
     do
     :: i < W ->
#ifdef WAKE_UNCLAIMED
        if :: asleep[i] -> tok[i] = 1 :: else fi;
#else
        CLAIM(i); if :: ok -> tok[i] = 1; ok = 0 :: else fi;
#endif
        i++
     :: else -> break
     od;
#endif
     i = 0;
#ifdef MOVE_RUNNING
     redraw();
#endif
     if
     :: ALL_IN(p)
     :: atomic { early < EARLY && !ALL_IN(p) -> early++ }; goto back
     :: atomic { stuckers > 0 && !ALL_IN(p) }; goto back
     fi;
     d_step {                                 /* full stop */
       do :: i < W -> assert(!asleep[i] && !tok[i] && !given[i] && !busy[i]);
           i++ :: else -> break od; i = 0;
       assert(!run_[0] && !run_[1]) };
#ifndef RESET_SEARCH
     searching = 0;
#endif
     d_step { do :: i < W -> srch[i] = 0; i++ :: else -> break od; i = 0 };
     n = to;
#ifndef MOVE_RUNNING
     redraw();
#endif
     pause = p + 1;
     ALL_STAND(p + 1);
     goto join;
back:
     pause = p + 1;
join:
     i = n;
     do :: i < W -> !alive[i]; i++ :: else -> break od;
     i = 0
  :: else -> break
  od;
  finished = 1
}
proctype watch() {
  byte i;
  timeout -> d_step {
    assert(finished && searching == 0);
    do :: i < Q -> assert((stuck & BIT(i)) || (todo[i] == 0 && posted[i] == done_[i] && !run_[i] &&
        own[i] < n)); i++ :: else -> break od }
}
init {
  byte i;
  atomic {
    if
    :: n = 1
    :: n = 2
#if W > 2
    :: n = 3
#endif
    fi;
    home[1] = 1 % n; if :: own[1] = 0 :: own[1] = n - 1 fi;
    i = 0; do :: i < n -> alive[i] = 1; run worker(i, 0); i++ :: else -> break od;
    run outside(); run reconfigure(); run watch() }
}
