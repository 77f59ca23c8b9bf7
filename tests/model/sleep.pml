/* SPDX-License-Identifier: Apache-2.0
 *
 * sleep.pml - why stealing by swapping queue pointers does not go together with workers that sleep.
 *
 * W workers with R slots each; N messages from one producer to any queue; a worker that finds
 * nothing sets its flag, looks again and sleeps. Shown or refuted: when everything is blocked,
 * nothing is pending (else a wake-up was lost); one worker at a time per queue. The story is told
 * in docs/why; the engine uses V=2.
 *  V=0 swap of two slots; an append wakes the worker noted as the queue's home: loses wake-ups,
 *  must fail
 *  V=1 the obvious repair: look again after a run and after a swap, wake the home: still loses
 *  wake-ups, must fail V=2 one own word {worker, running} per queue, a steal is one
 *  compare-and-swap on it, refused while the queue runs: holds V=3 the swap kept, home found by
 *  scanning all slots, everybody woken when a queue is in nobody's slot: holds, at that price
 *
 * KS steals per worker. States: V=2 W=2 N=3 7.7 million, V=2 W=3 N=1 KS=1 22 million, V=3 W=2 N=2
 * 36 million, N=3 135 million.
 */
#ifndef W
#define W 2
#endif
#ifndef R
#define R 1
#endif
#ifndef N
#define N 3
#endif
#ifndef V
#define V 0
#endif
#ifndef KS
#define KS 2      /* steals per worker (bound) */
#endif
#define Q (W*R)
#define NIL 255
byte slot[Q];
byte home[Q];
byte cnt[Q];          /* pending messages */
byte posted[Q];       /* ghost */
byte done_[Q];        /* ghost: processed */
bool being[Q];        /* being_processed / running bit */
byte inproc[Q];       /* ghost */
bool asleep[W];
byte total = 0;       /* ghost: processed overall */
bool prod_done = false;

inline wake(w) { asleep[w] = false }

inline gulp(q) {                      /* transfer() + deliver loop + release */
  atomic {                            /* under the queue lock */
    if :: being[q] -> b = 0
       :: else -> b = cnt[q]; cnt[q] = 0; being[q] = (b > 0)
#if V==2
       /* CAS (me,idle)->(me,running) failed */
       ; if :: home[q] != me -> cnt[q] = b; being[q] = false; b = 0 :: else fi
#endif
    fi }
  if
  :: b > 0 ->
     got = true;
     do
     :: b > 0 ->
        inproc[q]++; assert(inproc[q] == 1);      /* mutual exclusion per queue */
        atomic { inproc[q]--; done_[q]++; total++; b-- }
     :: else -> break
     od;
     being[q] = false;                            /* release */
#if V==1
     if :: cnt[q] > 0 -> h = home[q]; wake(h) :: else fi
#endif
#if V==3
     if :: cnt[q] > 0 -> find_and_wake(q) :: else fi
#endif
  :: else
  fi
}

#if V==3
inline find_and_wake(q) {
  f = NIL; x = 0;
  do :: x < Q -> if :: slot[x] == q -> f = x/R :: else fi; x++ :: else -> break od;
  if :: f != NIL -> wake(f)
     :: else -> x = 0; do :: x < W -> wake(x); x++ :: else -> break od
  fi
}
#endif

proctype worker(byte me) {
  byte i, q, b, h, my, vic, mq, oq, f, x, ks = 0; bool got;
scan:
  got = false; i = 0;
  do
  :: i < R ->
#if V==2
     q = 0;
     do :: q < Q -> if :: home[q] == me && cnt[q] > 0 -> gulp(q) :: else fi;
         q++ :: else -> break od;
     i = R
#else
     q = slot[me*R+i];
     if :: cnt[q] > 0 -> gulp(q) :: else fi;
     i++
#endif
  :: else -> break
  od;
  if :: got -> goto scan :: else fi;
  /* steal */
  if
  :: ks < KS ->
     ks++;
#if V==2
     select(vic : 0 .. (Q-1));
     h = home[vic];
     if
     :: h != me && cnt[vic] > 0 ->
        atomic { if :: home[vic] == h && !being[vic] -> home[vic] = me; got = true :: else fi };
        if :: got -> goto scan :: else fi
     :: else
     fi
#else
     select(my : 0 .. (R-1)); my = me*R+my;
     select(vic : 0 .. (Q-1));
     if
     :: vic/R != me ->
        mq = slot[my]; oq = slot[vic];
        if
        :: oq != NIL && cnt[oq] > 0 && !being[oq] ->
           atomic { if :: slot[my] == mq -> slot[my] = NIL; got = true :: else fi };
           if
           :: got ->
              got = false;
              atomic { if :: slot[vic] == oq -> slot[vic] = mq; got = true :: else fi };
              if
              :: got ->
                 slot[my] = oq;
#if V==0 || V==1
                 home[oq] = me;
                 home[mq] = vic/R;
#endif
#if V==1
                 if :: cnt[mq] > 0 -> h = home[mq]; wake(h) :: else fi;
#endif
#if V==3
                 if :: cnt[mq] > 0 -> find_and_wake(mq) :: else fi;
#endif
                 goto scan
              :: else -> slot[my] = mq
              fi
           :: else
           fi
        :: else
        fi
     :: else
     fi
#endif
  :: else
  fi;
  /* go to sleep: publish, recheck, wait */
  asleep[me] = true;
  i = 0; got = false;
#if V==2
  do :: i < Q -> if :: home[i] == me && cnt[i] > 0 -> got = true :: else fi;
      i++ :: else -> break od;
#else
  do :: i < R -> q = slot[me*R+i]; if :: cnt[q] > 0 && !being[q] -> got = true :: else fi;
      i++ :: else -> break od;
#endif
  if :: got -> asleep[me] = false; goto scan :: else fi;
end_sleep:
  !asleep[me];
  goto scan
}

proctype producer() {
  byte n = 0, q, h, f, x;
  do
  :: n < N ->
     select(q : 0 .. (Q-1));
     atomic { cnt[q]++; posted[q]++ }
#if V==3
     find_and_wake(q);
#else
     h = home[q];
     wake(h);
#endif
     n++
  :: else -> break
  od;
  prod_done = true
}

proctype watch() {   /* everything else blocked: nothing may be pending */
  timeout -> assert(total == N)
}

init {
  byte i = 0;
  atomic {
    do :: i < Q -> slot[i] = i; home[i] = i/R; i++ :: else -> break od;
    i = 0; do :: i < W -> run worker(i); i++ :: else -> break od;
    run producer(); run watch()
  }
}
