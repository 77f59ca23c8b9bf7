/* SPDX-License-Identifier: Apache-2.0
 *
 * phase.pml - which set of behaviours an actor has changes with the commit of the turn that asked
 * for it, or not at all (daemon/engine/actors/phases.h).
 *
 * An actor is run by one of two workers at a time, in turns of which each may change the actor's
 * set, also twice. The executor is killed up to K times, at any store, and recovery at any of its
 * own. The set and the one before it are one word; worker and count of the tag are two. A flip is
 * one step, and gives its worker another count.
 *
 * Shown: whoever begins a turn finds the set that the last committed turn has left.
 *
 * Mutants (each must fail): PHASE_TORN (the word still has two sets when the tag is stored),
 * PHASE_EARLY (the new set is stored before the tag), PHASE_TWICE (a turn that changes the set
 * again takes its own for the one before), PHASE_NOTAG (recovery does not look at the tag),
 * PHASE_LATE (it looks behind a flip).
 */
#ifndef K
#define K 2
#endif
#define TURNS 4

/* durable */
byte is, was;            /* one word */
byte by, at;             /* the tag */
byte count[2];           /* each worker's */
/* world */
byte kills, turns, w;
byte committed, wanted;  /* ghosts: the set as of the last commit, and of the turn that runs */

/* The set of this word, under this tag. */
#define OPEN   (count[by] == at)
#define BEFORE (OPEN -> was : is)

/* A kill may come here. */
inline may_die() {
  if
  :: kills < K -> kills++; goto dead
  :: skip
  fi
}

inline become(x, before) {
  may_die();
#ifndef PHASE_TORN
  d_step { was = before; is = before };
  may_die();
#endif
#ifdef PHASE_EARLY
  d_step { was = before; is = x };
  may_die();
#endif
  by = w; may_die();
  at = count[w]; may_die();
  d_step { was = before; is = x };
  wanted = x;
  may_die()
}

active proctype executor() {
  byte before;
  count[0] = 1; count[1] = 1;
  do
  :: turns < TURNS ->
     turns++;
     if :: w = 0 :: w = 1 fi;
     assert(BEFORE == committed);
     wanted = committed;
     if
     :: skip
     :: before = BEFORE;
        if :: become(1, before) :: become(2, before) fi;
        if
        :: skip
        ::
#ifdef PHASE_TWICE
           before = is;
#endif
           if :: become(0, before) :: become(1, before) :: become(2, before) fi
        fi
     fi;
     d_step { count[w]++; committed = wanted }; /* the flip */
     may_die()
  :: turns == TURNS -> break
  :: false ->
dead:
     /* recovery, which may be killed, too */
#ifdef PHASE_LATE
     count[0]++; may_die();
#endif
     if
#ifndef PHASE_NOTAG
     :: OPEN -> d_step { is = was }
#endif
     :: else -> skip
     fi;
     may_die();
     count[0]++; may_die();
     count[1]++; may_die()
  od;
  assert(BEFORE == committed)
}
