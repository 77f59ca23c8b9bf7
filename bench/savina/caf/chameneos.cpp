/* SPDX-License-Identifier: Apache-2.0 */
/* 6, chameneos. */
#include "savina.hpp"

using meet_atom = caf::atom_constant<caf::atom("meet")>;
using change_atom = caf::atom_constant<caf::atom("change")>;
using count_atom = caf::atom_constant<caf::atom("count")>;

enum chameneos_colour : uint32_t { CHAMENEOS_RED, CHAMENEOS_YELLOW, CHAMENEOS_BLUE };
enum : uint32_t { CHAMENEOS_FADED = 3 };

struct chameneos_creature_state {
    uint32_t colour;
    int64_t meetings = 0;
};

static uint32_t chameneos_mix(uint32_t a, uint32_t b)
{
    if (a == CHAMENEOS_FADED || b == CHAMENEOS_FADED)
        return CHAMENEOS_FADED;
    return a == b ? a : CHAMENEOS_RED + CHAMENEOS_YELLOW + CHAMENEOS_BLUE - a - b;
}

static caf::behavior chameneos_creature(caf::stateful_actor<chameneos_creature_state> *self,
                                        caf::actor mall, uint32_t colour)
{
    auto ask = [=] {
        self->send(mall, meet_atom::value, self->state.colour, caf::actor_cast<caf::actor>(self));
    };
    self->state.colour = colour;
    ask();
    return {
        [=](meet_atom, uint32_t other, const caf::actor &who) {
            self->state.colour = chameneos_mix(self->state.colour, other);
            self->state.meetings++;
            self->send(who, change_atom::value, self->state.colour);
            ask();
        },
        [=](change_atom, uint32_t other) {
            self->state.colour = other;
            self->state.meetings++;
            ask();
        },
        [=](end_atom) {
            self->state.colour = CHAMENEOS_FADED;
            self->send(mall, count_atom::value, self->state.meetings);
            self->quit();
        },
    };
}

struct chameneos_mall_state {
    uint64_t left, creatures;
    int64_t met = 0;
    caf::actor waits;
};

static caf::behavior chameneos_mall(caf::stateful_actor<chameneos_mall_state> *self, outcome *told,
                                    uint64_t c, uint64_t m)
{
    self->state.left = m;
    self->state.creatures = c;
    for (uint32_t i = 0; i < c; i++)
        self->spawn(chameneos_creature, caf::actor_cast<caf::actor>(self), i % CHAMENEOS_FADED);
    return {
        [=](meet_atom, uint32_t colour, const caf::actor &who) {
            if (self->state.left == 0) {
                self->send(who, end_atom::value);
            } else if (!self->state.waits) {
                self->state.waits = who;
            } else {
                self->state.left--;
                self->send(self->state.waits, meet_atom::value, colour, who);
                self->state.waits = nullptr;
            }
        },
        [=](count_atom, int64_t meetings) {
            self->state.met += meetings;
            if (--self->state.creatures > 0)
                return;
            told->count += self->state.met;
            self->quit();
        },
    };
}

static uint64_t chameneos_start(run &run)
{
    uint64_t c = run.size["c"], m = run.size["m"];
    run.system.spawn(chameneos_mall, &run.told, c, m);
    return 4 * m + 3 * c;
}

static void chameneos_verify(run &run)
{
    run.expect("meetings", run.told.count, 2 * static_cast<int64_t>(run.size["m"]));
}

const program program_chameneos = {
    "chameneos", { { "c", 2, 100000 }, { "m", 1, 1000000000 } }, chameneos_start, chameneos_verify
};
