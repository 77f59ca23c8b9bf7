/* SPDX-License-Identifier: Apache-2.0
 *
 * letters.pml - dead letters are appended by flushes, and taken out by the control thread, whatever
 * instruction the process is killed at.
 *
 * letters.c: with the lock held, what stays is copied to the other buffer, what is replayed is in
 * the control thread's outbox; one flip (COMMIT_LETTERS) makes both the outbox and the other buffer
 * true; then sel, then the old buffer's length are stored, and the lock is given up. What is
 * replayed is flushed behind that, and only the flip behind the flush ends the redo. A worker
 * appends meanwhile, as outbox.c does: copy, last id, journal, length. The process is killed at any
 * store, up to CR times, recovery at any of its own, any number of times (between an id and its
 * letter once).
 *
 * A worker whose L messages each become a dead letter; S sweeps, each of letters that are chosen at
 * will, to be replayed or forgotten. Not modelled: the flush of what is replayed (one step;
 * commit.pml has it), a flip's words (durable.pml), dropping what finds no room.
 *
 * Shown: behind each recovery, and at the end, each letter is in exactly one place: the buffer, the
 * committed outbox, its receiver, or forgotten; in order; ids rise, and none is used twice.
 *
 * Mutants (each must fail):
 *   letters.DL1: LT_NOLOCK (swept without the lock), LT_SEL_FIRST (sel before the flip),
 *            LT_TWO_FLIPS (the outbox and the buffer by two flips), LT_LEN_LATE (the copy's length
 *            behind the flip), LT_GIVE_EARLY (the old buffer is given back before the flip),
 *            LT_SEL_LATE (the lock is given up before sel), LT_NO_REDO (recovery does not store
 *            sel), LT_REDO_LATE (recovery does it behind the flushes)
 *   letters.DL2: ID_LATE (the last id behind the length)
 *
 * States: CR=2 L=3 S=2 2 million.
 */
#ifndef L
#define L 3
#endif
#ifndef S
#define S 2
#endif
#ifndef CR
#define CR 2
#endif
#define AT(b_, i_) ((b_)*L + (i_))

/* durable: the dead letters' queue; the worker's record, the control thread's */
byte letter[2*L]; byte id[2*L]; byte size[2]; bit act; byte last; byte lock;
/* out: letter `consumed` is in the outbox.  armed: with the present count */
byte consumed; bit out; bit armed; byte armlen;
byte ob[L]; byte cout; byte redo;                 /* redo: the active buffer, and one */
/* what the world has seen */
byte got[L+1]; byte gone[L+1];
bool up = true; byte dead; byte crashes; byte burnt;

inline check() {                                   /* inside d_step; i, n, k: the caller's */
  i = 1;
  do
  :: i <= L ->
     n = got[i] + gone[i] + (out && i == consumed && !armed);
     k = 0;
     do :: k < size[act] -> n = n + (letter[AT(act, k)] == i); k++ :: else -> break od;
     k = 0;
     do :: k < cout -> n = n + (ob[k] == i); k++ :: else -> break od;
     assert(n == (i <= consumed));
     i++
  :: else -> break
  od;
  k = 0;
  do
  :: k < size[act] ->
     assert(id[AT(act, k)] > (k == 0 -> 0 : id[AT(act, k-1)]) && id[AT(act, k)] <= last);
     assert(k == 0 || letter[AT(act, k)] > letter[AT(act, k-1)]);
     k++
  :: else -> break
  od;
  i = 0; n = 0; k = 0
}

proctype worker() {
  bit b; byte n;
W0:
  {
  up;
end_loop:
  atomic { consumed < L -> consumed++; out = 1; armed = 0 };          /* the turn: one commit */
  atomic { lock == 0 -> lock = 1 };
  d_step { b = act; n = size[b] };
  d_step { letter[AT(b, n)] = consumed; id[AT(b, n)] = last+1 };
#ifndef ID_LATE
  last = last+1;
#endif
  d_step { armed = 1; armlen = n+1 };
  size[b] = n+1;
#ifdef ID_LATE
  last = last+1;
#endif
  lock = 0;
  d_step { out = 0; armed = 0; b = 0; n = 0 };                        /* a flip */
  goto end_loop
  } unless { !up };
  d_step { b = 0; n = 0; dead++ };
  atomic { up -> dead-- };
  goto W0
}

inline give_back(b_) { d_step { i = 0; do :: i < L -> letter[AT(b_, i)] = 0; id[AT(b_, i)] = 0;
    i++ :: else -> break od; i = 0 } }
