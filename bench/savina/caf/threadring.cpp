/* SPDX-License-Identifier: Apache-2.0 */
/* 5, thread ring. A message is in its queue when it has been sent, so that the first ping finds
 * that all know their next one. */
#include "savina.hpp"

using next_atom = caf::atom_constant<caf::atom("next")>;

struct threadring_state {
    caf::actor next;
    int64_t pings = 0;
};

static caf::behavior threadring_actor(caf::stateful_actor<threadring_state> *self, outcome *told,
                                      uint64_t n)
{
    return {
        [=](next_atom, const caf::actor &next) { self->state.next = next; },
        [=](ping_atom, uint64_t left) {
            self->state.pings++;
            if (left > 0)
                self->send(self->state.next, ping_atom::value, left - 1);
            else
                self->send(self->state.next, end_atom::value, n);
        },
        [=](end_atom, uint64_t left) {
            if (left > 0)
                self->send(self->state.next, end_atom::value, left - 1);
            told->count += self->state.pings;
            self->quit();
        },
    };
}

static uint64_t threadring_start(run &run)
{
    uint64_t n = run.size["n"], r = run.size["r"];
    std::vector<caf::actor> actors;
    for (uint64_t i = 0; i < n; i++)
        actors.push_back(run.system.spawn(threadring_actor, &run.told, n));
    for (uint64_t i = 0; i < n; i++)
        caf::anon_send(actors[i], next_atom::value, actors[(i + 1) % n]);
    caf::anon_send(actors[0], ping_atom::value, r);
    return n + (r + 1) + (n + 1);
}

static void threadring_verify(run &run)
{
    run.expect("pings", run.told.count, static_cast<int64_t>(run.size["r"]) + 1);
}

const program program_threadring = {
    "threadring", { { "n", 1, 20000 }, { "r", 1, 1000000000 } }, threadring_start, threadring_verify
};
