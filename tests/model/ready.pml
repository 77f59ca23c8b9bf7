/* SPDX-License-Identifier: Apache-2.0
 *
 * ready.pml - the smallest form of "own word and ready mask": why a bit may be a mere hint.
 *
 * One own word {worker, running} per queue, a mask of ready bits per worker, a steal that is one
 * compare-and-swap and runs at once. Append: count; read own; set that worker's bit; wake it if it
 * sleeps. Whole queues are drained, no handler hangs, nobody looks at another worker's mask;
 * gulp_steal_park.pml is the full thing (docs/engine.md).
 *
 * Shown: one worker at a time per queue; at the end nothing is pending. And which steps are spare
 * in this form: handing a stale bit on (-DNOFWD leaves it out) and looking again after a run
 * (-DNORECHK), but only because EVERY append sets the bit. Once appends set it on the change from
 * empty to not empty only (-DEDGE), looking again is needed.
 *
 * Mutants that must fail: EARLYREAD (own is read before the count is raised) and LAZYSTEAL (takes a
 * queue over without running it), both with NOFWD, since handing stale bits on would cover them up;
 * STEALRUN (steals a running queue); EDGE with NORECHK.
 *
 * States: W=2 Q=2 N=2 3.4 million, with EDGE 3.6; N=3 21 million, with EDGE 22 million.
 */
#ifndef W
#define W 2
#endif
#ifndef Q
#define Q 2
#endif
#ifndef N
#define N 3
#endif
#ifndef KS
#define KS 2
#endif
byte home[Q]; bool run_[Q]; byte cnt[Q]; byte inproc[Q];
bool rdy[W*Q]; bool asleep[W]; byte total = 0;

inline release_and_recheck(q) {
  run_[q] = false;
#ifndef NORECHK
  if :: cnt[q] > 0 -> o = home[q]; rdy[o*Q+q] = true; asleep[o] = false :: else fi;
#endif
}
inline drain(q) {
  b = cnt[q];
  do
  :: b > 0 -> inproc[q]++; assert(inproc[q] == 1);
              atomic { inproc[q]--; cnt[q]--; total++; b-- }
  :: else -> break
  od;
  release_and_recheck(q)
}
proctype worker(byte me) {
  byte q, b, o, ks = 0, v; bool got, ok;
scan:
  got = false; q = 0;
  do
  :: q < Q ->
     ok = false;
     atomic { if :: rdy[me*Q+q] -> rdy[me*Q+q] = false; ok = true :: else fi };
     if
     :: ok ->
        got = true;
again:  o = home[q];
        if
        :: o == me ->
           atomic { if :: home[q] == me && !run_[q] -> run_[q] = true;
               ok = true :: else -> ok = false fi };
           if :: ok -> drain(q) :: else -> goto again fi
        :: else ->
#ifndef NOFWD
           rdy[o*Q+q] = true; asleep[o] = false
#else
           skip
#endif
        fi
     :: else
     fi;
     q++
  :: else -> break
  od;
  if :: got -> goto scan :: else fi;
  if
  :: ks < KS ->
     ks++;
     select(q : 0 .. (Q-1));
     v = home[q];
     if
     :: v != me && cnt[q] > 0 ->
#ifdef LAZYSTEAL   /* takes the queue over, neither runs it nor sets a bit of its own */
        atomic { if :: home[q] == v && !run_[q] -> home[q] = me :: else fi }
#else
#ifdef STEALRUN    /* does not respect the running bit */
        atomic { if :: home[q] == v -> home[q] = me; run_[q] = true;
            ok = true :: else -> ok = false fi };
#else
        atomic { if :: home[q] == v && !run_[q] -> home[q] = me; run_[q] = true;
            ok = true :: else -> ok = false fi };
#endif
        if :: ok -> drain(q); goto scan :: else fi
#endif
     :: else
     fi
  :: else
  fi;
  asleep[me] = true;
  q = 0; got = false;
  /* one 64-bit load */
  atomic { do :: q < Q -> if :: rdy[me*Q+q] -> got = true :: else fi; q++ :: else -> break od };
  if :: got -> asleep[me] = false; goto scan :: else fi;
end_sleep:
  !asleep[me];
  goto scan
}
proctype producer() {
  byte n = 0, q, o; bool edge;
  do
  :: n < N ->
     select(q : 0 .. (Q-1));
#ifdef EARLYREAD
     o = home[q]; cnt[q]++;
#else
     atomic { edge = (cnt[q] == 0); cnt[q]++ }
     o = home[q];
#endif
#ifdef EDGE
     if :: edge -> rdy[o*Q+q] = true; asleep[o] = false :: else fi;
#else
     rdy[o*Q+q] = true;
     asleep[o] = false;
#endif
     n++
  :: else -> break
  od
}
proctype watch() { timeout -> assert(total == N) }
init { byte i = 0; atomic {
    do :: i < Q -> home[i] = i % W; i++ :: else -> break od;
    i = 0; do :: i < W -> run worker(i); i++ :: else -> break od;
    run producer(); run watch() } }
