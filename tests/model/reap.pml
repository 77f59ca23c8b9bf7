/* SPDX-License-Identifier: Apache-2.0
 *
 * reap.pml - when the memory of a port that has ended is unmapped (daemon/engine/ports/reap.h).
 *
 * Two ports; W workers, each of which looks L times at one of them without running it, between two
 * quiescent points, and in between runs a mailbox, sleeps, or does neither; at the end it hangs in
 * a handler or sleeps. A detached thread delivers to a port D times. The two ports end at any time,
 * by somebody's run. The control thread hears of it and unmaps without waiting for anybody.
 *
 * A worker's load of a port's state may come before its stores in front of it can be seen (`pend`):
 * that is what a store buffer does. The barrier in every thread is that nobody is between the two.
 *
 * Shown: nobody touches what has been unmapped; at the end both ports have been unmapped, though
 * workers hang for ever.
 *
 * Mutants that must fail: REAP_EARLY (unmapped when the end is heard of), REAP_FENCE (without the
 * barrier), REAP_JOIN (a port whose end is heard of later goes with those that wait), REAP_COUNT (a
 * delivery touches the port's words behind the unlock), REAP_LOOK (who runs a mailbox looks at
 * ports), REAP_HANG (who runs a mailbox is waited for).
 */
#ifndef W
#define W 1
#endif
#ifndef L
#define L 4
#endif
#ifndef D
#define D 1
#endif
bool open_[2], mapped[2], heard[2], lock_[2];
bool pend[W], runs[W], sleeps[W];
byte passes[W], gone;

inline touch(k) { assert(mapped[k]) }

proctype worker(byte me) {
  byte n = 0, k;
  bool seen;
  do
  :: n < L ->
     n++;
     if :: k = 0 :: k = 1 fi;
     atomic { seen = open_[k]; pend[me] = true };
     if :: runs[me] -> runs[me] = false :: else fi; /* the mailbox is given back */
     passes[me]++;
     pend[me] = false;
     if :: seen -> touch(k) :: else fi;
     if
     :: runs[me] = true; /* a compare-and-swap: a barrier, behind the look */
#ifdef REAP_LOOK
        seen = open_[k];
        if :: seen -> touch(k) :: else fi;
#endif
     :: sleeps[me] = true; sleeps[me] = false /* so are these */
     :: true
     fi
  :: n == L ->
     if
     :: runs[me] = true  /* and never returns */
     :: if :: runs[me] -> runs[me] = false :: else fi; sleeps[me] = true
     fi;
     break
  od
}
proctype detached() {
  byte n = 0, k;
  bool was;
  do
  :: n < D ->
     n++;
     if :: k = 0 :: k = 1 fi;
     atomic { !lock_[k] -> lock_[k] = true };
     was = open_[k];
     if :: was -> touch(k) :: else fi;
     lock_[k] = false;
#ifdef REAP_COUNT
     if :: was -> touch(k) :: else fi
#endif
  :: n == D -> break
  od
}
proctype end(byte k) {
  atomic { !lock_[k] -> lock_[k] = true };
  open_[k] = false;
  lock_[k] = false;
  heard[k] = true
}
proctype control() {
  bool going[2], late[W];
  byte since[W], n_late = 0, i;
end_waits:
  do
  :: (heard[0] || heard[1]) && !going[0] && !going[1] ->
     atomic {
       going[0] = heard[0]; going[1] = heard[1];
       heard[0] = heard[0] && !going[0]; heard[1] = heard[1] && !going[1]
     };
#ifndef REAP_EARLY
     i = 0;
     do
     :: i < W ->
#ifndef REAP_FENCE
        !pend[i];
#endif
        i++
     :: i == W -> break
     od;
     i = 0;
     do
     :: i < W -> since[i] = passes[i]; late[i] = true; n_late++; i++
     :: i == W -> break
     od
#endif
#ifdef REAP_JOIN
  :: (going[0] || going[1]) && (heard[0] || heard[1]) ->
     atomic {
       going[0] = going[0] || heard[0]; going[1] = going[1] || heard[1];
       heard[0] = false; heard[1] = false
     }
#endif
  :: n_late > 0 && late[0] && passes[0] - since[0] >= 2 -> late[0] = false; n_late--
  :: n_late > 0 && late[0] && sleeps[0] -> late[0] = false; n_late--
#ifndef REAP_HANG
  :: n_late > 0 && late[0] && runs[0] -> late[0] = false; n_late--
#endif
#if W > 1
  :: n_late > 0 && late[1] && passes[1] - since[1] >= 2 -> late[1] = false; n_late--
  :: n_late > 0 && late[1] && sleeps[1] -> late[1] = false; n_late--
#ifndef REAP_HANG
  :: n_late > 0 && late[1] && runs[1] -> late[1] = false; n_late--
#endif
#endif
  :: (going[0] || going[1]) && n_late == 0 ->
     atomic {
       if :: going[0] -> mapped[0] = false; gone++ :: else fi;
       if :: going[1] -> mapped[1] = false; gone++ :: else fi;
       going[0] = false; going[1] = false
     }
  od
}
proctype watch() { timeout -> assert(gone == 2) }
init {
  atomic {
    open_[0] = true; open_[1] = true; mapped[0] = true; mapped[1] = true;
    run worker(0);
#if W > 1
    run worker(1);
#endif
    run detached(); run end(0); run end(1); run control(); run watch()
  }
}
