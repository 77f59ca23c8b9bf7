/* SPDX-License-Identifier: Apache-2.0
 *
 * gulp_steal_park.pml - who runs which queue, who must be woken, who may sleep.
 *
 * Workers, queues, ready masks, bounded gulps, steals, searching, parking; appenders that are
 * workers and one that is not; and handlers that never return. Sequential consistency, but every
 * load and store whose order matters is a step of its own. (Memory orders are owed where the rules
 * say FENCE.)
 *
 * Shown, whenever everything that can move has stopped ("timeout" below):
 *   - nothing is lost, nothing runs twice, a queue is run by one worker at a time and in order;
 *   - nothing is pending but in sources whose own running handler never returns: the other sources
 *     of a worker that hangs are taken over by workers that were asleep, busy or about to sleep, as
 *     long as one worker is left (no lost wake-up);
 *   - with -DIDLE (non-progress cycles): no worker goes round and round when there is nothing it
 *     can run.
 *
 * THE RULES (docs/engine.md tells them in prose; a name in brackets is a mutant -DNAME that breaks
 * the rule and must fail).
 *
 *   own[q] = {worker, running}   rdy[w] = mask of sources that MAY have work (a hint)
 *   sleepers = a bit per worker; claim(s) (wake.K1) = one atomic operation that clears it, true iff
 *   it was set; only the claimer writes the
 *   eventfd    busy[w] = from before the look of begin_run until after own went idle    searching =
 *              number of searchers FENCE = full barrier, store to load. "q is v's" = own[q] == (v,
 *              idle).
 *
 *   append(q)     lock; copy; publish len; unlock [FLIP_NOLOCK: the gulp takes that lock, too, or
 *                 is one compare-and-swap that fails while somebody has it];
 *                 FENCE; o = own[q].worker
 *                 [PUB_OWN]; set q in rdy[o], not before the publish [BIT_FIRST]; FENCE; only then
 *                 look at anybody [BIT_WAKE]; notify(o, q). Every append does all of it.
 *   notify(o, q)  if nobody sleeps: nothing. claim(o): write its eventfd [NOTIFY]. Else, if o is
 *                 another worker, busy, and q is o's (read again now: a
 *                 running q needs no wake): wake_one(o) [APP_BUSY]. An awake worker that is not
 *                 busy will look by itself.
 *   wake_one(v)   if somebody searches (NODES): nothing. Else claim a sleeper, then count it as
 *                 searcher on its behalf, tell it "search, v
 *                 first", write its eventfd. In this order: counting first and taking it back when
 *                 nobody sleeps makes others skip their wake for nothing [CLAIM_FIRST].
 *   take(q)       clear q in rdy[me], at the latest before the look at len of release
 *                 [CLEAR_FIRST]; compare-and-swap own[q]
 *                 (me, idle) -> (me, running); if that fails the bit is dropped (-DPASSON, handing
 *                 it on, changes nothing).
 *   steal(v, q)   compare-and-swap own[q] (v, idle) -> (me, running), never from running
 *                 [STEAL_RUNNING]; then run at once
 *                 [LAZY_STEAL]. Clearing q in rdy[v] is optional (-DNOCLEAR) but allowed only while
 *                 q runs [CLEAR_AFTER].
 *   begin_run     busy[me] = 1 [BUSY_ORDER]; a searcher ends its search [SEARCH_ORDER]; FENCE;
 *                 then, if anybody sleeps: a searcher looks for any source that is a busy worker's
 *                 and has its bit set, or any other bit of its own mask, and calls wake_one for it
 *                 [SEARCH_END]: the wake chain, and what makes "somebody searches" a reason to wake
 *                 nobody. Everyone else looks at the own mask only [RUN_LOOK]: posts made while
 *                 this worker was awake and not busy woke nobody.
 *   mid-batch     after a flush in the middle of a batch, before the next handler: look at the own
 *                 mask again [MID_LOOK].
 *   release       batch done: if the active len is not 0, set q in rdy[me] [REL_LOOK]: the batch
 *                 may have been a parked one, then nobody gulped what lies behind it. Then own =
 *                 (me, idle), then busy[me] = 0.
 *   park batch    cursor; set q in rdy[me] [PARK_BIT]; own = (me, idle); busy[me] = 0.
 *   visit         (-DVISIT) own = (home, idle); FENCE; only then look at batch and len
 *                 [VISIT_ORDER]; if there is work, set q in rdy[home] and notify(home, q)
 *                 [VISIT_RECHECK].
 *   park          1. sleepers bit; FENCE [FLAG_LOOK]
 *                 2. look at the own mask [PARK_OWN]; a bit: claim(me) and go on, still the
 *                    searcher if it was one [PARK_DEBT]
 *                 3. a searcher ends its search, now and not after the next look [SEARCH_PARK];
 *                    FENCE; look at the masks of all busy workers for sources that are theirs
 *                    [PARK_BUSY] [OWN_FILTER: without "are theirs" the bit of a source that hangs
 *                    while running keeps the parker awake for ever]
 *                 4. found one: become the searcher; if somebody else is: sleep, that one will look
 *                    again. Then claim(me) and visit; if the claim fails an eventfd write is on its
 *                    way: wait for it.
 *                 5. wait for the eventfd.
 *   search        may give up early or look at few victims: the look in park is the guarantee.
 *
 * MODES, each switched on by its name:
 *
 *   NODES=2       searching is a count for each node: a worker may search if nobody of its node
 *                 does; wake_one passes over the sleepers of a node that has a
 *                 searcher, and counts in the sleeper's node [NODE_COUNT].
 *   MOD=k         a park may time out, k times in a row: claim(me), and on at the top; if the claim
 *                 fails a token is under way: wait [TIMEOUT_CLAIM].
 *   KMOVE         a thief takes one source to run and then, before begin_run looks [MOVE_LOOK], as
 *                 many idle ready ones as it likes: own[r] (v, idle) -> (me, idle), never from
 *                 running [MOVE_RUNNING]; r in rdy[me] [MOVE_BIT]; clear r in rdy[v];
 *                 FENCE; if r is v's again, set it there and notify [MOVE_BACK]. -DNOCLEAR, leaving
 *                 the victim's bit alone, holds too.
 *   SHARE         an appender that finds the source idle sets its bit in the common mask cmn, else
 *                 in its runner's mask. Everybody takes from cmn: clear the bit, read own, CAS from
 *                 whoever has it idle. "The own mask" is rdy[me] | cmn in begin_run [CMN_RUN] and
 *                 park [CMN_PARK]; park looks at cmn once more behind the end of its search
 *                 [CMN_BUSY]: an appender that saw the searcher has woken nobody. release: own
 *                 idle, then the bit in cmn. A failed take is passed on; dropping it holds as well
 *                 (-DPASS_ON).  FLIP: the policy changes at any time, bits stay where they are.
 *   FIXED=mask    these queues belong to worker q % W for ever: no steal [FIXED_STEAL], and looks
 *                 for helpers leave them out [FIXED_LOOK: a thief
 *                 goes round for ever at the bit of a worker that hangs].
 *   FOLLOW=mask   a sending worker that finds own[q] idle at another one, without a ready bit
 *                 there, takes it over: CAS (other, idle) -> (me, idle)
 *                 [FOLLOW_RUNNING], then sets its own ready bit [FOLLOW_BIT].
 *
 *   PACK          the last worker rests, and some time later rests no more. While it does, it does
 *                 not search, nobody wakes it to help, and it lets senders that do not rest take
 *                 over its sources as if they followed; such a source is lent, and goes back, as
 *                 from a visit, behind a run that finds it resting no more. Who changes it, FENCE,
 *                 wakes all sleepers [PACK_WAKE].
 *   POLLED        a third state of the owner word: idle, and its worker, which searches, looks at
 *                 the length itself. An append that finds it sets no bit and looks at nobody.
 *                 poll_begin: CAS (me, idle) -> (me, polled). take and steal take from polled as
 *                 from idle. poll_end: CAS (me, polled) -> (me, idle) [POLL_BLIND: a store, over a
 *                 thief's word]; FENCE; only then look at batch and len [POLL_FENCE], and set the
 *                 own bit [POLL_FORGET]. Before any other source is run [POLL_RUN], before the look
 *                 of begin_run [POLL_LATE], and before the sleepers bit [POLL_PARK].
 *
 *   SUMMARY       sum[w], a hint about the hint: who looks at rdy[v] for something to take looks at
 *                 sum[v] first, and not at all at the mask if it is 0. set: q in rdy[w]; FENCE; if
 *                 sum[w] is 0, set it [SUM_SET: looked at first]; both before the look at the
 *                 sleepers [SUM_LATE]. Only w clears it, behind a look at its mask that found
 *                 nothing: sum[w] = 0; FENCE; rdy[w] again, and sum[w] = 1 if there is a bit
 *                 [SUM_FORGET: looks, then clears].
 *
 * Not here: ports (port_source.pml), reconfiguration (reconfigure.pml), crashes (commit.pml),
 * records that wait in an outbox while a later handler of the same batch hangs.
 *
 * W workers Q queues N posts from outside F posts by handlers STUCK handlers that may never return
 * HUNG: worker 0 owns all queues and hangs in queue 0 from the start (posts from outside go to the
 * others). IDLE: searches do not give up early; for the check of non-progress cycles.
 *
 * States: W=2 Q=2 N=2 STUCK=1 5.2 million, N=3 51 million; W=3 Q=3 HUNG STUCK=1 N=2 8.9 million,
 * N=3 112 million; W=3 Q=2 N=1 STUCK=1 16 million (with N=2 more than 240 million: not finished,
 * nothing found).
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
#ifndef F
#define F 0
#endif
#ifndef STUCK
#define STUCK 0
#endif
#ifndef NODES
#define NODES 1
#endif
#ifndef MOD
#define MOD 0
#endif
#ifndef FIXED
#define FIXED 0
#endif
#ifndef FOLLOW
#define FOLLOW 0
#endif
#ifdef PACK
#define RESTS(w_) (rests && (w_) == W-1)
#else
#define RESTS(w_) false
#endif
#define NODE(w_) ((w_)*NODES/W)
#define IS_FIXED(q_) ((FIXED >> (q_)) & 1)
#define IS_FOLLOW(q_) ((FOLLOW >> (q_)) & 1)
#define CAP (N+F)
#define NIL 255
#define BIT(q_) (1 << (q_))
#if FIXED
#define HANG ; stuckw = stuckw | BIT(me)
#define LEFT(q_) ((stuck & BIT(q_)) || (IS_FIXED(q_) && (stuckw & BIT((q_)%W)) && !run_[q_]))
#else
#define HANG
#define LEFT(q_) (stuck & BIT(q_))
#endif
#define ACT(q_) ((q_)*2 + act[q_])
#define INA(q_) ((q_)*2 + 1 - act[q_])
#define B(h_,i_) buf[(h_)*CAP + (i_)]
#ifdef OWN_FILTER
#define IS_OF(v_,q_) true
#elif FIXED && !defined(FIXED_LOOK)
#define IS_OF(v_,q_) (own[q_] == v_ && !run_[q_] && !IS_FIXED(q_))
#else
#define IS_OF(v_,q_) (own[q_] == v_ && !run_[q_])
#endif
#ifdef VISIT
#define HOME(q_) ((q_) % W)
#endif

/* in the segment */
bit lock[Q]; bit act[Q]; bit bat[Q]; byte ln[2*Q]; byte cur[Q]; byte buf[2*Q*CAP];
/* private memory: own and run_ are one word, always read and changed together */
byte own[Q]; bit run_[Q];
#ifdef POLLED
bit pol[Q];
#define NOT_POLLED(q_) && !pol[q_]
#define TAKEN(q_) pol[q_] = 0;
#define POLLS_(v_,q_) | ((own[q_] == v_ && pol[q_] && HAS_WORK(q_)) << (q_))
#if Q > 2
#define POLLS(v_) POLLS_(v_, 0) POLLS_(v_, 1) POLLS_(v_, 2)
#else
#define POLLS(v_) POLLS_(v_, 0) POLLS_(v_, 1)
#endif
#define LOOKS 254 /* in the place of an owner: polled */
#define HAS_WORK(q_) (bat[q_] || ln[ACT(q_)] > 0)
#else
#define NOT_POLLED(q_)
#define TAKEN(q_)
#define POLLS(v_)
#endif
#ifdef PACK
bit rests; byte lent[Q]; /* the worker it goes back to, + 1 */
#endif
#ifdef SUMMARY
bit sum[W] = 1; /* rdy[w] MAY have anything */
#endif
 byte rdy[W]; bit asleep[W]; bit busy[W]; byte searching[NODES];
