/* SPDX-License-Identifier: Apache-2.0
 *
 * group.pml - a publication comes once to each member of its group, in order, and to nobody who
 * joined behind its beginning (daemon/engine/asks/group.h, daemon/engine/timers/members.h).
 *
 * One publisher sends two publications to a group of places, B of which are a block. The group's
 * runner takes what is first in its queue, looks at the members of one block, and flips: what is
 * consumed, what the members are sent, and the publication for the group again become true
 * together. One member leaves meanwhile, another one joins, at the lowest place that is free, and a
 * third one leaves and joins again, in turns of their own. A look goes from place to place, under
 * the mutex: nobody begins or clears a membership beside it, but turns are committed. The executor
 * is killed up to K times, at any step. That a membership is armed and given up with a turn is
 * timer.pml's; here a turn that has not been committed is undone by recovery.
 *
 * Shown: who stays, or leaves and joins again in one turn, gets each publication once, the first
 * one first; who joins gets those that have begun behind the commit of its turn, and none that had
 * begun before it joined.
 *
 * Mutants (each must fail): GROUP_TWO_FLIPS (the publication is sent to its group again behind the
 * flip that consumed it), GROUP_COUNTED (a block is so many members, not places), GROUP_UNTIL (it
 * goes to whoever is at a place when its turn comes), GROUP_PACKED (who is at the last place moves
 * to one that has become free), MEMBER_OPEN (a member is who is about to join), MEMBER_SEQUENCE (a
 * restart begins to number memberships anew), GROUP_REJOIN (who leaves and joins again in one turn
 * has two memberships).
 */
#ifndef K
#define K 2
#endif
#define B     2
#define NP    6
#define A     1 /* leaves */
#define C     3 /* they stay: 2, 3; the latter leaves and joins again */
#define D     4 /* joins */
#define E     5 /* the second membership of 3 */

/* durable */
chan q = [4] of { byte, byte, byte }; /* number, place, until */
byte who[NP], seq[NP];
bool joined, left, moved; /* their turns have been committed */
byte got[10];           /* by number and member */
byte published;
/* the executor's own */
byte numbers = 3, boots = 1;
bool looks; /* the mutex is the runner's */
/* world */
bool up = true; byte kills, stopped;
/* ghosts: D's attempts to join; the one that a publication has met when it began; D is to get it */
byte attempts, met[3];
bool owed[3];

#define KILLABLE unless { !up }
#define GOT(number, member) got[(number - 1) * 5 + member]

