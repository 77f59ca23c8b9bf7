/* SPDX-License-Identifier: Apache-2.0
 *
 * port_source.pml - ports as sources: who looks at a ring into which a client publishes without
 * telling anybody.
 *
 * A client sets no ready bit and knows no worker: it stores its tail and, only if `need` stands,
 * rings a doorbell. So the guarantee that gulp_steal_park.pml has from ready bits must come from
 * somewhere else: from an owner that polls (hot), from the doorbell (cold), from thieves that look
 * into the rings of busy workers, and from the stall timer when the owner hangs and everybody else
 * sleeps.
 *
 * Shown, whenever everything that can move has stopped: all that was published is taken, once, in
 * order, whoever hangs in a handler, as long as one worker is left; nobody is counted as a
 * searcher; the timer is not armed unless somebody is busy (an idle service makes no system call).
 *
 * THE RULES (docs/engine.md, Ports as sources, and Sleeping and waking; a name in brackets is a
 * mutant -DNAME that must fail).
 *
 *   own, rdy, sleepers, searching, busy, claim, notify, wake_one, begin_run: as in
 *   gulp_steal_park.pml.
 *   need[p]      in memory that the client reads.  0 only while the owner has the port in
 *                hot[owner] and polls.
 *   client       publish; FENCE; look at need [BELL_ORDER]; 1: ring.
 *   ring         an edge in the epolls of the workers, one after the other, up to and with the
 *                first that waits; if none waits: in all. Who fetches it signals the port's source:
 *                ready bit at its owner, FENCE, notify.  All edges are fetched.
 *   poll         own word not mine: out of hot.  Something published: own ready bit; or, if nothing
 *                else is ready, it is taken at once, without a bit.  Idle for long: need = 1;
 *                FENCE; look again [COLD_LOOK, COLD_ORDER]; only if there is nothing: out of hot.
 *   run          need == 0 or something published: into hot, need = 0.  Take what is there; visible
 *                head; published more: own ready bit (a hint: the port is hot); own = (me, idle).
 *                A thief that finds nothing and need == 0 polls from now on [THIEF_HOT]: its victim
 *                drops the port from its hot set.
 *   sleep        need = 1 for all hot ports that are mine; FENCE; look at them [SLEEP_COLD: no such
 *       step] (port.R3); then the sleepers bit and the last look.
 *   steal        ready bits of the victim; then its ports that are idle and have something, as long
 *   as it is busy. stall timer  armed by a sleeper that sees somebody busy, each time before it
 *   waits [ARM_SLEEP], and by begin_run of a worker with hot
 *                ports when somebody sleeps already [ARM_RUN] (help.K4).
 *                Its event makes the sleeper that gets it claim its bit and, awake, rescue: who is
 *                busy and has committed nothing since the last such look is stuck: take its ports
 *                that have something, and run them [RESCUE].
 *
 * Not here: refusals, closing, retiring, backlogs; a port is run without handlers (no direct run).
 *
 * W workers P ports, port p first owned by worker p % W and hot or cold N publications to each J
 * jobs that other sources bring to a worker while it is awake STUCK jobs that may never end
 */
#ifndef W
#define W 2
#endif
#ifndef P
#define P 1
#endif
#ifndef N
#define N 2
#endif
#ifndef J
#define J 1
#endif
#ifndef STUCK
#define STUCK 1
#endif
#ifndef FIRE
#define FIRE 0
#endif
#define NIL 255
#define BIT(p_) (1 << (p_))
#define HAS_WORK(p_) (tail[p_] != head[p_])

/* shared with clients */
byte tail[P]; bit need[P];
/* private memory; own and run_ are one word */
byte head[P]; byte own[P]; bit run_[P]; byte rdy[W]; byte hot[W]; bit asleep[W]; bit busy[W];
    byte searching; bit moved[W]; bit armed;
/* the kernel: who waits in epoll, the edges in each epoll (a bit for each port, bit P: the timer),
 * eventfd and what the waker left */
bit waits[W]; byte ev[W]; bit tok[W]; bit given[W]; byte hint[W];
/* ghosts */
byte stuckers; byte jobs; byte fired; bit inrun[P];

