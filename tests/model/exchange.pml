/* SPDX-License-Identifier: Apache-2.0
 *
 * exchange.pml - an actor whose handler does not return is set aside, and, behind a kill,
 * postponed, whatever instruction that is at.
 *
 * set_aside.c: a queue Q and worker 0's aside queue A exchange buffers. What is behind the running
 * record is copied to A's empty buffer; one flip (COMMIT_ASIDE) names the record in Q's buffer as a
 * batch of A, and, as a redo, what the words of both queues become; these are stored one by one; a
 * second flip names the batch alone. Whoever runs Q sends on what it meets for that actor, and
 * takes it back when A is empty. postpone.c: recovery writes what the batch of a handler that hung
 * had left, and the active buffer, once more behind the batch, that actor's records last; one flip
 * (COMMIT_POSTPONED) makes the copy the batch, and says, as a redo, that the active buffer is
 * empty.
 *
 * One sender: N messages to X, M to Y, all in Q; X's handler sends a third row to Y, into its own
 * batch (tail append) or through its outbox. Two workers run Q and A, and may stop behind any
 * message; the control thread sets aside whom worker 0 runs, at any point inside its handler. The
 * process is killed at any store, up to CR times, found to hang or not, recovery at any of its own,
 * any number of times. Appends, flushes and flips are one step each (commit.pml, durable.pml).
 *
 * Shown: each row comes in order, each number once, or once more, marked as redelivered, if it was
 * running at a kill; no actor is run by two; one kill marks one record a worker; in the end all has
 * been run and nothing is left.
 *
 * Mutants (each must fail):
 *   set_aside.A1: ASIDE_TAIL (set aside though it has sent into its own batch), ASIDE_UNFLUSHED
 *            (what the messages before it sent stays in the outbox, while others run Q)
 *   set_aside.A2: ASIDE_WORDS_FIRST (the words before the flip), ASIDE_NO_REDO (recovery does not
 *            store them), ASIDE_NO_SECOND (no second flip), ASIDE_OWN_EARLY (others may run Q
 *            before it), ASIDE_COPY_LATE (the copy behind the flip), ASIDE_BUSY (A is not empty)
 *   set_aside.A3: ASIDE_STALE (the worker goes on with the batch's end that it had)
 *   set_aside.A6: BACK_HELD, see below
 *   detour.A4: ASIDE_HERE (records met in Q are run there), BACK_SENT (taken back with records for
 *            A in the outbox), BACK_RUNNING (taken back while A is being run), ASIDE_TWO (another
 *            actor is set aside, and the last one does not come back), BACK_HELD (it does, with
 *            records for A in the worker's outbox)
 *   set_aside.A5: ASIDE_FORGOT (nobody is set aside behind a crash)
 *   postpone.PP1: PP_EMPTY_FIRST (the active buffer is emptied before the flip), PP_IN_PLACE
 *       (rewritten in the batch's own place)
 *   postpone.PP2: PP_NO_REDO (recovery does not empty it), PP_REDO_LATE (it does it behind the
 *       flushes)
 *   order    PP_ONE (only the record that hung goes last), PP_TURN (what is first then counts as
 *       running)
 *
 * States: CR=1 N=2 M=1 35.1 million; X's first (-DFIRST) 16.5; X's handler sends nothing (-DQUIET)
 * 3.2, both 1.1; CR=0 0.5; CR=0 N=4 -DQUIET 1.6.
 */
#ifndef N
#define N 2
#endif
#ifndef M
#define M 1
#endif
#ifndef CR
#define CR 1
#endif
#define Q 0
#define A 1
#define NONE 2
#ifdef QUIET                                       /* X's handler sends nothing */
#define SENDS false
#else
#define SENDS true
#endif
#define X 1
#define Y 2
#define CAP 8
/* A record: row * 8 + number, a mark, and, in an outbox, that it goes to A. */
#define TO_X 0
#define TO_Y 8
#define X_TO_Y 16
#define MARK 32
#define ON 64
#define ROW(r_) (((r_) % MARK) / 8)
#define NUMBER(r_) ((r_) % 8)
#define TO(r_) (ROW(r_) == 0 -> X : Y)
#define REC(q_, i_, at_) win[wdw[(q_)*2 + (i_)]*CAP + (at_)]
#define INACT(q_) (1 - act[q_])
#define WORK(q_) (batch[q_] || fill[(q_)*2 + act[q_]] > 0)

