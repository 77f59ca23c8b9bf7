/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.pml - a port outlives the service that made it, whatever store that service is killed
 * at.
 *
 * One entry for a port in the registry (proto/registry_layout.h), its descriptors in the service
 * manager's store, its entry in the engine segment, and clients, one after the other, who ask for a
 * port, post into it once, while a service runs or none does, and go. odeond is killed at any
 * store, up to CR times, and its executor with it; the next one takes what is there.
 *
 * open    generation = the entry's + 1; descriptors to the store, and wait until they are there;
 *         entry, state OPENING last; the executor is told; state OPEN; the client is told
 * close   the client is gone: state CLOSING; the executor takes what was posted, and ends the port;
 *     state FREE; descriptors leave the store
 * adopt   descriptors without an entry leave the store; OPENING becomes CLOSING: no client knows
 *         it; the executor is told of the rest; a client that connects again claims what it has,
 *         and what it does not claim is closed
 * add     the executor finds the segment's entry of this generation, with its cursor, or makes one
 *     that begins at 0
 *
 * Shown: who was given a port has it, with its descriptors, until he goes; what he posted is taken
 * once; in the end there are no descriptors that are nobody's.
 *
 * Mutants (each must fail): REG_BARRIER (the entry before the descriptors are in the store),
 * REG_HANDOUT (the client is told before OPEN), REG_FREE (descriptors leave before the entry goes),
 * REG_REUSE (a freed entry's generation begins anew), REG_ORPHAN (descriptors without an entry are
 * kept), REG_CLAIM (what is not claimed is kept), REAP_FORGETS (the executor's entry goes when the
 * port has ended, not when another one comes). That OPENING is closed at once is not needed, since
 * nobody claims it: -DREG_OPENING holds.
 *
 * States: C=2 CR=2 0.02 million.
 */
#ifndef C
#define C 2
#endif
#ifndef CR
#define CR 2
#endif
#define G (C+CR+1)
#define FREE 0
#define OPENING 1
#define OPEN 2
#define CLOSING 3

/* the registry; the store, and what is on its way there; the segment */
byte state; byte gen; byte owner; bit store[G+1]; bit way[G+1]; byte segen; byte pcur;
/* memory of the ports, and what the actors got of each */
byte tail[G+1]; byte taken[G+1];
/* the client: it waits for a port, it has one */
bit wants; byte has; byte left = C; byte who;
byte serves; bit adopted;
bool up = true; bool rested; byte crashes;

inline add(g_) {
  if
  :: segen == g_
  :: else -> segen = 0; pcur = 0; segen = g_
  fi;
  serves = g_
}
inline take() { d_step { assert(store[serves]); taken[serves]++; pcur++ } }

proctype odeond() {
  byte g;
S0:
  {
  up;
  rested = false;
#ifndef REG_ORPHAN
  g = 1;
  do
  :: g <= G -> if :: store[g] && (state == FREE || gen != g) -> store[g] = 0 :: else fi; g++
  :: else -> break
  od;
#endif
#ifdef REG_OPENING
  if :: state == OPENING -> state = OPEN :: else fi;
#else
  if :: state == OPENING -> state = CLOSING :: else fi;
#endif
  if :: state != FREE -> assert(store[gen]); add(gen) :: else fi;
  adopted = 1;
end_loop:
  do
  :: wants && state == FREE ->
#ifdef REG_REUSE
     g = 1;
#else
     g = gen + 1;
#endif
     /* its memory is new */
     d_step { assert(taken[g] == tail[g]); tail[g] = 0; taken[g] = 0; way[g] = 1 };
#ifndef REG_BARRIER
     store[g];                                 /* BARRIER=1 */
#endif
     d_step { gen = g; owner = who };
     state = OPENING;
     add(g);
#ifdef REG_HANDOUT
     if :: d_step { wants -> wants = 0; has = g } :: else fi;
     state = OPEN
#else
     state = OPEN;
     if :: d_step { wants -> wants = 0; has = g } :: else fi
#endif
  :: state == OPEN && pcur < tail[gen] -> take()
  /* it has gone, perhaps while nobody was there to see it */
  :: state == OPEN && owner != who -> state = CLOSING
#ifndef REG_CLAIM
  /* it is connected again, and does not claim it */
  :: state == OPEN && owner == who && has != gen -> state = CLOSING
#endif
  :: state == CLOSING ->
     do :: pcur < tail[gen] -> take() :: else -> break od;
     serves = 0;
#ifdef REAP_FORGETS
     segen = 0;
#endif
     g = gen;
#ifdef REG_FREE
     store[g] = 0;
     state = FREE
#else
     state = FREE;
     store[g] = 0
#endif
  od
  } unless { !up };
  d_step { g = 0; rested = true };
  up;
  goto S0
}
/* What has been sent to the manager gets there, unless its sender is killed first: then perhaps. */
proctype manager() { byte g; end: do :: atomic { up && way[gen+1] -> way[gen+1] = 0;
    store[gen+1] = 1 } :: atomic { up && way[gen] && gen > 0 -> way[gen] = 0; store[gen] = 1 } od }
proctype client() {
end:
  do
  :: left > 0 && has == 0 && !wants -> d_step { left--; wants = 1 }
  :: has != 0 && tail[has] == 0 ->
      d_step { assert(!(up && adopted) || (state == OPEN && gen == has && store[has]));
      tail[has] = 1 }
  :: has != 0 -> d_step { has = 0; who++ }
  od
}
proctype chaos() {
  byte g;
end: do
     :: d_step { up && !rested && crashes < CR -> crashes++; up = false; serves = 0; adopted = 0 };
        rested;
        g = 1;
        do
        :: g <= G -> if :: way[g] -> way[g] = 0; if :: store[g] = 1 :: true fi :: else fi; g++
        :: else -> break
        od;
        up = true
     od
}
proctype watch() {
  byte g = 1;
  timeout ->
  d_step {
    do :: g <= G -> assert(taken[g] == tail[g] && !store[g]); g++ :: else -> break od;
    assert(state == FREE && left == 0 && !wants && has == 0 && serves == 0) }
}
init { atomic { run odeond(); run manager(); run client(); run chaos(); run watch() } }