#define CLAIM(s_) atomic { if :: asleep[s_] -> asleep[s_] = 0; ok = 1 :: else -> ok = 0 fi }
#define SET_READY(w_,p_) rdy[w_] = rdy[w_] | BIT(p_)
#define CLEAR_READY(w_,p_) rdy[w_] = rdy[w_] & (255 - BIT(p_))
#define COOL(w_,p_) hot[w_] = hot[w_] & (255 - BIT(p_))
#define OWN_CAS(p_,v_) atomic { if :: own[p_] == v_ && !run_[p_] -> own[p_] = me; run_[p_] = 1; \
    ok = 1 :: else -> ok = 0 fi }

inline edge(what_) {                          /* exclusive: any one that waits, else everybody */
  atomic {
    if
    :: waits[0] -> ev[0] = ev[0] | what_; waits[0] = 0
    :: waits[1] -> ev[1] = ev[1] | what_; waits[1] = 0
#if W > 2
    :: waits[2] -> ev[2] = ev[2] | what_; waits[2] = 0
    :: else -> ev[2] = ev[2] | what_; ev[0] = ev[0] | what_; ev[1] = ev[1] | what_
#else
    :: else -> ev[0] = ev[0] | what_; ev[1] = ev[1] | what_
#endif
    fi
  }
}
inline wake_one(v_) {
  if
  :: searching == 0 ->
     d_step { s = 0; ok = 0; do :: s < W && !ok -> if :: asleep[s] -> asleep[s] = 0;
         ok = 1 :: else -> s++ fi :: else -> break od };
     if :: ok -> searching++; d_step { hint[s] = v_; given[s] = 1; tok[s] = 1;
         waits[s] = 0 } :: else fi
  :: else
  fi;
  atomic { s = 0; ok = 0 }
}
inline signal(p_) {
  o = own[p_];
  SET_READY(o, p_);
  if
  :: o != me ->
     CLAIM(o);
     if
     :: ok -> d_step { tok[o] = 1; waits[o] = 0; ok = 0 }
     :: else -> if :: busy[o] && own[p_] == o && !run_[p_] -> wake_one(o) :: else fi
     fi
  :: else
  fi;
  o = 0
}
inline look_others() { /* a ready source that is a busy worker's: h = that worker */
  d_step {
    v = 0; h = NIL;
    do
    :: v < W ->
       x = 0;
       do
       :: x < P -> if :: v != me && busy[v] && (rdy[v] & BIT(x)) && own[x] == v && !run_[x] ->
           h = v :: else fi; x++
       :: else -> break
       od;
       v++
    :: else -> break
    od;
    v = 0; x = 0 }
}
inline anybody_sleeps() {
  d_step { s = 0; do :: s < W -> if :: asleep[s] -> ok = 1 :: else fi; s++ :: else -> break od;
      s = 0 }
}
inline begin_run(except_) {
  h = NIL;
  busy[me] = 1;
  if
  :: srch -> d_step { searching--; srch = 0 }; look_others()
  :: else
  fi;
#ifndef ARM_RUN
  anybody_sleeps();
  if :: ok && hot[me] -> armed = 1 :: else fi;
  ok = 0;
#endif
  if :: h == NIL && (rdy[me] & (255 - except_)) -> h = me :: else fi;
  if :: h != NIL -> wake_one(h) :: else fi;
  h = 0
}
inline run_port(p_) {                         /* own[p_] == (me, running) */
  m = tail[p_];
  if
#ifdef THIEF_HOT
  :: m != head[p_] ->
#else
  :: need[p_] == 0 || m != head[p_] ->
#endif
     hot[me] = hot[me] | BIT(p_);
     need[p_] = 0
  :: else
  fi;
  assert(inrun[p_] == 0); inrun[p_] = 1;
  if :: m != head[p_] -> assert(m > head[p_]); head[p_] = m; moved[me] = 1 :: else fi;
progress_port:
  inrun[p_] = 0;
  m = 0;
  if :: HAS_WORK(p_) -> SET_READY(me, p_) :: else fi;
  atomic { own[p_] = me; run_[p_] = 0 }
}

