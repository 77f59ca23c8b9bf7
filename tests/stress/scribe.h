/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of the torture of promises: scribes, which arm timers, cancel them, ask each other,
 * answer at once, later or never, pass questions on, take them back, have mayflies, which they
 * monitor, ask lamps, of which there is one of each name, sing to a group, and write all of it down
 * in logs of histories (tests/history); mayflies, which end with timers armed and questions asked;
 * moths, which are linked to a mayfly, or to another moth, and end with it; lamps, which are dark
 * now and then and put off what they are asked; and ears, which are in the group all the while.
 * Scribes join that and leave it.
 *
 * A scribe acts by what it draws, whenever something comes. Clients post numbers to it and ask it.
 */
#ifndef SCRIBE_H
#define SCRIBE_H

#include <odeon/ask.h>
#include <odeon/message.h>
#include <odeon/monitor.h>

enum { SCRIBES = 8, SCRIBE_LAMPS = 4 /* "lamp.0", ... */, SCRIBE_EARS = 4 };
#define SCRIBE_CHOIR "choir" /* the group */
/* In a history's records: scribes are 1 to SCRIBES; clients, ears and lamps these and those
 * behind; mayflies have their scribe in the lowest byte. */
enum { SCRIBE_CLIENTS = 0x80, SCRIBE_FIRST_EAR = 0x90, SCRIBE_FIRST_LAMP = 0xa0 };

/* What becomes of a question. */
enum scribe_how {
    SCRIBE_AT_ONCE, /* it is answered */
    SCRIBE_LATER,   /* ... in another turn */
    SCRIBE_TWICE,   /* ... and in another turn once more */
    SCRIBE_LATE,    /* ... at about the deadline */
    SCRIBE_NEVER,   /* not at all */
    SCRIBE_DEAF,    /* it is of a type that nobody takes */
    SCRIBE_MAYFLY,  /* it is for one that says nothing, and ends */
    SCRIBE_LAMP,    /* it is for one that is found by its name, or made */
    SCRIBE_HOWS
};

enum scribe_due_what {
    SCRIBE_STEP,   /* acts, and arms the next one */
    SCRIBE_TICK,   /* may be cancelled */
    SCRIBE_PERIOD, /* comes again and again, until it is cancelled */
    SCRIBE_END,    /* a mayfly's */
};

/* Of a client, numbered for each pair. */
ODEON_MESSAGE(scribe_post, 1, { uint64_t client, number; });
/* `hops`: so often it is passed on before it is answered. `asker`: a scribe that asks a lamp. */
ODEON_MESSAGE(scribe_question, 1, {
    uint64_t asker, number;
    uint32_t how, hops;
});
ODEON_MESSAGE(scribe_unwanted, 1, { uint64_t number; });
ODEON_MESSAGE(scribe_answer, 1, { uint64_t number; });
/* A scribe's own, sent by timers. */
ODEON_MESSAGE(scribe_due, 1, {
    uint64_t number;
    uint32_t what, reserved;
});
ODEON_MESSAGE(scribe_owed, 1, { uint64_t timer, number, promise[3]; });
/* Who the others are; it begins. */
ODEON_MESSAGE(scribe_seats, 1, { odeon_ref others[8]; });
/* From here on nothing new, but one last timer, so long from now, if it is not 0; what is still to
 * come is the answer. */
ODEON_MESSAGE(scribe_hush, 1, { uint64_t last_us; });
ODEON_MESSAGE(scribe_open, 1, { uint64_t timers, questions, ends, sung; });
ODEON_MESSAGE(mayfly_begin, 1, {
    odeon_ref scribe;
    uint64_t seed;
});

/* To a moth: who is to hear of it, how many hang on it, and the mayfly with which all end. */
ODEON_MESSAGE(moth_begin, 1, {
    odeon_ref scribe;
    uint64_t more, mayfly;
});
ODEON_MESSAGE(moth_hatched, 1, {
    odeon_ref moth;
    uint64_t mayfly;
});

/* To the group: the number-th one of this scribe. */
ODEON_MESSAGE(scribe_sung, 1, { uint64_t scribe, number; });
/* What an ear has heard of each scribe, and how often it was not the next one. */
ODEON_SIGNAL(ear_ask, 1);
ODEON_MESSAGE(ear_says, 1, { uint64_t member, wrong, heard[8]; });
ODEON_SIGNAL(lamp_light, 1);

ODEON_INTERFACE(scribe, scribe_seats, scribe_post, scribe_question, scribe_answer, odeon_no_answer,
                odeon_down, scribe_due, scribe_owed, scribe_hush, moth_hatched, scribe_sung);
ODEON_INTERFACE(mayfly, mayfly_begin, scribe_question, scribe_answer, odeon_no_answer, scribe_due,
                scribe_sung);

ODEON_INTERFACE(moth, moth_begin);
ODEON_INTERFACE(lamp, scribe_question, lamp_light);
ODEON_INTERFACE(ear, scribe_sung, ear_ask);

struct scribe_args {
    uint64_t index, seed;
    uint64_t blind; /* nobody is monitored, or linked */
    char path[96];
};

/* A turn that takes a while, so that kills find it under way. */
static inline void scribe_dawdle(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i = i + 1)
        ;
}

static inline uint64_t scribe_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
