/* SPDX-License-Identifier: Apache-2.0 */
/* 11, dining philosophers. Typed, as CAF's example of them is. */
#include "savina.hpp"

using denied_atom = caf::atom_constant<caf::atom("denied")>;
using eat_atom = caf::atom_constant<caf::atom("eat")>;
using hungry_atom = caf::atom_constant<caf::atom("hungry")>;
using done_atom = caf::atom_constant<caf::atom("done")>;
using philosopher_actor = caf::typed_actor<caf::reacts_to<start_atom>, caf::reacts_to<denied_atom>,
                                           caf::reacts_to<eat_atom>>;
using philosopher_arbiter =
    caf::typed_actor<caf::reacts_to<hungry_atom, philosopher_actor, uint64_t>,
                     caf::reacts_to<done_atom, uint64_t>, caf::reacts_to<end_atom>>;

struct philosopher_arbiter_state {
    std::vector<bool> taken;
    uint64_t ended = 0;
};

static philosopher_arbiter::behavior_type
philosopher_arbitrate(philosopher_arbiter::stateful_pointer<philosopher_arbiter_state> self,
                      uint64_t n)
{
    self->state.taken.resize(n);
    return {
        [=](hungry_atom, const philosopher_actor &who, uint64_t id) {
            auto &taken = self->state.taken;
            if (taken[id] || taken[(id + 1) % n]) {
                self->send(who, denied_atom::value);
                return;
            }
            taken[id] = taken[(id + 1) % n] = true;
            self->send(who, eat_atom::value);
        },
        [=](done_atom, uint64_t id) {
            self->state.taken[id] = self->state.taken[(id + 1) % n] = false;
        },
        [=](end_atom) {
            if (++self->state.ended == n)
                self->quit();
        },
    };
}

struct philosopher_state {
    uint64_t meals = 0;
    int64_t denials = 0;
};

static philosopher_actor::behavior_type
philosopher_live(philosopher_actor::stateful_pointer<philosopher_state> self, outcome *told,
                 philosopher_arbiter arbiter, uint64_t id, uint64_t m)
{
    auto ask = [=] {
        self->send(arbiter, hungry_atom::value, caf::actor_cast<philosopher_actor>(self), id);
    };
    return {
        [=](start_atom) { ask(); },
        [=](denied_atom) {
            self->state.denials++;
            ask();
        },
        [=](eat_atom) {
            self->state.meals++;
            self->send(arbiter, done_atom::value, id);
            if (self->state.meals < m) {
                self->send(self, start_atom::value);
                return;
            }
            self->send(arbiter, end_atom::value);
            told->messages += 2 * self->state.denials;
            told->count += static_cast<int64_t>(self->state.meals);
            self->quit();
        },
    };
}

static uint64_t philosopher_start(run &run)
{
    uint64_t n = run.size["n"], m = run.size["m"];
    auto arbiter = run.system.spawn(philosopher_arbitrate, n);
    for (uint64_t i = 0; i < n; i++) {
        auto one = run.system.spawn(philosopher_live, &run.told, arbiter, i, m);
        caf::anon_send(one, start_atom::value);
    }
    return 4 * n * m + n;
}

static void philosopher_verify(run &run)
{
    run.expect("meals", run.told.count, static_cast<int64_t>(run.size["n"] * run.size["m"]));
}

const program program_philosopher = { "philosopher",
                                      { { "n", 2, 10000 }, { "m", 1, 100000000 } },
                                      philosopher_start,
                                      philosopher_verify };