#define ASIDE 1
#define POSTPONED 2

/* durable: queues; commit records, outboxes, what is running, what hung (with the present count) */
byte win[4*CAP]; byte wdw[4]; byte fill[4]; bit act[2]; bit batch[2]; byte cur[2];
byte src[2]; byte ccur[2]; byte ctail[2]; byte cout[2]; byte redo[2]; byte rest; byte wfull;
    byte wempty;
byte ob[2*CAP]; bit turn[2]; bit hung[2];
/* the process's */
byte own[2]; byte wq[2]; byte wtail[2]; byte wout[2]; bit used[2]; bit sent_on[2]; byte inside[2];
    bit held;
byte aside; bit is_aside[3];                      /* whose A is; by actor */
/* the world */
byte last[3]; byte marks[2];
bool up = true; byte dead; byte crashes;

/* inside d_step, or with nobody else at it */
inline append(q_, r_) { REC(q_, act[q_], fill[(q_)*2 + act[q_]]) = r_; fill[(q_)*2 + act[q_]]++ }
inline flush(w_, n_) {
  i = 0;
  do
  :: i < n_ ->
     if
     :: ob[(w_)*CAP + i] >= ON -> append(A, ob[(w_)*CAP + i] - ON)
     :: else -> append(Q, ob[(w_)*CAP + i])
     fi;
     ob[(w_)*CAP + i] = 0;
     i++
  :: else -> break
  od;
  i = 0; cout[w_] = 0; hung[w_] = 0
}
inline flip(w_, src_, cur_, tail_, out_, redo_) {
  src[w_] = src_; ccur[w_] = cur_; ctail[w_] = tail_; cout[w_] = out_; redo[w_] = redo_;
      hung[w_] = 0
}
inline clean(q_, i_) { i = 0; do :: i < CAP -> REC(q_, i_, i) = 0; i++ :: else -> break od; i = 0 }

#ifdef FIRST                                       /* so many of X's, then Y's, then the rest */
#define X_NEXT (x < FIRST || y == M)
#define Y_NEXT (x >= FIRST)
#else
#define X_NEXT true
#define Y_NEXT true
#endif
/* X has been set aside with its first; its second has been sent on, Y's and its third wait */
#ifdef LATER
#define SENT N
#define BEGIN last[0] = 1; last[2] = 1; aside = X; is_aside[X] = 1; append(A, TO_X + 2); \
    append(Q, TO_Y + 1); append(Q, TO_X + 3);
#else
#define SENT 0
#define BEGIN
#endif
proctype sender() {
  byte x = SENT, y = (SENT > 0 -> M : 0);
end:
  do
  :: atomic { up && x < N && X_NEXT -> x++; append(Q, TO_X + x) }
  :: atomic { up && y < M && Y_NEXT -> y++; append(Q, TO_Y + y) }
  od
}

