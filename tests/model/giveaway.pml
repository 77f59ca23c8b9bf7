/* SPDX-License-Identifier: Apache-2.0
 *
 * giveaway.pml - what else a worker owns goes to the others when it hangs and its actor is set
 * aside (set_aside.A8 and set_aside.A9).
 *
 * Worker 0 hangs and owns a source R. The exchange of buffers is done (exchange.pml): what it runs
 * is its aside queue A. The control thread holds it inside its handler, says that it is away, lets
 * it go, and moves what it owns idle to workers that are not away. Meanwhile messages come, thieves
 * steal, visitors send home, workers go to sleep, and worker 0 returns at any step, or never.
 *
 * Shown, whenever everything that can move has stopped:
 *   - each source is run by one worker at a time, and nothing waits in a source while all are
 *     parked, unless every worker hangs for ever;
 *   - nobody is counted as a searcher, and nothing is owned idle by a worker that is away, unless
 *     nobody was there for it;
 *   - with -DENDLESS (non-progress cycles): a worker that always has something of its own to run
 *     still runs what it was given.
 *
 * THE RULES (a name in brackets is a mutant -DNAME that must fail). Bits, claims, tokens, begin_run
 * and park are as in gulp_steal_park.pml; a bit that was cleared in vain is passed on.
 *
 *   away(w)       aside[w], and A of w is being run by w
 *   set aside     aside[w] = 1; FENCE; only then is the handler let go, and looked what w owns
 *   give away     what is (w, idle), never what it runs [GIVE_RUNNING]: CAS to (next that is not
 *                 away, idle); FENCE [GIVE_FENCE: the new
 *                 owner's bit is looked at before the move is seen]; signal, behind the move
 *                 [GIVE_FIRST], always [GIVE_SILENT]. [GIVE_NOT: no such step]
 *   visit         (-DVISIT) to = home, unless that is away [AWAY_HOME]; (to, idle); FENCE; away by
 *                 now: CAS (to, idle) -> (me, idle), own bit [AWAY_LOOK]; else the look at the
 *                 length and, if there is work, a signal
 *   port          (-DPORT) R is a port: its client tells nobody while `need` is 0, and then only
 *                 who owns it polls. Nobody to give it to: need = 1; FENCE; signal [GIVE_DEAF]:
 *                 thieves look into the rings of workers that are busy and not away.
 *
 * Not here: crashes, who comes back to its queue (exchange.pml); the stall timer (port_source.pml):
 * the control thread comes to every worker that hangs. Looks at masks, and wake_one's claim, count
 * and token, are single steps (gulp_steal_park.pml has them apart).
 *
 * W workers N messages from outside, for R HANGS worker 0 never returns BOTH worker 1 hangs as
 * well, and returns STALE a bit too many at worker 1
 *
 * States: N=0 0.3 million; HANGS N=2 0.2, VISIT N=1 0.1, BOTH PORT N=1 0.7. Returning with a
 * message, N=1: more than 40, not finished.
 */
#ifndef W
#define W 2
#endif
#ifndef N
#define N 2
#endif
#define R 0
#define A 1
#define A_OF(w_) (A + (w_))
#if defined(BOTH)
#define SOURCES 3                             /* worker 1's */
#define HANGERS 2
#elif defined(ENDLESS)
#define SOURCES 3                             /* worker 1's, which is never empty */
#define S 2
#define HANGERS 1
#else
#define SOURCES 2
#define HANGERS 1
#endif
#define NIL 255
#define BIT(q_) (1 << (q_))
#ifdef BOTH
#define HOME(q_) ((q_) > A)
#define AWAY(w_) ((w_) < 2 && aside[w_] && own[A_OF(w_)] == (w_) && run_[A_OF(w_)])
#else
#define HOME(q_) ((q_) > A)
#define AWAY(w_) ((w_) == 0 && aside[0] && own[A] == 0 && run_[A])
#endif
#define MINE(q_) assert(own[q_] == me && run_[q_])
#define IS_OF(v_,q_) (own[q_] == (v_) && !run_[q_])

byte work[SOURCES];                           /* published, not yet taken */
byte own[SOURCES]; bit run_[SOURCES];         /* one word */
byte rdy[W]; bit asleep[W]; bit busy[W]; byte searching; bit tok[W]; bit given[W];
bit aside[2]; bit inside[2]; bit held;
#ifdef PORT
bit need; bit hot[W]; bit waits[W]; bit ev[W];
#endif
/* ghosts */
bit forever[2]; bit gave; byte posting;