#ifdef FLIP
byte cmn; bit share; /* the common mask; the policy, which may change at any time */
#elif defined(SHARE)
#define share 1
byte cmn;
#endif
/* eventfd of a worker, and what the waker left for it: "you are a searcher, already counted", whom
 * to visit */
bit tok[W]; bit given[W]; byte hint[W];
/* ghosts */
byte posted[Q]; byte done_[Q]; byte inrun[Q]; byte stuck; byte stuckers; byte sent;
#if FIXED
byte stuckw;
#endif

#if W > 2
#define ANY_ASLEEP (asleep[0] || asleep[1] || asleep[2])
#else
#define ANY_ASLEEP (asleep[0] || asleep[1])
#endif
#define CLAIM(s_) atomic { if :: asleep[s_] -> asleep[s_] = 0; ok = 1 :: else -> ok = 0 fi }

/* the sleepers one by one, not in one snapshot, those of a node without a searcher */
inline claim_any() {
  s = 0; ok = 0;
  do
#if NODES > 1
  :: s < W && !ok ->
     if
     :: searching[NODE(s)] || RESTS(s) -> s++
     :: else -> atomic { if :: asleep[s] -> asleep[s] = 0; ok = 1 :: else -> s++ fi }
     fi
#else
  :: s < W && !ok ->
     atomic { if :: asleep[s] && !RESTS(s) -> asleep[s] = 0; ok = 1 :: else -> s++ fi }
#endif
  :: else -> break
  od
}
#ifdef NODE_COUNT
#define COUNT_SEARCHER searching[0]++
#else
#define COUNT_SEARCHER searching[NODE(s)]++
#endif
inline wake_one(v_) {
#ifdef CLAIM_FIRST
  atomic { if :: searching[0] == 0 -> searching[0] = 1; ok = 1 :: else -> ok = 0 fi };
  if
  :: ok ->
     claim_any();
     if :: ok -> d_step { hint[s] = v_; given[s] = 1; tok[s] = 1 } :: else -> searching[0]-- fi
#else
  if
  :: NODES > 1 || searching[0] == 0 ->
     claim_any();
     if :: ok -> COUNT_SEARCHER; d_step { hint[s] = v_; given[s] = 1; tok[s] = 1 } :: else fi
#endif
  :: else
  fi;
  atomic { s = 0; ok = 0 }
}
inline notify(o_, q_) {
  if
  :: ANY_ASLEEP ->
#ifndef NOTIFY
     CLAIM(o_);
#endif
     if
     :: ok -> d_step { tok[o_] = 1; ok = 0 }
     :: else ->
#ifndef APP_BUSY
        if :: o_ != me && busy[o_] && IS_OF(o_, q_) -> wake_one(o_) :: else fi
#endif
     fi
  :: else                                     /* nobody could be woken */
  fi
}
#ifdef SUMMARY
#define SUM_ADD(w_) if :: sum[w_] -> skip :: else -> sum[w_] = 1 fi
#if defined(SUM_SET)                          /* the summary is looked at before the bit is set */
#define SET_READY(w_,q_) SUM_ADD(w_); rdy[w_] = rdy[w_] | BIT(q_)
#elif defined(SUM_LATE)                       /* ... or only behind the look at the sleepers */
#define SET_READY(w_,q_) rdy[w_] = rdy[w_] | BIT(q_)
#else
#define SET_READY(w_,q_) rdy[w_] = rdy[w_] | BIT(q_); SUM_ADD(w_)
#endif
#else
#define SET_READY(w_,q_) rdy[w_] = rdy[w_] | BIT(q_)
#endif
#define CLEAR_READY(w_,q_) rdy[w_] = rdy[w_] & (255 - BIT(q_))
#ifdef SHARE
#define MAYBE_MINE (rdy[me] | cmn)
inline set_ready(q_) {                        /* o, r: the owner word as it was read */
  if
  :: share && !r && !IS_FIXED(q_) && !IS_FOLLOW(q_) -> cmn = cmn | BIT(q_)
  :: else -> SET_READY(o, q_)
  fi;
  r = 0
}
#define READ_OWN(q_) atomic { o = own[q_]; r = run_[q_] }
#else
#define MAYBE_MINE rdy[me]
#define set_ready(q_) SET_READY(o, q_)
#define READ_OWN(q_) o = own[q_]
#endif
inline signal(q_) {                           /* behind the publish */
  READ_OWN(q_);
  set_ready(q_);
  notify(o, q_);
  o = 0
}
inline pass_on(q_) {                          /* a take that failed */
  o = own[q_]; SET_READY(o, q_); notify(o, q_); o = 0
}

