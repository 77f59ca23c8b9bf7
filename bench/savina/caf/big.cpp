/* SPDX-License-Identifier: Apache-2.0 */
/* 7, big. A message is in its queue when it has been sent, so that the first pongs find that all
 * know each other; the table of all is one that they share. */
#include "bench/savina/lcg.h"
#include "savina.hpp"

using neighbours_atom = caf::atom_constant<caf::atom("neighbours")>;
using big_table = std::shared_ptr<std::vector<caf::actor>>; /* the sink is the last one */
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(big_table)

struct big_sink_state {
    big_table all;
    uint64_t ended = 0;
};

static caf::behavior big_sink(caf::stateful_actor<big_sink_state> *self)
{
    return {
        [=](neighbours_atom, const big_table &all) { self->state.all = all; },
        [=](end_atom) {
            auto &all = *self->state.all;
            if (++self->state.ended < all.size() - 1)
                return;
            for (size_t i = 0; i < all.size() - 1; i++)
                self->send(all[i], end_atom::value);
            self->quit();
        },
    };
}

struct big_state {
    big_table all;
    lcg numbers;
    int64_t expected = -1, wrong = 0;
    uint64_t pings = 0;
};

static caf::behavior big_actor(caf::stateful_actor<big_state> *self, outcome *told, int64_t id,
                               uint64_t n)
{
    self->state.numbers.v = static_cast<uint64_t>(id);
    return {
        [=](neighbours_atom, const big_table &all) { self->state.all = all; },
        [=](ping_atom, int64_t sender) {
            self->send((*self->state.all)[static_cast<size_t>(sender)], pong_atom::value, id);
        },
        [=](pong_atom, int64_t sender) {
            auto &state = self->state;
            auto &all = *state.all;
            state.wrong += sender != state.expected;
            if (state.pings == n) {
                self->send(all.back(), end_atom::value);
                return;
            }
            state.expected = lcg_int(&state.numbers, static_cast<uint32_t>(all.size() - 1));
            state.pings++;
            self->send(all[static_cast<size_t>(state.expected)], ping_atom::value, id);
        },
        [=](end_atom) {
            told->count += static_cast<int64_t>(self->state.pings);
            told->value += self->state.wrong;
            self->quit();
        },
    };
}

static uint64_t big_start(run &run)
{
    uint64_t n = run.size["n"], w = run.size["w"];
    auto all = std::make_shared<std::vector<caf::actor>>();
    for (uint64_t i = 0; i < w; i++)
        all->push_back(run.system.spawn(big_actor, &run.told, static_cast<int64_t>(i), n));
    all->push_back(run.system.spawn(big_sink));
    for (auto &actor : *all)
        caf::anon_send(actor, neighbours_atom::value, all);
    for (uint64_t i = 0; i < w; i++)
        caf::anon_send((*all)[i], pong_atom::value, int64_t{ -1 });
    return 2 * n * w + 4 * w + 1;
}

static void big_verify(run &run)
{
    run.expect("wrong pongs", run.told.value, 0);
    run.expect("pings", run.told.count, static_cast<int64_t>(run.size["n"] * run.size["w"]));
}

const program program_big = {
    "big", { { "n", 1, 10000000 }, { "w", 1, 20000 } }, big_start, big_verify
};