#define CLAIM(s_) atomic { if :: asleep[s_] -> asleep[s_] = 0; ok = 1 :: else -> ok = 0 fi }
#define SET_READY(w_,q_) rdy[w_] = rdy[w_] | BIT(q_)
#define CLEAR_READY(w_,q_) rdy[w_] = rdy[w_] & (255 - BIT(q_))
#define OWN_CAS(v_) atomic { if :: own[q] == v_ && !run_[q] -> own[q] = me; run_[q] = 1; \
    ok = 1 :: else -> ok = 0 fi }
#ifdef PORT
#define TOKEN(s_) tok[s_] = 1; waits[s_] = 0
#else
#define TOKEN(s_) tok[s_] = 1
#endif

inline wake_one() { /* claimed, counted and told in one step: gulp_steal_park.pml has them apart */
  if
  :: searching == 0 ->
     d_step {
       s = 0;
       do :: s < W && !asleep[s] -> s++ :: else -> break od;
       if :: s < W -> asleep[s] = 0; searching++; given[s] = 1; TOKEN(s) :: else fi;
       s = 0
     }
  :: else
  fi
}
inline notify(q_) {
  d_step { if :: asleep[o] -> asleep[o] = 0; TOKEN(o); ok = 1 :: else fi };
  if
  :: ok -> ok = 0
  :: else -> if :: busy[o] && IS_OF(o, q_) -> wake_one() :: else fi
  fi
}
inline signal(q_) {
  o = own[q_];
  SET_READY(o, q_);
  if :: o != me -> notify(q_) :: else fi;
  o = 0
}
inline look_others() {                        /* a ready source that is a busy worker's: h */
  d_step {
    v = 0; h = 0;
    do
    :: v < W ->
       x = 0;
       do
       :: x < SOURCES -> if :: v != me && busy[v] && (rdy[v] & BIT(x)) && IS_OF(v, x) ->
           h = 1 :: else fi; x++
       :: else -> break
       od;
       v++
    :: else -> break
    od;
    v = 0; x = 0 }
}
inline begin_run() {
  busy[me] = 1;
  if
  :: srch -> d_step { searching--; srch = 0 }; look_others()
  :: else
  fi;
  if :: h || (rdy[me] & (255 - BIT(q))) -> wake_one() :: else fi;
  h = 0
}
inline send_home(q_) {                        /* idle at `to`, who is not me */
  d_step { MINE(q_); own[q_] = to; run_[q_] = 0 };
#if !defined(AWAY_HOME) && !defined(AWAY_LOOK)
  if
  :: AWAY(to) -> atomic { if :: IS_OF(to, q_) -> own[q_] = me; ok = 1 :: else -> ok = 0 fi }
  :: else
  fi;
#endif
  if
  :: ok -> ok = 0; SET_READY(me, q_)
  :: else -> if :: work[q_] > 0 -> signal(q_) :: else fi
  fi;
  to = 0
}
#ifdef VISIT
#ifdef AWAY_HOME
#define GOES_TO(q_) to = HOME(q_)
#else
#define GOES_TO(q_) if :: AWAY(HOME(q_)) -> to = me :: else -> to = HOME(q_) fi
#endif
#else
#define GOES_TO(q_) to = me
#endif

#ifdef PORT
inline ring() {                               /* exclusive: any one that waits, else everybody */
  atomic {
    if
    :: waits[0] -> ev[0] = 1; waits[0] = 0
    :: waits[1] -> ev[1] = 1; waits[1] = 0
#if W > 2
    :: waits[2] -> ev[2] = 1; waits[2] = 0
#endif
    :: else -> ev[0] = 1; ev[1] = 1
#if W > 2
       ; ev[2] = 1
#endif
    fi
  }
}
inline poll_hot() {
  if
  :: atomic { hot[me] && own[R] != me -> hot[me] = 0 }
  :: atomic { hot[me] && own[R] == me && work[R] > 0 -> SET_READY(me, R) }
  :: hot[me] && own[R] == me && work[R] == 0 -> /* polled often enough */
     need = 1;
     if :: work[R] > 0 -> SET_READY(me, R) :: else -> hot[me] = 0 fi
  :: true
  fi
}
inline make_cold() {
  if
  :: hot[me] ->
     if
     :: own[R] == me -> need = 1; if :: work[R] > 0 -> SET_READY(me, R) :: else -> hot[me] = 0 fi
     :: else -> hot[me] = 0
     fi
  :: else
  fi
}
inline run_port() {
  GOES_TO(R);
  m = work[R];
  if
  :: to == me && (need == 0 || m > 0) -> hot[me] = 1; need = 0
  :: else
  fi;
  d_step { MINE(R); work[R] = work[R] - m; m = 0 };
  if
  :: to != me -> hot[me] = 0; need = 1; send_home(R)
  :: else ->
     if :: work[R] > 0 -> SET_READY(me, R) :: else fi;
     d_step { MINE(R); run_[R] = 0; to = 0 }
  fi
}
#endif

