/* SPDX-License-Identifier: Apache-2.0
 *
 * swap_perm.pml - stealing by swapping queue pointers in shared memory, and a thief that dies
 * inside the window.
 *
 * W workers, R slots each, K attempts per worker: null the own slot, put the own queue into the
 * victim's slot, put the victim's queue into the own slot. The engine does not steal this way (one
 * own word per queue instead: docs/why tells the story); bench/baseline does.
 *
 * Shown: no queue is ever in two slots, and when all thieves are done the slots hold every queue
 * once.
 * -DKILL: one thief may die at any step: must fail, its two queues can be lost.
 * -DKILL -DSCAV: a scavenger stops thieves, waits until none is inside the window and refills the
 * empty slots: holds.
 *
 * States: W=2 R=2 K=2 2 million, W=3 R=1 K=1 KILL SCAV 3.9 million.
 */
#ifndef W
#define W 3
#endif
#ifndef R
#define R 1
#endif
#ifndef K
#define K 2
#endif
#define Q (W*R)
#define NIL 255
byte slot[Q];
byte hands[W];      /* queue only known to that thief (ghost) */
bool dead[W];
byte ndone = 0;
bool killed = false;
bool pausesteal = false;  /* scavenger's stop-the-world flag */
bool scavdone = false;
byte instep = 0;          /* thieves inside the window (ghost / announced) */

#ifdef KILL
#define MAYDIE(me) if :: (!killed) -> killed = true; dead[me] = true; goto died :: true fi
#else
#define MAYDIE(me) skip
#endif

proctype worker(byte me) {
  byte k = 0; byte my, vic; byte mq, oq;
  do
  :: k < K ->
     select(my : 0 .. (R-1)); my = me*R + my;
     select(vic : 0 .. (Q-1));
     atomic { !pausesteal -> instep++ }
     mq = slot[my];                       /* step 1 read both */
     oq = slot[vic];
     if :: oq == NIL -> goto out :: else fi;
     MAYDIE(me);
     /* step 2: CAS own -> null */
     atomic { if :: slot[my] == mq -> slot[my] = NIL; hands[me] = mq :: else -> goto out fi }
     MAYDIE(me);
     /* step 3: CAS victim -> mine */
     atomic { if :: slot[vic] == oq -> slot[vic] = mq; hands[me] = oq
                 :: else -> assert(slot[my] == NIL); slot[my] = mq; hands[me] = NIL; goto out fi }
     MAYDIE(me);
     /* step 4: plain store */
     atomic { slot[my] = oq; hands[me] = NIL }
out: instep--;
     k++
  :: else -> break
  od;
  ndone++;
  goto fin;
died:
  atomic { instep--; ndone++ };
fin: skip
}

#ifdef SCAV
proctype scavenger() {
  byte s, q, m; bool present;
endk:  killed;               /* pidfd of the dead worker readable */
  pausesteal = true;
  instep == 0;                 /* wait until live thieves left the window */
  atomic {
  s = 0;
  do
  :: s < Q ->
     if
     :: slot[s] == NIL ->
        q = 0; m = NIL;
        do
        :: q < Q ->
           present = false;
           byte t = 0;
           do :: t < Q -> if :: slot[t] == q -> present = true :: else fi; t++ :: else -> break od;
           if :: !present -> m = q :: else fi;
           q++
        :: else -> break
        od;
        assert(m != NIL);
        slot[s] = m
     :: else
     fi;
     s++
  :: else -> break
  od }
  pausesteal = false;
  scavdone = true
}
#endif

proctype checker() {  /* the invariants that hold at every state */
  byte a;
end0:
  do
  :: atomic { (slot[0] != NIL && Q > 1 && slot[0] == slot[1]) -> assert(false) }
#if (W*R) > 2
  :: atomic { (slot[0] != NIL && slot[0] == slot[2]) -> assert(false) }
  :: atomic { (slot[1] != NIL && slot[1] == slot[2]) -> assert(false) }
#endif
#if (W*R) > 3
  :: atomic { (slot[0] != NIL && slot[0] == slot[3]) -> assert(false) }
  :: atomic { (slot[1] != NIL && slot[1] == slot[3]) -> assert(false) }
  :: atomic { (slot[2] != NIL && slot[2] == slot[3]) -> assert(false) }
#endif
  :: ndone == W -> break
  od
}

init {
  byte i = 0; byte j; bool p;
  atomic {
    do :: i < Q -> slot[i] = i; i++ :: else -> break od;
    i = 0; do :: i < W -> hands[i] = NIL; run worker(i); i++ :: else -> break od;
    run checker();
#ifdef SCAV
    run scavenger();
#endif
  }
#ifdef SCAV
  (ndone == W) && (!killed || scavdone);
#else
  ndone == W;
#endif
  /* a permutation at quiescence */
  atomic {
  i = 0;
  do
  :: i < Q ->
     p = false; j = 0;
     do :: j < Q -> if :: slot[j] == i -> p = true :: else fi; j++ :: else -> break od;
     assert(p);
     i++
  :: else -> break
  od }
}
