/* SPDX-License-Identifier: Apache-2.0 */
/* What the service promises to actors, in a simulated engine: up to three keepers, whose state is
 * kept, arm timers, ask each other, answer at once, later, or never, pass questions on, put them
 * off, take their own back, make mayflies and wait for their ends, join a group, sing to it, and
 * leave it. A mayfly, which in part is linked to its keeper, says a last word and ends; a moth,
 * which is linked to it, ends with it.
 *
 * A keeper counts its turns in its state. The book has what each turn has made, and what has come
 * in it; a turn that begins once more was not committed, and what the book has of it is struck out.
 *
 * promises.P1  A timer comes once, and not before its time, or not at all if a committed turn has
 *     cancelled it; one with a period comes again and again until then, and counts what it misses.
 *     When nobody can run, none is left that was due when the control thread looked.
 * promises.P2  A question has one outcome: its answer, or that there is none, for the deadline not
 *     before it; none if a committed turn has withdrawn it.
 * promises.P3  The end of who is monitored is told once, behind its last word, or not at all if the
 *     monitor was given up. One that begins anew with the executor has ended, and says its last
 *     word in its next life; one that lasts goes on.
 * promises.P4  What is put off comes back once, the oldest first; in the life that has put it off:
 *     behind the end of that, its asker is told.
 * promises.P5  A member hears what is sung to its group from its join on until it leaves, each
 *     once, in the order of the singer; all of it, or, if its type says so, but for what its queue
 *     had no room for, and so much is counted at least. It is in the phase of its last committed
 *     turn.
 * promises.P6  A turn begins a second time only behind a crash, with the state it began with
 *     before. In the end each keeper's state is that of its last turn, nothing waits for its time,
 *     nothing is put off, and all that is linked has ended (workload.H6).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "tests/sim/sim.h"

enum {
    KEEPERS_MAX = 3,
    PROMISES_MAX = 24, /* of a keeper */
    KEEPER_PUTS_OFF = 3,
    LODGERS_MAX = 2,
};

#define KEEPERS_GROUP "choir"

/* PERIOD: a timer that comes again and again, until it is cancelled. */
enum promise_kind { PROMISE_TIMER, PROMISE_PERIOD, PROMISE_QUESTION, PROMISE_END };

struct promise {
    enum promise_kind kind;
    uint32_t made, settled, given_up; /* in which turn of its keeper; 0: not */
    uint64_t id;                      /* the engine's */
    uint64_t due_ns;                  /* a timer, or a deadline, does not come before */
    uint64_t arming_ns; /* how long arming it has taken: so much later it may be due */
    uint64_t period_ns;
    /* of a period: the turn in which it came last, and when it was due until then */
    uint32_t last;
    uint64_t due_before_ns;
    /* of an end: whose; the turn that has heard the last word; how many crashes were before it */
    actor_ref mayfly;
    uint32_t word, crashes;
    bool lodges; /* of a question: a lodger is asked */
};

/* All messages of keepers and mayflies: whose it is, and which. */
struct promise_message {
    uint32_t keeper, number;
};

/* A keeper's state. */
struct keeper {
    uint32_t index, turn; /* turns that have been committed */
    uint32_t phase;       /* 1: "other" */
    uint32_t joined, sung;
    uint32_t heard[KEEPERS_MAX]; /* of each singer; 0: nothing */
    struct engine_promise_owed {
        uint64_t words[3];
        struct promise_message question;
        uint32_t there;
    } owed;
    uint32_t n_put_off, n_back; /* what has been taken back comes first of all that was put off */
    struct promise_message put_off[KEEPER_PUTS_OFF];
};

struct keeper_book {
    actor_ref ref;
    enum engine_placement placement;
    uint32_t most;    /* promises that it makes */
    uint32_t turn;    /* which began last */
    uint32_t crashes; /* behind so many that one began */
    bool running;     /* that one has not returned */
    bool member;      /* its join has been committed */
    bool puts_off;    /* at the end of its last turn it had put something off */
    /* of each singer: the first number that it must hear; 0: none */
    uint32_t from[KEEPERS_MAX];
    uint32_t n;
    struct promise promises[PROMISES_MAX];
};

/* A question that a lodger was asked: what its committed turns have made of it. UNKNOWN: it was not
 * asked yet, or the executor has died in that turn, or behind it. OUT: it was put off in a life
 * that is over, whose end tells the asker. */