#ifdef PORT
#define SEEN(v_) ((rdy[v_] & BIT(R)) || (busy[v_] && !AWAY(v_) && work[R] > 0))
#else
#define SEEN(v_) (rdy[v_] & BIT(R))
#endif

proctype worker(byte me) {
  byte q, o, v, s, m, x, to;
  bit ok, srch, h, n;                         /* srch: I am counted in searching */
#ifdef ENDLESS
  byte from;
#endif

  if
  :: me < HANGERS ->
     if
     :: forever[me] ->
end_hung: false
     :: else
     fi;
     atomic { !(held && inside[me]) -> inside[me] = 0;
       q = A_OF(me) };
     goto ended
  :: else
  fi;

top:
#ifdef PORT
  if :: ev[me] -> ev[me] = 0; signal(R) :: true fi; /* now and then */
  poll_hot();
#endif
#ifdef ENDLESS
  atomic {
    x = 0;
    do :: x < SOURCES && !(rdy[me] & BIT((from + x) % SOURCES)) -> x++ :: else -> break od;
    if :: x < SOURCES -> q = (from + x) % SOURCES; from = (q + 1) % SOURCES; CLEAR_READY(me, q);
        ok = 1 :: else fi;
    x = 0
  };
  if :: ok -> ok = 0 :: else -> goto search fi;
#else
  if
  :: atomic { rdy[me] & BIT(R) -> CLEAR_READY(me, R); q = R }
  :: atomic { rdy[me] & BIT(A) -> CLEAR_READY(me, A); q = A }
#ifdef BOTH
  :: atomic { rdy[me] & BIT(2) -> CLEAR_READY(me, 2); q = 2 }
#endif
  :: !rdy[me] -> goto search
  fi;
#endif
  OWN_CAS(me);
  if
  :: ok -> ok = 0; goto start
  :: else -> o = own[q]; SET_READY(o, q); if :: o != me -> notify(q) :: else fi; atomic { o = 0;
      q = 0 }; goto top
  fi;

search: /* one source of one victim, or none: the look in park is the guarantee */
  atomic {
    if :: !srch && searching == 0 -> searching = 1; srch = 1 :: else fi;
    if
    :: !srch -> goto park                     /* one searcher is enough */
    :: srch && me != 0 -> v = 0
    :: srch && me != 1 -> v = 1
#if W > 2
    :: srch && me != 2 -> v = 2
#endif
    fi;
    if
    :: IS_OF(v, R) && SEEN(v) -> q = R
    :: IS_OF(v, A) && (rdy[v] & BIT(A)) -> q = A
#if SOURCES > 2
    :: IS_OF(v, 2) && (rdy[v] & BIT(2)) -> q = 2
#endif
    :: else -> v = 0; goto park
    fi;
    ok = 1
  };
  if
  :: ok ->
     OWN_CAS(v);
     if :: ok -> ok = 0; CLEAR_READY(v, q); v = 0; goto start :: else fi
  :: else
  fi;
  atomic { v = 0; q = 0 };

park:
#ifdef PORT
  make_cold();
  if :: hot[me] -> goto top :: else fi;       /* something has come */
#endif
  asleep[me] = 1;
  if
  :: rdy[me] -> CLAIM(me); if :: ok -> ok = 0; goto top :: else -> goto wait fi
  :: else
  fi;
  if :: srch -> d_step { searching--; srch = 0 } :: else fi;
  look_others();
  if
  :: h ->
     d_step { h = 0; if :: searching == 0 -> searching = 1; srch = 1 :: else fi };
     if
     :: srch -> CLAIM(me); if :: ok -> ok = 0; goto search :: else fi
     :: else                                  /* somebody searches and will look again */
     fi
  :: else
  fi;
wait:
#ifdef PORT
  atomic { if :: tok[me] || ev[me] :: else -> waits[me] = 1 fi };
end_bell:
  atomic { !waits[me] && (tok[me] || ev[me]) -> n = ev[me]; ev[me] = 0 };
  if :: n -> n = 0; signal(R) :: else fi;
  if
  :: tok[me]
  :: else -> if :: rdy[me] -> CLAIM(me); if :: ok -> ok = 0; goto top :: else ->
      goto wait fi :: else -> goto wait fi
  fi;
#endif
end_wait:
  atomic {
    tok[me] -> tok[me] = 0;
    if
    :: given[me] -> given[me] = 0; if :: srch -> searching-- :: else -> srch = 1 fi
    :: else
    fi };
  goto top;

start:                                        /* own[q] == (me, running) */
  begin_run();
#ifdef PORT
  if :: q == R -> run_port(); goto done :: else fi;
#endif
#ifdef ENDLESS
  if
  :: q == S ->
     if :: gave && !posting && work[R] > 0 -> n = 1 :: else -> work[S] = 0 fi;
     goto ended
  :: else
  fi;
#endif
progress:
  d_step { MINE(q); if :: work[q] > 0 -> work[q]-- :: else fi };
ended:
  GOES_TO(q);
  if
  :: to != me -> send_home(q)
  :: else ->
     if :: n || work[q] > 0 -> n = 0; SET_READY(me, q) :: else fi;
     d_step { MINE(q); run_[q] = 0; to = 0 }
  fi;
done:
  atomic { busy[me] = 0; q = 0 };
  goto top
}