inline poll_hot(p_) {
  if
  :: atomic { (hot[me] & BIT(p_)) && own[p_] != me -> COOL(me, p_) }
  :: atomic { (hot[me] & BIT(p_)) && own[p_] == me && HAS_WORK(p_) -> SET_READY(me, p_) }
  :: atomic { (hot[me] & BIT(p_)) && own[p_] == me && HAS_WORK(p_) && !rdy[me] -> p = p_ };
     goto alone
  :: (hot[me] & BIT(p_)) && own[p_] == me && !HAS_WORK(p_) -> /* polled often enough */
#ifdef COLD_ORDER
     if
     :: HAS_WORK(p_) -> need[p_] = 1; SET_READY(me, p_)
     :: else -> need[p_] = 1; COOL(me, p_)
     fi
#else
     need[p_] = 1;
#ifdef COLD_LOOK
     COOL(me, p_)
#else
     if :: HAS_WORK(p_) -> SET_READY(me, p_) :: else -> COOL(me, p_) fi
#endif
#endif
  :: true
  fi
}
inline park_cold(p_) {
  if
  :: hot[me] & BIT(p_) -> if :: own[p_] == me -> need[p_] = 1 :: else -> COOL(me, p_) fi
  :: else
  fi
}
inline park_look(p_) {
  if
  :: hot[me] & BIT(p_) -> if :: HAS_WORK(p_) -> SET_READY(me, p_) :: else -> COOL(me, p_) fi
  :: else
  fi
}