#if FOLLOW || defined(PACK)
#ifdef PACK
#define LENDS(q_) (IS_FOLLOW(q_) || (RESTS(o) && !RESTS(me) && !IS_FIXED(q_)))
#else
#define LENDS(q_) IS_FOLLOW(q_)
#endif
inline follow(q_) { /* the sender takes the source over, unless somebody runs it or will soon */
  if
  :: me != NIL && o != me && LENDS(q_) && !(rdy[o] & BIT(q_)) ->
#ifdef FOLLOW_RUNNING
     atomic { if :: own[q_] == o -> own[q_] = me; run_[q_] = 0; ok = 1 :: else fi };
#else
     atomic { if :: own[q_] == o && !run_[q_] NOT_POLLED(q_) -> own[q_] = me; ok = 1 :: else fi };
#endif
     if
     :: ok ->
        ok = 0;
#ifdef PACK
        if :: !IS_FOLLOW(q_) -> lent[q_] = o + 1 :: else fi;
#endif
        o = me
     :: else -> READ_OWN(q_)
     fi
  :: else
  fi
}
#endif
inline append(q_) {
  atomic { !lock[q_] -> lock[q_] = 1; B(ACT(q_), ln[ACT(q_)]) = posted[q_] + 1; x = ACT(q_) };
#if defined(PUB_OWN) || defined(BIT_FIRST)
  o = own[q_];
#endif
#ifdef BIT_FIRST
  SET_READY(o, q_);
#endif
  d_step { ln[x]++; posted[q_]++; lock[q_] = 0; x = 0 };      /* publish, unlock */
#if !defined(PUB_OWN) && !defined(BIT_FIRST)
#ifdef POLLED
  atomic { READ_OWN(q_); if :: pol[q_] -> o = LOOKS :: else fi };
#else
  READ_OWN(q_);
#endif
#endif
#ifdef POLLED
  if
  :: o != LOOKS ->
#endif
#if FOLLOW || defined(PACK)
  follow(q_);
#endif
#if !defined(BIT_WAKE) && !defined(BIT_FIRST)
#ifdef FOLLOW_BIT
  if :: o != me -> set_ready(q_) :: else fi;
#else
  set_ready(q_);
#endif
#endif
  notify(o, q_);
#ifdef SUM_LATE
  SUM_ADD(o);
#endif
#ifdef BIT_WAKE
  SET_READY(o, q_);
#endif
#ifdef POLLED
  :: else                                     /* its worker looks */
  fi;
#endif
  o = 0
}
#ifdef POLLED
inline poll_begin() {
  atomic {
    if
    :: lq != NIL && own[lq] == me && !run_[lq] && !pol[lq] -> pol[lq] = 1; pd = 1
    :: else
    fi }
}
inline poll_end() {
  if
  :: pd ->
     pd = 0;
#ifdef POLL_FENCE                             /* looks first */
     ok = HAS_WORK(lq);
     atomic { if :: own[lq] == me && pol[lq] -> pol[lq] = 0 :: else -> ok = 0 fi };
#else
#ifdef POLL_BLIND
     atomic { own[lq] = me; run_[lq] = 0; pol[lq] = 0; ok = 1 };
#else
     atomic { if :: own[lq] == me && pol[lq] -> pol[lq] = 0; ok = 1 :: else -> ok = 0 fi };
#endif
#ifdef POLL_FORGET
     ok = 0;
#else
     if :: ok -> ok = HAS_WORK(lq) :: else fi;
#endif
#endif
     if :: ok -> SET_READY(me, lq); ok = 0 :: else fi
  :: else
  fi
}
#endif
inline any_queue() {
  if
#ifdef HUNG
  :: me != NIL -> z = 0
#else
  :: z = 0
#endif
  :: z = 1
#if Q > 2
  :: z = 2
#endif
  fi
}
inline look_others() { /* a source that is a busy worker's: h = that worker */
  v = 0; h = NIL;
  do
  :: v < W && h == NIL ->
     if
     :: v != me && busy[v] ->
#ifdef SUMMARY
        if :: sum[v] -> m = rdy[v] :: else -> m = 0 fi; x = 0;
#else
        m = rdy[v]; x = 0;
#endif
        do
        :: x < Q && h == NIL -> if :: (m & BIT(x)) && IS_OF(v, x) -> h = v :: else fi; x++
        :: else -> break
        od
     :: else
     fi;
     v++
  :: else -> break
  od;
  atomic { v = 0; m = 0; x = 0 }
}
#ifdef CMN_RUN
#define LOOK_MINE rdy[me]
#else
#define LOOK_MINE MAYBE_MINE
#endif
inline look_own() { if :: LOOK_MINE & (255 - BIT(q)) & (255 - FIXED) -> h = me :: else fi }