proctype worker(byte me) {
  byte r, i; bit here;
W0:
  {
  up;
end_loop:
  atomic {
    if
    :: own[Q] == 0 && WORK(Q) -> wq[me] = Q
    :: own[A] == 0 && WORK(A) -> wq[me] = A
    fi;
    own[wq[me]] = me+1 };
  /* gulp */
  d_step { if :: !batch[wq[me]] -> act[wq[me]] = INACT(wq[me]); batch[wq[me]] = 1 :: else fi };
  d_step {                                                             /* attach */
    wtail[me] = fill[wq[me]*2 + INACT(wq[me])];
    flip(me, wq[me]+1, cur[wq[me]], wtail[me], 0, 0) };
  turn[me] = 1;
  do
  :: ccur[me] < wtail[me] ->
     d_step {
       r = REC(wq[me], INACT(wq[me]), ccur[me]);
       here = 1;
       if
       :: is_aside[TO(r)] && wq[me] == Q ->
          assert(aside == TO(r));
          if
#ifdef BACK_SENT
          :: own[A] == 0 && !WORK(A) -> aside = 0; is_aside[TO(r)] = 0
#else
#ifdef BACK_RUNNING
          :: !sent_on[me] && fill[A*2 + act[A]] == 0 -> aside = 0; is_aside[TO(r)] = 0
#else
          :: !sent_on[me] && own[A] == 0 && !WORK(A) -> aside = 0; is_aside[TO(r)] = 0
#endif
#endif
          :: else ->
#ifndef ASIDE_HERE
             here = 0
#endif
          fi
       :: else
       fi };
     if
     :: here ->
        d_step {                                                       /* the handler begins */
          assert(NUMBER(r) == last[ROW(r)] + 1 || (NUMBER(r) == last[ROW(r)] && r >= MARK));
          assert(inside[1-me] != TO(r));
          last[ROW(r)] = NUMBER(r);
          inside[me] = TO(r) };
        if
        :: ROW(r) == 0 && SENDS ->
           d_step {
             (!held || me > 0) -> /* it sends; when it is held it stands still */
             if
             :: wq[me] == Q && !used[me] && wtail[me] < CAP && fill[Q*2 + act[Q]] == 0 ->
                REC(Q, INACT(Q), wtail[me]) = X_TO_Y + NUMBER(r);
                wtail[me]++
             :: else -> ob[me*CAP + wout[me]] = X_TO_Y + NUMBER(r); wout[me]++; used[me] = 1
             fi }
        :: else
        fi;
        d_step {
          (!held || me > 0) ->
          ccur[me] = ccur[me]+1; ctail[me] = wtail[me]; cout[me] = wout[me]; hung[me] = 0;
              inside[me] = 0 }
     :: else ->
        d_step {                                                       /* sent on */
          ob[me*CAP + wout[me]] = ON + r; wout[me]++; sent_on[me] = 1;
          ccur[me] = ccur[me]+1; ctail[me] = wtail[me]; cout[me] = wout[me]; hung[me] = 0 }
     fi;
     if :: true -> break :: true fi                                    /* the limit */
  :: else -> break
  od;
  turn[me] = 0;
  d_step { r = 0; here = 0; if :: wout[me] > 0 -> flush(me, wout[me]); wout[me] = 0 :: else fi;
      sent_on[me] = 0; used[me] = 0 };
  d_step {                                                             /* release, or park */
    if
    :: ccur[me] == wtail[me] ->
       clean(wq[me], INACT(wq[me]));
       fill[wq[me]*2 + INACT(wq[me])] = 0; cur[wq[me]] = 0; batch[wq[me]] = 0
    :: else -> fill[wq[me]*2 + INACT(wq[me])] = wtail[me]; cur[wq[me]] = ccur[me]
    fi };
  d_step { flip(me, 0, 0, 0, 0, 0) };
  d_step { own[wq[me]] = 0; wq[me] = NONE; wtail[me] = 0 };
  goto end_loop
  } unless { !up };
  d_step { r = 0; i = 0; here = 0; dead++ };
  atomic { up -> dead-- };
  goto W0
}

/* The words of both queues, one by one; recovery may be killed behind each (K). */
#define ASIDE_REDO(K) \
  wdw[Q*2 + INACT(Q)] = wempty; K; \
  fill[Q*2 + INACT(Q)] = rest; K; \
  cur[Q] = 0; K; \
  wdw[A*2 + INACT(A)] = wfull; K; \
  fill[A*2 + INACT(A)] = ccur[0]+1; K; \
  cur[A] = ccur[0]; K; \
  batch[A] = 1; K

#ifdef ASIDE_TAIL
#define A1 true
#else
#define A1 (wtail[0] == ctail[0])
#endif
#ifdef ASIDE_BUSY
#define EMPTY !batch[A]
#else
#define EMPTY !WORK(A)
#endif
#ifdef BACK_HELD
#define NOBODY true
#else
#define NOBODY (aside == 0 || !sent_on[0])
#endif

inline copy_rest() {
  d_step {
    do
    :: ccur[0] + 1 + i < behind -> win[wempty*CAP + i] = win[wfull*CAP + ccur[0] + 1 + i]; i++
    :: else -> break
    od;
    rest = i; i = 0 }
}

/* In the name of the worker: what it had committed, not what the handler has sent since. */
inline flush_committed() {
  k = cout[0];
  flush(0, k);
  do :: k + i < wout[0] -> ob[i] = ob[k + i]; ob[k + i] = 0; i++ :: else -> break od;
  wout[0] = wout[0] - k; k = 0; i = 0; sent_on[0] = 0
}