inline move_to(w_) {                          /* the next that is there: t; w_: nobody is */
  x = 0; t = w_;
  do
  :: x < W && t == w_ -> x++; from = (from + 1) % W; if :: from != w_ && !AWAY(from) ->
      t = from :: else fi
  :: else -> break
  od;
  x = 0
}
inline give(w_) {                             /* source q */
#ifdef GIVE_RUNNING
  ok = own[q] == w_;
#else
  ok = IS_OF(w_, q);
#endif
  if
  :: ok -> ok = 0;
     move_to(w_);
     if
     :: t != w_ ->
#ifdef GIVE_FIRST
        signal(q);
#endif
#ifdef GIVE_FENCE
        n = (rdy[t] & BIT(q)) > 0;
#endif
#ifdef GIVE_RUNNING
        atomic { if :: own[q] == w_ -> own[q] = t; run_[q] = 0; ok = 1 :: else fi };
#else
        atomic { if :: IS_OF(w_, q) -> own[q] = t; ok = 1 :: else fi };
#endif
        if
        :: ok -> ok = 0;
#ifdef GIVE_FENCE
           o = own[q];
           if :: n && o == t :: else -> SET_READY(o, q) fi;
           notify(q); o = 0
#elif !defined(GIVE_FIRST) && !defined(GIVE_SILENT)
           signal(q)
#endif
        :: else
        fi;
        n = 0
     :: else ->
#if defined(PORT) && !defined(GIVE_DEAF)
        if :: q == R -> need = 1; signal(q) :: else fi
#else
        skip
#endif
     fi
  :: else
  fi;
  t = 0
}
proctype control() {
  byte w, q, o, s, x, t, from, me = NIL; bit ok, n;
#ifdef BOTH
  bit last;
  if :: w = 0 :: w = 1 fi;
again:
#endif
  atomic { if :: inside[w] -> held = 1; aside[w] = 1 :: else -> goto no fi };
  atomic { held = 0; from = w };
#ifndef GIVE_NOT
  do
  :: q < SOURCES -> give(w); q++
  :: else -> break
  od;
  atomic { q = 0; from = 0 };
#endif
no:
#ifdef BOTH
  if :: !last -> last = 1; w = 1 - w; goto again :: else fi;
#endif
  gave = 1
}
proctype outside() {
  byte n, o, s, me = NIL; bit ok;
  do
  :: n < N -> n++;
#ifdef PORT
     work[R]++;
     if :: need -> ring() :: else fi
#else
     atomic { work[R]++; posting++ };
     signal(R);
     posting--
#endif
  :: else -> break
  od
}
#ifdef BOTH
#define ALL_HANG (W == 2 && forever[0] && forever[1])
#else
#define ALL_HANG false
#endif
proctype watch() {
  byte i;
  timeout -> d_step {
    assert(searching == 0);
    do
    :: i < SOURCES ->
       assert(work[i] == 0 || ALL_HANG || (i == A && forever[0]));
       assert(!run_[i] || (own[i] < 2 && forever[own[i]]));
       assert(run_[i] || !AWAY(own[i]) || ALL_HANG);
       i++
    :: else -> break
    od }
}
init {
  byte i;
  atomic {
    run_[A] = 1; inside[0] = 1; busy[0] = 1;
#ifdef PORT
    hot[0] = 1;
#else
#ifdef STALE
    rdy[1] = BIT(R);                          /* it has been worker 1's: a hint too many */
#endif
#endif
#ifdef HANGS
    forever[0] = 1;
#endif
#ifdef BOTH
    own[2] = 1; run_[2] = 1; inside[1] = 1; busy[1] = 1;
#endif
#ifdef ENDLESS
    own[S] = 1; work[S] = 1; rdy[1] = rdy[1] | BIT(S);
#endif
    do :: i < W -> run worker(i); i++ :: else -> break od;
    run control(); run outside(); run watch()
  }
}