inline begin_run() {
  h = NIL;
#ifdef BUSY_ORDER
  if :: !srch -> look_own() :: else fi;
#endif
  busy[me] = 1;
  if
  :: srch ->
#ifdef SEARCH_ORDER
     look_others(); if :: h == NIL -> look_own() :: else fi;
     d_step { searching[NODE(me)]--; srch = 0 }
#else
     d_step { searching[NODE(me)]--; srch = 0 };
#ifndef SEARCH_END
     look_others();
#endif
     if :: h == NIL -> look_own() :: else fi
#endif
  :: else ->
#if !defined(BUSY_ORDER) && !defined(RUN_LOOK)
     look_own()
#endif
  fi;
  if :: h != NIL -> wake_one(h) :: else fi;
  h = 0
}
#if F > 0
inline flush() {                              /* ob sends of the handlers, to queues chosen now */
  do :: ob > 0 -> ob--; any_queue(); append(z); z = 0 :: else -> break od
}
#endif
#define OWN_CAS(v_) atomic { if :: own[q] == v_ && !run_[q] -> own[q] = me; run_[q] = 1; \
    TAKEN(q) ok = 1 :: else -> ok = 0 fi }

#ifdef KMOVE
inline move_one() { /* one more source y of the victim: mine, idle, with its bit */
#ifdef MOVE_RUNNING
  atomic { if :: own[y] == v -> own[y] = me; run_[y] = 0; ok = 1 :: else -> ok = 0 fi };
#else
  atomic { if :: own[y] == v && !run_[y] NOT_POLLED(y) -> own[y] = me; ok = 1
      :: else -> ok = 0 fi };
#endif
  if
  :: ok -> ok = 0;
#ifndef MOVE_BIT
     SET_READY(me, y);
#endif
#ifndef NOCLEAR
     CLEAR_READY(v, y);
#ifndef MOVE_BACK
     if :: own[y] == v -> SET_READY(v, y); notify(v, y) :: else fi
#endif
#endif
  :: else
  fi
}
inline move_more() {
  y = 0;
  do
  :: y < Q -> if :: y != q && (m & BIT(y)) && !IS_FIXED(y) -> move_one() :: else fi; y++
  :: else -> break
  od;
  y = 0
}
#endif

