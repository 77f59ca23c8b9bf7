/* SPDX-License-Identifier: Apache-2.0
 *
 * ask.pml - a question has exactly one outcome (daemon/engine/asks).
 *
 * An asker asks in its first turn, and handles what comes: answers, and the word that there is
 * none. Somebody answers, up to ANSWERS times (it answers later, and again), or not at all. The
 * control thread offers the word whenever it likes, and again. The executor is killed up to K
 * times, at any store; a turn that was not committed is run again. Sends are committed with the
 * turn; queues and flushes are in commit.pml, and one step here: what waits for the asker is two
 * numbers, of answers and of words, which it takes in any order. Arming and firing, recovery of
 * timers included, are in timer.pml: the question's claim is what this is about.
 *
 * Shown: when all is over, one outcome was handled in a turn that was committed, and the question
 * has gone.
 *
 * Mutants (each must fail): ASK_TWICE (an outcome is handled without a look at the question),
 * ASK_VOID (recovery keeps a claim that no commit stands behind), ASK_EARLY (the deadline ends the
 * question, and its word is lost with the queue's policy).
 */
#ifndef K
#define K 2
#endif
#define ANSWERS 2

/* durable */
byte word;                  /* the question's: 1, it is open */
byte claim;                 /* count of the turn that has claimed it, 0: none */
byte count = 1;             /* the asker's worker: of flips */
bool asked;                 /* its first turn is committed: the question has been sent */
byte answers, words;        /* what waits for the asker */
byte answered;              /* so many times has the other one answered, committed */
byte outcomes;              /* handled in turns that were committed */
byte dropped;
/* world */
bool up = true, lossy; byte kills, stopped, offered; bool mutex;

#define KILLABLE unless { !up }
#define IS_OPEN (word == 1 && claim == 0)
#define SETTLED (word == 1 && claim != 0 && claim != count)

inline take(n_, taken_) {
  atomic { !mutex -> mutex = true };
  if
  :: IS_OPEN -> claim = count; taken_ = true
  :: else -> taken_ = false
  fi;
  mutex = false;
#ifdef ASK_TWICE
  taken_ = true;
#endif
  d_step { n_--; count++; outcomes = outcomes + taken_; dropped = dropped + !taken_ }
}

proctype asker() {
  bool taken;
W0:
  {
  up;
end_wait:
  do
  :: !asked ->
     /* armed with the turn: timer.pml */
     d_step { word = 1; claim = 0; count++; asked = true }
  :: answers > 0 -> take(answers, taken)
  :: words > 0 -> take(words, taken)
  :: SETTLED && !mutex -> word = 0
  od;
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto W0
}

proctype other() {
A0:
  {
  up;
end_idle:
  do
  :: asked && answered < ANSWERS -> d_step { answered++; answers++ }
  :: asked && answered < ANSWERS -> answered = ANSWERS   /* it keeps silent */
  :: asked && answered == ANSWERS -> break
  od;
end_over:
  false
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto A0
}

/* It offers the word as long as the question is open; a word can be lost on its way (the receiver's
 * queue is full, its policy drops), and is then offered again. At most so many, for the model's
 * sake, as long as one waits. */
proctype control() {
C0:
  {
  up;
end_idle:
  do
  :: atomic { !mutex && asked && IS_OPEN && words == 0 -> mutex = true };
     if
#ifdef ASK_EARLY
     :: true -> d_step { word = 0; words++ }
#else
     :: true -> words++
#endif
     :: !lossy -> lossy = true;
#ifdef ASK_EARLY
        word = 0
#else
        skip
#endif
     fi;
     mutex = false
  od
  } KILLABLE;
  stopped++;
end_down:
  atomic { up -> stopped-- };
  goto C0
}

proctype chaos() {
end:
  do
  :: atomic { up && kills < K -> kills++; up = false }
  od
}

#define KILL if :: kills < K -> kills++; goto again :: true fi
proctype recovery() {
end:
  !up && stopped == 3;
again:
  mutex = false;
  if
  :: word == 1 && claim == count ->
#ifndef ASK_VOID
     claim = 0; KILL
#else
     skip
#endif
  :: SETTLED -> word = 0; KILL
  :: else -> skip
  fi;
  count++; KILL;
  up = true;
  goto end
}

proctype watch() {
  timeout -> assert(outcomes == 1 && word == 0 && answers == 0 && words == 0)
}
init {
  atomic { run asker(); run other(); run control(); run chaos(); run recovery(); run watch() }
}
