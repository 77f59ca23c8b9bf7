/* SPDX-License-Identifier: Apache-2.0
 *
 * name.pml - who finds an actor by its name, or spawns it, has one that is there, and the same as
 * everybody else (daemon/engine/actors/actor_names.h, daemon/engine/actors/spawn.h).
 *
 * Two actors ask for one name, each in turns of a worker of its own, until it has it. A turn looks
 * under the mutex of the names. Where it finds nobody, it takes the mutex again, looks again, and
 * takes the name for a slot of its own, which has its worker's count as a tag; the slot's word is
 * stored last. The turn's flip ends the tag, and what the actor has got is its own with it. Where
 * it finds one whose tag holds, the turn comes to nothing, and is tried again. The executor is
 * killed up to K times, at any store; recovery takes back what no flip stands behind.
 *
 * Shown: both get it, the same one, which a flip stands behind; whoever has a reference by a turn
 * that was committed has that of an actor that lives.
 *
 * Mutants (each must fail): NAME_OPEN (who looks does not mind the tag), NAME_APART (who takes the
 * name does not look again), NAME_LATE (recovery looks at the tags behind a flip).
 */
#ifndef K
#define K 2
#endif

/* durable: by worker, its count and its slot; the name's entry: slot + 1 and generation */
byte count[2] = 1;
bool live[2];
byte generation[2] = 1, tag[2];
byte entry_slot, entry_generation;
byte has_slot[2], has_generation[2]; /* by asker: what it has got, slot + 1 */
/* world */
bool up = true, mutex;
byte kills, stopped;
/* ghost: a flip stands behind this slot's actor */
bool made[2];

#define KILLABLE unless { !up }
#define LOCK     atomic { !mutex -> mutex = true }
#define FOUND                                                                                      \
  (entry_slot != 0 && live[entry_slot - 1] && generation[entry_slot - 1] == entry_generation)
#ifdef NAME_OPEN
#define OPEN false
#else
#define OPEN (tag[entry_slot - 1] == count[entry_slot - 1])
#endif
#define HAS_ONE(i)                                                                                 \
  (has_slot[i] == 0 || (live[has_slot[i] - 1] && made[has_slot[i] - 1] &&                          \
                        generation[has_slot[i] - 1] == has_generation[i]))

proctype asker(byte me) {
  byte slot, gen;
  bool there, spawned;
A0:
  {
  up;
  do
  :: has_slot[me] != 0 -> break
  :: has_slot[me] == 0 ->
     LOCK;
     d_step {
       there = FOUND; slot = 0; gen = 0; spawned = false;
       if
       :: there && !OPEN -> slot = entry_slot; gen = entry_generation
       :: else
       fi;
       mutex = false
     };
     if
     :: !there ->
        LOCK;
#ifdef NAME_APART
        if
        :: true ->
#else
        if
        :: FOUND -> skip
        :: !FOUND ->
#endif
           tag[me] = count[me];
           entry_generation = 0;
           entry_slot = me + 1;
           entry_generation = generation[me];
           live[me] = true;
           slot = me + 1; gen = generation[me]; spawned = true
        fi;
        mutex = false
     :: there
     fi;
     d_step { /* the flip, unless nothing has come of the turn */
       if
       :: slot != 0 -> count[me]++; has_slot[me] = slot; has_generation[me] = gen
       :: else
       fi;
       if :: spawned -> made[me] = true :: else fi;
       slot = 0; gen = 0; there = false; spawned = false
     }
  od;
end_over:
  false
  } KILLABLE;
  d_step { slot = 0; gen = 0; there = false; spawned = false; stopped++ };
end_down:
  atomic { up -> stopped-- };
  goto A0
}

proctype chaos() {
end:
  do
  :: atomic { up && kills < K -> kills++; up = false }
  od
}

proctype recovery() {
  byte i;
end:
  do
  :: d_step {
       !up && stopped == 2 ->
       mutex = false;
#ifdef NAME_LATE
       count[0]++; count[1]++;
#endif
       i = 0;
       do
       :: i < 2 ->
          if
          :: live[i] && tag[i] == count[i] -> live[i] = false; generation[i]++
          :: else
          fi;
          i++
       :: else -> break
       od;
#ifndef NAME_LATE
       count[0]++; count[1]++;
#endif
       i = 0
     };
     assert(HAS_ONE(0) && HAS_ONE(1));
     up = true
  od
}

proctype judge() {
  timeout -> assert(HAS_ONE(0) && HAS_ONE(1) && has_slot[0] != 0 && has_slot[0] == has_slot[1] &&
                    has_generation[0] == has_generation[1])
}

init {
  atomic {
    run asker(0); run asker(1); run chaos(); run recovery(); run judge()
  }
}