proctype publisher() {
P0:
  {
  up;
  do
  :: atomic { published < 2 -> published++; q!published, 0, 0 }
  :: published == 2 -> break
  od;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto P0
}

inline high_of(h) {
  h = NP;
  do
  :: h > 0 && who[h - 1] == 0 -> h--
  :: else -> break
  od
}

#ifdef MEMBER_OPEN
#define IS_OPEN(i) false
#else
#define IS_OPEN(i) (who[i] == D && !joined)
#endif
#ifdef GROUP_UNTIL
#define IS_LATE(i) false
#else
#define IS_LATE(i) (seq[i] > until)
#endif
#define IS_MEMBER(i)                                                                               \
  (who[i] != 0 && !IS_LATE(i) && !IS_OPEN(i) && !(who[i] == A && left) &&                          \
   !(who[i] == C && moved) && !(who[i] == E && !moved))
#define NAME_OF(i) (who[i] == E -> C : who[i])

inline deliver(number) {
  i = 1;
  do
  :: i <= D ->
     if
     :: takes[i] ->
        assert(takes[i] == 1);
        assert(GOT(number, i) == 0);
        assert(number == 2 || GOT(2, i) == 0);
        assert(i != D || (joined && met[number] == attempts));
        GOT(number, i)++
     :: else
     fi;
     i++
  :: else -> break
  od
}

proctype runner() {
  byte number, place, until, i, n, high, at_first;
  byte takes[5];
  bool first, due;
R0:
  {
  d_step {
    up ->
    number = 0; place = 0; until = 0; n = 0; high = 0; at_first = 0; due = false; first = false;
    i = 0;
    do :: i <= D -> takes[i] = 0; i++ :: else -> break od;
    i = 0
  };
end_idle:
  do
  :: q?<number, place, until> ->
     d_step {
       first = (until == 0);
       if
       :: first -> until = numbers; at_first = (who[0] == D || who[1] == D || who[2] == D ||
                                                who[3] == D || who[4] == D -> attempts : 0);
          due = joined
       :: else
       fi;
       i = 0;
       do :: i <= D -> takes[i] = 0; i++ :: else -> break od;
       high_of(high);
       i = place; n = 0;
       looks = true
     };
     do
#ifdef GROUP_COUNTED
     :: d_step { i < high && n < B ->
#else
     :: d_step { i < high && i < place + B ->
#endif
          if :: IS_MEMBER(i) -> takes[NAME_OF(i)]++; n++ :: else fi;
          i++
        }
     :: else -> break
     od;
     skip;
     d_step {
       place = i;
       looks = false;
       if :: first -> met[number] = at_first; owed[number] = due :: else fi;
       n = number;
       deliver(n);
#ifdef GROUP_TWO_FLIPS
       q?_, _, _
     };
     d_step {
#else
       q?_, _, _;
#endif
       if :: place < high -> q!number, place, until :: else fi;
       number = 0; place = 0; until = 0; i = 0; n = 0; high = 0; at_first = 0; due = false;
       first = false
     }
  od
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto R0
}

proctype joiner() {
  byte i;
J0:
  {
  up;
  if
  :: !joined ->
     d_step {
       !looks ->
       i = 0;
       do :: who[i] != 0 -> i++ :: else -> break od;
       numbers++;
       who[i] = D;
       seq[i] = numbers;
       attempts++;
       i = 0
     };
     joined = true
  :: joined -> skip
  fi;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto J0
}

/* The place is free some time behind the commit. */
proctype leaver() {
  byte i;
L0:
  {
  up;
  left = true;
  d_step {
    !looks ->
    if
    :: who[0] == A ->
#ifdef GROUP_PACKED
       high_of(i);
       if
       :: i > 1 && !(who[i - 1] == D && !joined) ->
          who[0] = who[i - 1]; seq[0] = seq[i - 1]; who[i - 1] = 0
       :: else -> who[0] = 0
       fi
#else
       who[0] = 0
#endif
    :: else
    fi;
    i = 0
  };
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto L0
}

/* A claim and a membership, in one turn; in either way the first claim is taken for granted. */
proctype mover() {
  byte i;
M0:
  {
  up;
#ifdef GROUP_REJOIN
  if
  :: !moved ->
     d_step {
       !looks ->
       i = 0;
       do :: who[i] != 0 -> i++ :: else -> break od;
       numbers++;
       who[i] = E;
       seq[i] = numbers;
       i = 0
     };
     moved = true
  :: moved -> skip
  fi;
  d_step {
    !looks ->
    i = 0;
    do
    :: i < NP && who[i] != C -> i++
    :: i < NP && who[i] == C -> who[i] = 0; break
    :: else -> break
    od;
    i = 0
  };
#endif
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto M0
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
       !up && stopped == 5 ->
       looks = false;
       boots++;
#ifdef MEMBER_SEQUENCE
       numbers = 3;
#else
       numbers = 5 * boots;
#endif
       i = 0;
       do
       :: i < NP ->
          if
          :: (who[i] == D && !joined) || (who[i] == E && !moved) -> who[i] = 0; seq[i] = 0
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0;
       up = true
     }
  od
}

proctype judge() {
  timeout -> assert(published == 2 && len(q) == 0 && joined &&
                    GOT(1, 2) == 1 && GOT(2, 2) == 1 && GOT(1, C) == 1 && GOT(2, C) == 1 &&
                    (!owed[1] || GOT(1, D) == 1) && (!owed[2] || GOT(2, D) == 1))
}

init {
  atomic {
    who[0] = A; who[1] = 2; who[2] = C; seq[0] = 1; seq[1] = 2; seq[2] = 3;
    run publisher(); run runner(); run joiner(); run leaver(); run mover(); run chaos();
    run recovery(); run judge()
  }
}