enum lodger_guest_is { GUEST_UNKNOWN, GUEST_PUT_OFF, GUEST_BACK, GUEST_DONE, GUEST_OUT };
struct lodger_guest {
    enum lodger_guest_is is;
    uint32_t turn; /* of the lodger's */
};
struct lodger_book {
    actor_ref ref;
    uint32_t turn; /* which began last, of all lives */
    /* of this life: a turn that has not returned; it has joined; that has been committed; at the
     * end of its last turn it had put something off */
    bool running, joined, member, holds;
    uint32_t from[KEEPERS_MAX], heard[KEEPERS_MAX]; /* likewise, as a keeper's */
    struct lodger_guest guests[KEEPERS_MAX][PROMISES_MAX];
};

/* How often each of this has come; `again`: turns that began a second time; `detached`: that were
 * on a thread of their own. */
#define PROMISES_COUNTED(F)                                                                        \
    F(fired)                                                                                       \
    F(periods)                                                                                     \
    F(cancelled)                                                                                   \
    F(answers)                                                                                     \
    F(no_answers)                                                                                  \
    F(late_answers)                                                                                \
    F(passed_on)                                                                                   \
    F(withdrawn)                                                                                   \
    F(demonitored)                                                                                 \
    F(ends)                                                                                        \
    F(ends_anew)                                                                                   \
    F(put_off) F(songs) F(left) F(phases) F(again) F(detached) F(lodged) F(evicted) F(lodgers_anew)

struct promises {
    uint32_t n;         /* keepers; 0: nothing of all this is there */
    bool mayflies_last; /* over crashes, with their states; else they begin anew */
    bool crowded; /* queues are small, songs are long: members are at their limits (group.G8) */
    bool rejects; /* ... and are left out, instead of having it kept */
    uint32_t n_unheard; /* songs that were to be heard then, before one that was */
    struct sim_random random;
    struct keeper_book keepers[KEEPERS_MAX];
    uint32_t n_lodgers; /* lodger.h */
    struct lodger_book lodgers[LODGERS_MAX];
    uint64_t looked[2]; /* moments of the control thread's last two looks at the timers */
    struct promises_counted {
#define PROMISES_FIELD(name) uint64_t name;
        PROMISES_COUNTED(PROMISES_FIELD)
#undef PROMISES_FIELD
    } counted;
};

/* Behind everything else that is drawn, by chances of its own: loads without it are what they would
 * be. */
void promises_draw(void);
/* The engine has died, or has not begun: no turn runs, and nobody has looked at its timers. */
void promises_crashed(void);
/* Control thread: in each life of the engine, before anything runs. */
void promises_opened(struct engine *engine);
/* ... then, and again and again. */
void promises_begin(struct engine *engine);
void promises_look(struct engine *engine);
bool promises_done(const struct engine *engine);
void promises_check_idle(void);
/* Nothing has happened for long: fails with what one of them waits for. */
void promises_check_still(const struct engine *engine);
void promises_check_end(const struct engine *engine);
/* That are not to end: keepers, and their group. */
uint32_t promises_actors(struct engine *engine);

/* ---- by the actors ---- */

bool promises_draw_one_in(uint32_t n);
uint32_t promises_draw_below(uint32_t n);
/* `r` says that a queue is full, where that may be. */
bool promises_is_full(int r);
/* Fails if `r` does: an actor cannot do what it says. */
void promises_must(int r, const char *what);
/* Control thread: the actor of that name, which is made if it has not been; where there is no
 * thread for it, `spawn` says another place. Fails if it has another reference than is known (0:
 * none is). */
actor_ref promises_find_or_make(struct engine *engine, uint32_t type, struct engine_spawn *spawn,
                                actor_ref known);
/* Registers a type; its plugin, version and policy are the same for all. */
uint32_t promises_type(struct engine *engine, struct engine_actor_type_info *info);

/* ---- the book, by a keeper's turn ---- */

/* First in each behaviour. */
struct keeper_book *promises_turn(struct keeper *keeper);
struct promise *promises_make(struct keeper_book *book, enum promise_kind kind);
/* Is there such a one? */
bool promises_is(const struct keeper_book *book, uint32_t number, enum promise_kind kind);
struct promise *promises_settle(struct keeper_book *book, uint32_t number, enum promise_kind kind);
/* One that is neither settled nor given up, by lot; NULL: there is none. */
struct promise *promises_open(struct keeper_book *book, enum promise_kind kind);
bool promises_any_open(const struct keeper_book *book);
/* Of a token, or a monitor. */
uint32_t promises_find(const struct keeper_book *book, uint64_t id, enum promise_kind kind);
void promises_sing(uint32_t singer, uint32_t number);