proctype worker(byte me) {
  byte q, o, v, s, m, h, x, c, t, i;
  bit ok, srch;                               /* srch: I am counted in searching */
#ifdef POLLED
  byte lq = NIL; bit pd;                      /* what I ran last, and whether I look at it */
#endif
#if MOD
  byte naps;
#endif
#ifdef KMOVE
  byte y;
#ifdef MOVE_LOOK
  byte w2, m2;
#endif
#endif
#ifdef SHARE
  bit r, has;
#endif
#if F > 0
  byte ob, z;
#endif
#ifdef CLEAR_AFTER
  byte from = NIL;
#endif
#ifdef HUNG
  if
  :: me == 0 ->
end_hung: false
  :: else
  fi;
#endif

idle: /* my own mask, or the common one: test and clear a bit, then take */
  if
  :: atomic { rdy[me] & 1 -> CLEAR_READY(me, 0); q = 0 }
  :: atomic { rdy[me] & 2 -> CLEAR_READY(me, 1); q = 1 }
#if Q > 2
  :: atomic { rdy[me] & 4 -> CLEAR_READY(me, 2); q = 2 }
#endif
#ifdef SHARE
  :: atomic { cmn & 1 -> cmn = cmn & 254; q = 0 }; goto common
  :: atomic { cmn & 2 -> cmn = cmn & 253; q = 1 }; goto common
#if Q > 2
  :: atomic { cmn & 4 -> cmn = cmn & 251; q = 2 }; goto common
#endif
#endif
  :: else -> goto search
  fi;
  OWN_CAS(me);
  if
  :: ok -> ok = 0; goto start
  :: else ->
#ifdef PASSON
     pass_on(q);
#endif
     goto idle
  fi;
#ifdef SHARE
common:                                       /* whose ever it is */
  READ_OWN(q);
  if
  :: !r -> OWN_CAS(o); o = 0; if :: ok -> ok = 0; goto start :: else fi
  :: else -> atomic { o = 0; r = 0 }
  fi;
#ifndef PASS_ON
  pass_on(q);
#endif
  goto idle;
#endif

search:
#ifdef SUMMARY
  if
  :: sum[me] ->
#ifdef SUM_FORGET                             /* looks at the mask, then clears */
     if :: rdy[me] -> skip :: else -> sum[me] = 0 fi
#else
     sum[me] = 0;
     if :: rdy[me] -> sum[me] = 1 :: else fi
#endif
  :: true                                     /* another time */
  fi;
#endif
#ifdef POLLED
  if :: !pd && !RESTS(me) -> poll_begin() :: else fi;
  if
  :: pd && HAS_WORK(lq) ->
     q = lq; pd = 0;
     OWN_CAS(me);
     if :: ok -> ok = 0; goto start :: else -> q = 0 fi
#ifndef IDLE
  :: pd -> goto idle                          /* looks at the bits again */
#endif
  :: true
  fi;
#endif
  if
  :: !srch && !RESTS(me) -> atomic { if :: searching[NODE(me)] == 0 -> searching[NODE(me)] = 1;
      srch = 1 :: else fi }
  :: else
  fi;
  if :: !srch -> goto park :: else fi;        /* one searcher is enough */
  i = 0;
  do
  :: i < W ->
     v = (h + i) % W;
     if
     :: v != me ->
#ifdef SUMMARY
        if :: sum[v] -> m = rdy[v] POLLS(v) :: else -> m = 0 POLLS(v) fi; q = 0;
#else
        m = rdy[v] POLLS(v); q = 0;
#endif
        do
        :: q < Q ->
           if
#if FIXED && !defined(FIXED_STEAL)
           :: (m & BIT(q)) && !IS_FIXED(q) ->
#else
           :: m & BIT(q) ->
#endif
#ifdef LAZY_STEAL /* takes it over, neither runs it nor sets a bit of its own */
              atomic { if :: own[q] == v && !run_[q] -> own[q] = me :: else fi };
#else
#ifdef STEAL_RUNNING
              atomic { if :: own[q] == v -> own[q] = me; run_[q] = 1; ok = 1 :: else -> ok = 0 fi };
#else
              OWN_CAS(v);
#endif
#endif
              if
              :: ok -> ok = 0;
#ifdef CLEAR_AFTER
                 from = v;
#else
#ifndef NOCLEAR
                 CLEAR_READY(v, q);
#endif
#endif
#ifdef KMOVE
#ifdef MOVE_LOOK
                 d_step { w2 = v; m2 = m; i = 0; v = 0; m = 0; h = 0 };
                 begin_run();
                 d_step { v = w2; m = m2; w2 = 0; m2 = 0 };
                 move_more();
                 atomic { v = 0; m = 0 };
                 goto begun;
#endif
                 move_more();
#endif
                 d_step { i = 0; v = 0; m = 0; h = 0 };
                 goto start
              :: else
              fi
           :: else
           fi;
           q++
        :: else -> break
        od
     :: else
     fi;
     i++
#ifndef IDLE
  :: true -> break                            /* gives up early */
#endif
  :: else -> break
  od;
  atomic { i = 0; v = 0; m = 0; h = 0; q = 0 };

park:
#if defined(POLLED) && !defined(POLL_PARK)
  poll_end();
#endif
#ifdef FLAG_LOOK                              /* looks first, then sets the flag */
  if :: rdy[me] -> goto idle :: else fi;
  look_others();
  if :: h != NIL -> goto idle :: else fi;
  asleep[me] = 1;
  if :: srch -> d_step { searching[NODE(me)]--; srch = 0 } :: else fi;
#else
  asleep[me] = 1;
#ifdef PARK_DEBT                              /* the search ends before the look at the own mask */
  if :: srch -> d_step { searching[NODE(me)]--; srch = 0 } :: else fi;
#endif
#ifndef PARK_OWN
  if
#ifdef CMN_PARK
  :: rdy[me] ->
#else
  :: MAYBE_MINE ->
#endif
     CLAIM(me); if :: ok -> ok = 0; goto idle :: else -> goto wait fi
  :: else
  fi;
#endif
#ifdef SEARCH_PARK                            /* the search ends after the look at the others */
  look_others();
  if :: srch -> d_step { searching[NODE(me)]--; srch = 0 } :: else fi;
#else
  if :: srch -> d_step { searching[NODE(me)]--; srch = 0 } :: else fi;
#if defined(SHARE) && !defined(CMN_BUSY) && !defined(CMN_PARK)
  if
  :: cmn -> CLAIM(me); if :: ok -> ok = 0; goto idle :: else -> goto wait fi
  :: else
  fi;
#endif
#ifdef PARK_BUSY
  h = NIL;
#else
  if :: RESTS(me) -> h = NIL :: else -> look_others() fi;
#endif
#endif
  if
  :: h == NIL
  :: else ->
     atomic { if :: searching[NODE(me)] == 0 -> searching[NODE(me)] = 1; srch = 1 :: else fi };
     if
     :: srch -> CLAIM(me); if :: ok -> ok = 0; goto search :: else fi
     :: else                                  /* somebody searches and will look again */
     fi
  fi;
#endif
wait:
  h = 0;
end_wait:
  if
  :: atomic {
       tok[me] -> tok[me] = 0;
       if
       :: given[me] -> given[me] = 0; h = hint[me]; hint[me] = 0;
          if :: srch -> searching[NODE(me)]-- :: else -> srch = 1 fi
       :: else
       fi }
#if MOD
  :: atomic { naps < MOD -> naps++ };         /* a moderate park times out */
#ifdef TIMEOUT_CLAIM
     asleep[me] = 0
#else
     CLAIM(me);
     if :: ok -> ok = 0 :: else -> goto end_wait fi /* a token is under way */
#endif
#endif
  fi;
  goto idle;

start:                                        /* own[q] == (me, running) */
#if FIXED
  assert(!IS_FIXED(q) || me == q % W);
#endif
#if MOD
  naps = 0;
#endif
#if defined(POLLED) && !defined(POLL_RUN) && !defined(POLL_LATE)
  poll_end();
#endif
  begin_run();
#ifdef POLL_LATE
  poll_end();
#endif
#ifdef MOVE_LOOK
begun:
#endif
  if
  :: !bat[q] && ln[ACT(q)] > 0 ->             /* gulp */
     assert(ln[INA(q)] == 0 && cur[q] == 0);
#ifdef FLIP_NOLOCK
     d_step { act[q] = 1 - act[q]; bat[q] = 1 }
#else
     if
     :: atomic { !lock[q] -> act[q] = 1 - act[q]; bat[q] = 1 }  /* at once */
     :: atomic { !lock[q] -> lock[q] = 1 };   /* an appender had it when that was tried */
        d_step { act[q] = 1 - act[q]; bat[q] = 1; lock[q] = 0 }
     fi
#endif
  :: else
  fi;
  d_step { c = cur[q]; t = ln[INA(q)] };
  do
  :: c < t ->
     d_step { inrun[q]++; assert(inrun[q] == 1); assert(B(INA(q), c) == done_[q] + 1) };
#if STUCK > 0
     if
     :: atomic { stuckers < STUCK -> stuckers++; stuck = stuck | BIT(q) HANG };
end_stuck: false
     :: true
     fi;
#endif
progress:
     d_step { inrun[q]--; done_[q]++; c++ };
#if F > 0
     if :: d_step { sent < F -> sent++; ob++ } :: true fi;
     if
     :: ob > 0 && c < t ->                    /* flush in the middle of the batch */
        flush();
#ifndef MID_LOOK
        h = NIL; look_own(); if :: h != NIL -> wake_one(h) :: else fi; h = 0
#endif
     :: true
     fi;
#endif
     if :: c < t -> goto partial :: true fi   /* throughput used up */
  :: else -> break
  od;
#if F > 0
  flush();
#endif
  atomic { ln[INA(q)] = 0; cur[q] = 0; bat[q] = 0; c = 0; t = 0 };
#ifdef SHARE
  has = ln[ACT(q)] > 0;
#elif !defined(REL_LOOK)
  if :: ln[ACT(q)] > 0 -> SET_READY(me, q) :: else fi;
#endif
#ifdef CLEAR_FIRST
  CLEAR_READY(me, q);
#endif
  goto release;
partial:
#if F > 0
  flush();
#endif
  atomic { cur[q] = c; c = 0; t = 0 };
#ifdef SHARE
  has = 1;
#elif !defined(PARK_BIT)
  SET_READY(me, q);
#endif
release:
#ifdef SHARE
#ifdef VISIT
  if
  :: HOME(q) != me -> atomic { own[q] = HOME(q); run_[q] = 0 };
     if :: bat[q] || ln[ACT(q)] > 0 -> signal(q) :: else fi;
     goto released
  :: else
  fi;
#endif
  if
  :: share && !IS_FIXED(q) && !IS_FOLLOW(q) ->
     atomic { own[q] = me; run_[q] = 0 };
     if :: has -> cmn = cmn | BIT(q) :: else fi
  :: else ->
     if :: has -> SET_READY(me, q) :: else fi;
     atomic { own[q] = me; run_[q] = 0 }
  fi;
released:
  has = 0;
#elif defined(VISIT) || defined(PACK)
#ifdef VISIT
  o = HOME(q);
#else
  o = me;
  if :: lent[q] && !RESTS(lent[q] - 1) -> o = lent[q] - 1; lent[q] = 0 :: else fi;
#endif
#ifdef VISIT_ORDER                            /* looks while it still has the source */
  if :: o != me && (bat[q] || ln[ACT(q)] > 0) -> h = me :: else fi;
  atomic { own[q] = o; run_[q] = 0 };
  if :: h == me -> SET_READY(o, q); notify(o, q) :: else fi;
  h = 0;
#else
  atomic { own[q] = o; run_[q] = 0 };
#ifndef VISIT_RECHECK
  if :: o != me && (bat[q] || ln[ACT(q)] > 0) -> signal(q) :: else fi;
#endif
#endif
  o = 0;
#else
  atomic { own[q] = me; run_[q] = 0 };
#endif
#ifdef CLEAR_AFTER
  if :: from != NIL -> CLEAR_READY(from, q); from = NIL :: else fi;
#endif
#ifdef POLLED
  lq = q;
#endif
  d_step { busy[me] = 0; q = 0 };
  goto idle
}
proctype outside() { /* a timer, a detached thread: appends, is no worker */
  byte n, o, s, x, z, me = NIL; bit ok;
#ifdef SHARE
  bit r;
#endif
  do
  :: n < N -> n++; any_queue(); append(z); z = 0
  :: else -> break
  od
}
#ifdef FLIP
proctype flip() { if :: share = 1 :: skip fi; share = 1 - share; share = 1 - share }
#endif
#ifdef PACK
inline wake_all() {
  w = 0;
  do :: w < W -> CLAIM(w); if :: ok -> d_step { tok[w] = 1; ok = 0 } :: else fi; w++
     :: else -> break od
}
proctype pack() {
  byte w; bit ok;
  rests = 1; wake_all();
  rests = 0;
#ifndef PACK_WAKE
  wake_all()
#endif
}
#endif
proctype watch() {
  byte i;
  timeout -> d_step {
    do :: i < Q -> assert(LEFT(i) || (posted[i] == done_[i] && !bat[i] && !run_[i]));
        i++ :: else -> break od;
    i = 0; do :: i < NODES -> assert(searching[i] == 0); i++ :: else -> break od }
}
init {
  byte i;
  atomic {
#ifdef HUNG
    stuck = 1; run_[0] = 1; busy[0] = 1;
#else
    i = 1; do :: i < Q -> if :: IS_FIXED(i) -> own[i] = i % W :: !IS_FIXED(i) ->
        own[i] = 0 :: !IS_FIXED(i) -> own[i] = 1 fi; i++ :: else -> break od;
#endif
    i = 0; do :: i < W -> run worker(i); i++ :: else -> break od;
    run outside(); run watch();
#ifdef FLIP
    run flip()
#endif
#ifdef PACK
    run pack()
#endif
  }
}