proctype control() {
  byte i, k, behind;
C0:
  {
  up;
end_loop:
  atomic { inside[0] > 0 && wq[0] == Q && A1 && own[A] == 0 && EMPTY && NOBODY -> held = 1;
      own[A] = 1 };
  d_step { behind = ctail[0]; wfull = wdw[Q*2 + INACT(Q)]; wempty = wdw[A*2 + INACT(A)] };
#ifndef ASIDE_UNFLUSHED
  d_step { if :: cout[0] > 0 -> flush_committed() :: else fi };
#endif
#ifndef ASIDE_COPY_LATE
  copy_rest();
#endif
#ifdef ASIDE_WORDS_FIRST
  ASIDE_REDO(skip);
#endif
  d_step { rest = behind - ccur[0] - 1; flip(0, A+1, ccur[0], ccur[0]+1, cout[0], ASIDE) };
#ifdef ASIDE_COPY_LATE
  copy_rest();
#endif
#ifdef ASIDE_OWN_EARLY
  own[Q] = 0;
#endif
  ASIDE_REDO(skip);
#ifndef ASIDE_NO_SECOND
  d_step { flip(0, A+1, ccur[0], ctail[0], cout[0], 0) };
#endif
  d_step {
#ifndef ASIDE_TWO
    is_aside[aside] = 0;
#endif
    aside = inside[0]; is_aside[aside] = 1; wq[0] = A; used[0] = 1;
#ifndef ASIDE_STALE
    wtail[0] = ctail[0];
#endif
#ifndef ASIDE_OWN_EARLY
    own[Q] = 0;
#endif
    held = 0; behind = 0 };
  goto end_loop
  } unless { !up };
  d_step { i = 0; k = 0; behind = 0; dead++ };
  atomic { up -> dead-- };
  goto C0
}

proctype chaos() {
end:
  do
  :: d_step { up && crashes < CR -> crashes++; up = false }
  :: d_step { up && crashes < CR && inside[0] > 0 -> crashes++; hung[0] = 1; up = false }
  :: d_step { up && crashes < CR && inside[1] > 0 -> crashes++; hung[1] = 1; up = false }
  od
}
#define KILL if :: true -> goto again :: true fi

#ifdef PP_ONE
#define ITS(at_) ((at_) == ccur[w])
#else
#define ITS(at_) (TO(REC(q, INACT(q), at_)) == to)
#endif
#ifdef PP_ONE
#define ITS_LATER(at_) false
#else
#define ITS_LATER(at_) (TO(REC(q, act[q], at_)) == to)
#endif
/* Those of the batch that are, or are not, to's, then those of the active buffer, from `behind`
 * on. */
inline copy_those(its_) {
  i = ccur[w];
  do :: i < ctail[w] -> if :: ITS(i) == its_ -> REC(q, INACT(q), behind) = REC(q, INACT(q), i);
      behind++ :: else fi; i++ :: else -> break od;
  i = 0;
  do
  :: i < fill[q*2 + act[q]] -> if :: ITS_LATER(i) == its_ ->
      REC(q, INACT(q), behind) = REC(q, act[q], i); behind++ :: else fi; i++
  :: else -> break
  od;
  i = 0
}

#ifdef ASIDE_NO_REDO
#define NAMES_ASIDE false
#else
#define NAMES_ASIDE (src[w] > 0 && redo[w] == ASIDE)
#endif
#ifdef PP_NO_REDO
#define NAMES_POSTPONED false
#else
#define NAMES_POSTPONED (src[w] > 0 && redo[w] == POSTPONED)
#endif