proctype worker(byte me) {
  byte p, o, v, s, m, h, x, i, got;
  bit ok, srch, stalled;

loop:
  if /* now and then a busy worker looks at the doorbells */
  :: ev[me] -> goto events_awake
  :: true
  fi;
polled_doorbells:
#ifndef RESCUE
  if
  :: stalled -> stalled = 0;
     v = 0;
     do
     :: v < W ->
        atomic { ok = (v != me && busy[v] && !moved[v]); moved[v] = 0 };
        if
        :: ok -> ok = 0;
           p = 0;
           do
           :: p < P ->
              if
              :: own[p] == v && !run_[p] && busy[v] && HAS_WORK(p) ->
                 OWN_CAS(p, v);
                 if :: ok -> ok = 0; busy[me] = 1; run_port(p); busy[me] = 0 :: else fi
              :: else
              fi;
              p++
           :: else -> break
           od;
           p = 0
        :: else
        fi;
        v++
     :: else -> break
     od;
     v = 0
  :: else
  fi;
#endif
  poll_hot(0);
#if P > 1
  poll_hot(1);
#endif
take:
  if
  :: atomic { rdy[me] & 1 -> CLEAR_READY(me, 0); p = 0 }
#if P > 1
  :: atomic { rdy[me] & 2 -> CLEAR_READY(me, 1); p = 1 }
#endif
  :: atomic { jobs < J -> jobs++ }; goto job
  :: !rdy[me] -> goto search
  fi;
alone:
  OWN_CAS(p, me);
  if :: ok -> ok = 0 :: else -> p = 0; goto take fi;
start:
  begin_run(BIT(p));
  run_port(p);
  atomic { busy[me] = 0; p = 0 };
  goto loop;
job: /* something else of mine: a handler, which may never return */
  begin_run(0);
  if
  :: atomic { stuckers < STUCK -> stuckers++ };
end_stuck: false
  :: true
  fi;
  moved[me] = 1;
progress_job:
  busy[me] = 0;
  goto loop;

search:
  if :: !srch -> atomic { if :: searching == 0 -> searching = 1; srch = 1 :: else fi } :: else fi;
  if :: !srch -> goto park :: else fi;
  atomic { /* one source of one victim, or none: the look in park is the guarantee */
    if
    :: v = 0 :: v = 1
#if W > 2
    :: v = 2
#endif
    fi;
    if
    :: p = 0
#if P > 1
    :: p = 1
#endif
    fi;
    ok = (v != me && own[p] == v && !run_[p] && ((rdy[v] & BIT(p)) || (busy[v] && HAS_WORK(p))))
  };
  if
  :: ok -> ok = 0; OWN_CAS(p, v);
     if :: ok -> ok = 0; CLEAR_READY(v, p); atomic { v = 0; h = 0 }; goto start :: else fi
  :: else
  fi;
  atomic { v = 0; h = 0; p = 0 };
park:
#ifndef SLEEP_COLD
  park_cold(0);
#if P > 1
  park_cold(1);
#endif
  park_look(0);
#if P > 1
  park_look(1);
#endif
  if :: hot[me] -> goto loop :: else fi;      /* found something */
#endif
  asleep[me] = 1;
  if
  :: rdy[me] -> CLAIM(me); if :: ok -> ok = 0; goto loop :: else -> goto wait fi
  :: else
  fi;
  if :: srch -> d_step { searching--; srch = 0 } :: else fi;
  look_others();
  if
  :: h == NIL
  :: else ->
     atomic { if :: searching == 0 -> searching = 1; srch = 1 :: else fi };
     if
     :: srch -> CLAIM(me); if :: ok -> ok = 0; goto search :: else fi
     :: else
     fi
  fi;
wait:
  h = 0;
#ifndef ARM_SLEEP
  d_step { v = 0; do :: v < W -> if :: v != me && busy[v] -> armed = 1 :: else fi;
      v++ :: else -> break od; v = 0 };
#endif
  atomic { if :: tok[me] || ev[me] :: else -> waits[me] = 1 fi };
end_wait:
  atomic {
    !waits[me] && (tok[me] || ev[me]) -> i = tok[me]; tok[me] = 0; got = ev[me]; ev[me] = 0;
    if
    :: i && given[me] -> given[me] = 0; h = hint[me]; hint[me] = 0;
        if :: srch -> searching-- :: else -> srch = 1 fi
    :: else
    fi };
  if
  :: got & BIT(P) -> armed = 0; stalled = 1
  :: else
  fi;
  if :: got & 1 -> signal(0) :: else fi;
#if P > 1
  if :: got & 2 -> signal(1) :: else fi;
#endif
  got = 0;
  if :: i -> i = 0; goto loop :: else fi;     /* the token */
  if
  :: stalled || rdy[me] -> CLAIM(me); if :: ok -> ok = 0; goto loop :: else -> goto wait fi
  :: else -> goto wait
  fi;
events_awake:
  atomic { got = ev[me]; ev[me] = 0; if :: tok[me] -> tok[me] = 0; assert(false) :: else fi };
  if :: got & BIT(P) -> armed = 0; stalled = 1 :: else fi;
  if :: got & 1 -> signal(0) :: else fi;
#if P > 1
  if :: got & 2 -> signal(1) :: else fi;
#endif
  got = 0;
  goto polled_doorbells
}
proctype client(byte p) {
  byte n; bit bell;
  do
  :: n < N ->
     n++;
#ifdef BELL_ORDER
     bell = need[p]; tail[p]++;
#else
     tail[p]++; bell = need[p];
#endif
     if :: bell -> edge(BIT(p)) :: else fi;
     bell = 0
  :: else -> break
  od
}
proctype timer() { /* goes off at any time, and for certain when nothing else moves */
  byte i, quiet;
  do
  :: atomic { armed && fired < FIRE -> fired++ }; edge(BIT(P))
  :: atomic { timeout && armed && quiet < 4 -> quiet++ }; edge(BIT(P))
  :: atomic { timeout && (!armed || quiet == 4) -> break }
  od;
  i = 0;
  d_step {
    do :: i < P -> assert(tail[i] == N && head[i] == N && !run_[i]); i++ :: else -> break od;
    assert(searching == 0);
    i = 0; do :: i < W && !busy[i] -> i++ :: else -> break od;
    assert(i < W || !armed) }
}
init {
  byte i;
  atomic {
    i = 0; do :: i < P -> own[i] = i % W; if :: need[i] = 1 :: hot[i % W] = hot[i % W] | BIT(i) fi;
        i++ :: else -> break od;
    i = 0; do :: i < W -> run worker(i); i++ :: else -> break od;
    i = 0; do :: i < P -> run client(i); i++ :: else -> break od;
    run timer() }
}
