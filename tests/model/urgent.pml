/* SPDX-License-Identifier: Apache-2.0
 *
 * urgent.pml - the urgent lane of one mailbox (daemon/engine/signal/urgent.h; docs/engine.md,
 * Urgent messages): two queues under one owner word, and a byte that says that the urgent one has
 * to be looked at.
 *
 * A appenders with U urgent messages each, one with O ordinary ones, W workers. An append: publish
 * under the lock of its queue, for the urgent one with the byte; unlock; behind it the owner word:
 * a runner is asked to look; ready bit. A run: the urgent lane if the byte is set, then the
 * ordinary one, again while the byte is set; at most L messages, but one ordinary message a round;
 * a batch of which something is left is parked, and the ready bit set. Between two messages of an
 * ordinary batch the runner looks if it has been asked to, and gives way if the byte is set. That a
 * ready bit is not overlooked, and who sleeps, is shown elsewhere (gulp_steal_park.pml): here it is
 * taken together with the owner word.
 *
 * Shown, when nothing moves any more: all has been run, and the byte is 0. At any time: an urgent
 * queue that has anything in it, with lock and owner word free, has its byte set (urgent.G2). And a
 * runner that was asked to look does so before its next message but one (urgent.G3).
 *
 * Mutants that must fail: URGENT_LATE (the byte behind the look at the owner word, as the seed
 * urgent_late; urgent.G1), URGENT_FORGOT (a runner that has consumed its urgent batch does not look
 * at what came behind it, as the seed urgent_forgot; urgent.G2), URGENT_PARK (an urgent batch is
 * parked without the byte; urgent.G2), URGENT_DEAF (the request is taken back behind the look at
 * the byte; urgent.G3). What holds as well: CLEAR_LATE (the byte is cleared behind the gulp); the
 * look that URGENT_FORGOT leaves out makes good what it wipes out.
 */
#ifndef A
#define A 2
#endif
#ifndef U
#define U 2
#endif
#ifndef O
#define O 2
#endif
#ifndef W
#define W 2
#endif
#ifndef L
#define L 2
#endif
#define NOBODY 255

/* The lanes, 0: ordinary, 1: urgent: ran <= got <= put. What lies between ran and got is the batch,
 * behind that the active buffer. */
byte put[2], got[2], ran[2];
bool lock[2];
bool urgent, ready;
bool asked[W];
/* only for urgent.G3: the runner has been asked, and has not looked at the byte since */
bool told;
byte owner = NOBODY;

#define HAS(lane) (put[lane] != ran[lane])

proctype append(byte lane; byte n) {
  byte who;
  do
  :: n > 0 ->
     atomic { !lock[lane] -> lock[lane] = true }
     put[lane]++;
#ifndef URGENT_LATE
     if :: lane == 1 -> urgent = true :: else fi;
#endif
     lock[lane] = false;                               /* FENCE */
     who = owner;
     if
     :: lane == 1 && who != NOBODY -> atomic { asked[who] = true; told = (told || owner == who) }
     :: else
     fi;
     ready = true;
#ifdef URGENT_LATE
     if :: lane == 1 -> urgent = true :: else fi;
#endif
     atomic { n--; who = 0 }
  :: else -> break
  od
}

inline gulp(lane) { atomic { !lock[lane] -> lock[lane] = true } got[lane] = put[lane];
    lock[lane] = false }

proctype worker(byte me) {
  byte did; bool go;
end_idle:
  do
  :: atomic { ready && owner == NOBODY -> ready = false; owner = me; told = false }
     do
     :: /* the urgent lane */
        if
        :: urgent ->
#ifndef CLEAR_LATE
           atomic { urgent = false; told = false }     /* FENCE */
#endif
           if
           :: got[1] == ran[1] && put[1] == got[1] ->
#ifdef CLEAR_LATE
              atomic { urgent = false; told = false }
#endif
              goto ordinary
           :: got[1] == ran[1] && put[1] != got[1] -> gulp(1)
           :: got[1] != ran[1]
           fi;
#ifdef CLEAR_LATE
           atomic { urgent = false; told = false }
#endif
           do
           :: ran[1] < got[1] && did < L -> atomic { ran[1]++; did++ }
           :: else -> break
           od;
#ifdef URGENT_FORGOT
           if :: ran[1] < got[1] -> urgent = true :: else fi
#else
#ifdef URGENT_PARK
           if :: ran[1] == got[1] && put[1] != got[1] -> urgent = true :: else fi
#else
           if :: HAS(1) -> urgent = true :: else fi
#endif
#endif
        :: else
        fi;
ordinary:
        if
        :: got[0] == ran[0] && put[0] != got[0] -> gulp(0)
        :: else
        fi;
        go = ran[0] < got[0];
        do
        :: go ->
           atomic { ran[0]++; did++ }
           if
           :: asked[me] ->
#ifdef URGENT_DEAF
              atomic { if :: urgent -> go = false :: else -> told = false fi }
              asked[me] = false
#else
              asked[me] = false;                       /* FENCE */
              atomic { if :: urgent -> go = false :: else -> told = false fi }
#endif
           :: atomic { !asked[me] -> assert(!told) }
           fi;
           if :: ran[0] == got[0] || did >= L -> go = false :: else fi
        :: !go -> break
        od;
        if :: urgent && did < L :: else -> break fi
     od;
     if :: HAS(0) || urgent -> ready = true :: else fi;
     atomic { owner = NOBODY; did = 0 }
  od
}
proctype watch() { assert(!HAS(1) || owner != NOBODY || lock[1] || urgent) }
proctype last() { timeout -> assert(ran[0] == O && ran[1] == A * U && !urgent && owner == NOBODY) }
init { byte i = 0; atomic {
    do :: i < A -> run append(1, U); i++ :: else -> break od;
    run append(0, O);
    i = 0; do :: i < W -> run worker(i); i++ :: else -> break od;
    run watch(); run last() } }