proctype recovery() {
  byte w, q, i, behind, to; bit hangs;
end:
  !up && dead == 3;
again:
  atomic {
    w = 0; i = 0; behind = 0; to = 0; hangs = 0;
    own[Q] = 0; own[A] = 0; held = 0; aside = 0; is_aside[X] = 0; is_aside[Y] = 0;
    do
    :: w < 2 -> wq[w] = NONE; wtail[w] = 0; wout[w] = 0; used[w] = 0; sent_on[w] = 0;
        inside[w] = 0; w++
    :: else -> break
    od;
    w = 0; q = 0 };
  do
  :: w < 2 ->
     if :: NAMES_ASIDE -> ASIDE_REDO(KILL) :: else fi;
     q = (src[w] > 0 -> src[w] - 1 : 0);
     hangs = 0;
     if
     :: src[w] > 0 && turn[w] && ccur[w] < ctail[w] ->
        d_step {
          if :: REC(q, INACT(q), ccur[w]) < MARK ->
              REC(q, INACT(q), ccur[w]) = REC(q, INACT(q), ccur[w]) + MARK; marks[w]++ :: else fi;
          to = TO(REC(q, INACT(q), ccur[w]));
          hangs = hung[w] };
        KILL
     :: else
     fi;
#ifndef PP_REDO_LATE
     if :: NAMES_POSTPONED -> fill[q*2 + act[q]] = 0; KILL :: else fi;
#endif
     if :: cout[w] > 0 -> d_step { flush(w, cout[w]); hung[w] = hangs }; KILL :: else fi;
     if
     :: hangs ->
#ifndef PP_TURN
        turn[w] = 0; KILL;
#endif
        if
        :: batch[q] && 2*ctail[w] - ccur[w] + fill[q*2 + act[q]] <= CAP ->
           d_step { behind = ctail[w]; copy_those(false) };
           if
           :: behind > ctail[w] ->
              d_step { copy_those(true) };
              KILL;
#ifdef PP_EMPTY_FIRST
              fill[q*2 + act[q]] = 0; KILL;
#endif
#ifdef PP_IN_PLACE
              do
              :: ctail[w] + i < behind ->
                 REC(q, INACT(q), ccur[w] + i) = REC(q, INACT(q), ctail[w] + i); i++; KILL
              :: else -> break
              od;
              i = 0;
              d_step { behind = behind + ccur[w] - ctail[w];
                  flip(w, q+1, ccur[w], behind, 0, POSTPONED) }; KILL;
#else
              d_step { flip(w, q+1, ctail[w], behind, 0, POSTPONED) }; KILL;
#endif
#ifndef PP_REDO_LATE
              fill[q*2 + act[q]] = 0; KILL
#endif
           :: else
           fi
        :: else
        fi;
        behind = 0
     :: else
     fi;
     if
     :: src[w] > 0 && batch[q] -> fill[q*2 + INACT(q)] = ctail[w]; KILL; cur[q] = ccur[w]; KILL
     :: else
     fi;
#ifndef PP_REDO_LATE
     d_step { flip(w, 0, 0, 0, 0, 0) }; KILL;
     turn[w] = 0; KILL;
#endif
     w++
  :: else -> break
  od;
#ifdef PP_REDO_LATE
  w = 0;
  do
  :: w < 2 ->
     q = (src[w] > 0 -> src[w] - 1 : 0);
     if :: NAMES_POSTPONED -> fill[q*2 + act[q]] = 0; KILL :: else fi;
     d_step { flip(w, 0, 0, 0, 0, 0) }; KILL;
     turn[w] = 0; KILL;
     w++
  :: else -> break
  od;
#endif
  w = 0;
  d_step {
    assert(marks[0] <= crashes && marks[1] <= crashes);
    assert((batch[Q] || fill[Q*2 + INACT(Q)] == 0) && (batch[A] || fill[A*2 + INACT(A)] == 0));
#ifndef ASIDE_FORGOT
    if
    :: batch[A] && cur[A] < fill[A*2 + INACT(A)] -> aside = TO(REC(A, INACT(A), cur[A]));
        is_aside[aside] = 1
    :: else ->
       if :: fill[A*2 + act[A]] > 0 -> aside = TO(REC(A, act[A], 0)); is_aside[aside] = 1 :: else fi
    fi;
#endif
    q = 0; to = 0; hangs = 0;
    up = true };
  goto end
}
proctype watch() {
  timeout ->
  assert(last[0] == N && last[1] == M && last[2] == N * SENDS && !WORK(Q) && !WORK(A) &&
    src[0] == 0 && src[1] == 0)
}
init {
  atomic {
    wdw[1] = 1; wdw[2] = 2; wdw[3] = 3; wq[0] = NONE; wq[1] = NONE;
    BEGIN
    run sender(); run worker(0); run worker(1); run control(); run chaos(); run recovery();
        run watch() }
}