inline flush_replayed() { i = 0; do :: i < cout -> got[ob[i]]++; ob[i] = 0;
    i++ :: else -> break od; i = 0; cout = 0 }

proctype control() {
  byte sweeps, i, n, k, kept, chosen; bit b, replay;
C0:
  {
  up;
end_loop:
  atomic { sweeps < S && size[act] > 0 -> sweeps++; if :: replay = 0 :: replay = 1 fi };
  /* a bit for each letter, in the order they stand */
  atomic { chosen < 7 -> chosen++; do :: chosen < 7 -> chosen++ :: break od };
#ifndef LT_NOLOCK
  atomic { lock == 0 -> lock = 2 };
#endif
  d_step {
    b = act; i = 0; n = 0; kept = 0;
    do
    :: i < size[b] ->
       if
       :: (chosen >> i) & 1 -> if :: replay -> ob[n] = letter[AT(b, i)]; n++ :: else fi
       :: else -> letter[AT(1-b, kept)] = letter[AT(b, i)]; id[AT(1-b, kept)] = id[AT(b, i)]; kept++
       fi;
       i++
    :: else -> break
    od;
    k = i; i = 0 }; /* k: how many were looked at */
#ifndef LT_LEN_LATE
  size[1-b] = kept;
#endif
#ifdef LT_GIVE_EARLY
  give_back(b);
#endif
#ifdef LT_SEL_FIRST
  act = 1-b;
#endif
#ifdef LT_TWO_FLIPS
  cout = n;
#endif
  d_step {
    if
    :: !replay -> /* by this flip they are forgotten */
       do :: i < k -> if :: (chosen >> i) & 1 -> gone[letter[AT(b, i)]]++ :: else fi;
           i++ :: else -> break od
    :: else
    fi;
    i = 0; k = 0; cout = n; redo = (1-b) + 1 };
#ifdef LT_LEN_LATE
  size[1-b] = kept;
#endif
#ifdef LT_SEL_LATE
  lock = 0;
#endif
  act = 1-b;
  size[b] = 0;
#if !defined(LT_NOLOCK) && !defined(LT_SEL_LATE)
  lock = 0;
#endif
  d_step { flush_replayed(); redo = 0 };                              /* the flush and its flip */
  give_back(b);
  d_step { b = 0; n = 0; kept = 0; chosen = 0; replay = 0 };
  goto end_loop
  } unless { !up };
  d_step { b = 0; n = 0; kept = 0; chosen = 0; replay = 0; i = 0; k = 0; dead++ };
  atomic { up -> dead-- };
  goto C0
}

proctype chaos() { end: do :: d_step { up && crashes < CR -> crashes++; up = false } od }
#define KILL if :: true -> goto again :: true fi
#ifdef LT_NO_REDO
#define HAS_REDO false
#else
#define HAS_REDO (redo > 0)
#endif
inline letters_redo() { if :: HAS_REDO -> act = redo-1; KILL; size[2-redo] = 0; KILL :: else fi }
proctype recovery() {
  byte i, n, k;
end:
  !up && dead == 2;
again:
  atomic { i = 0; n = 0; k = 0 };
  if :: armed && lock == 1 -> size[act] = armlen; KILL; lock = 0; KILL :: else fi;
  if :: lock > 0 -> lock = 0; KILL :: else fi;
#ifndef LT_REDO_LATE
  letters_redo();
#endif
  if /* the worker: what is armed is done */
  :: out && !armed ->
     d_step { n = size[act]; letter[AT(act, n)] = consumed; id[AT(act, n)] = last+1 };
     lock = 1; KILL;
#ifndef ID_LATE
     last = last+1;
     /* ids that nobody gets: no end of them would be no end of states */
     if :: burnt < 1 -> burnt++; goto again :: true fi;
#endif
     d_step { armed = 1; armlen = n+1 }; KILL;
     size[act] = n+1; KILL;
#ifdef ID_LATE
     last = last+1; KILL;
#endif
     lock = 0; KILL
  :: else
  fi;
  d_step { out = 0; armed = 0; n = 0 }; KILL;
#ifdef LT_REDO_LATE
  letters_redo();
#endif
  d_step { flush_replayed(); redo = 0 };
  KILL;
  d_step { check(); up = true };
  goto end
}
proctype watch() { byte i, n, k; timeout -> d_step { check();
    assert(consumed == L && !out && cout == 0 && redo == 0 && lock == 0) } }
init { atomic { run worker(); run control(); run chaos(); run recovery(); run watch() } }
