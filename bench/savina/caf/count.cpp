/* SPDX-License-Identifier: Apache-2.0 */
/* 2, counting actor. All increments are sent by one handler. */
#include "savina.hpp"

using increment_atom = caf::atom_constant<caf::atom("increment")>;
using retrieve_atom = caf::atom_constant<caf::atom("retrieve")>;

struct count_state {
    int64_t count = 0;
};

static caf::behavior count_counter(caf::stateful_actor<count_state> *self)
{
    return {
        [=](increment_atom) { self->state.count++; },
        [=](retrieve_atom) {
            self->quit();
            return self->state.count;
        },
    };
}

static caf::behavior count_producer(caf::event_based_actor *self, outcome *told, uint64_t n,
                                    caf::actor counter)
{
    return {
        [=](start_atom) {
            for (uint64_t i = 0; i < n; i++)
                self->send(counter, increment_atom::value);
            self->send(counter, retrieve_atom::value);
        },
        [=](int64_t count) {
            told->count += count;
            self->quit();
        },
    };
}

static uint64_t count_start(run &run)
{
    uint64_t n = run.size["n"];
    auto counter = run.system.spawn(count_counter);
    auto producer = run.system.spawn(count_producer, &run.told, n, counter);
    caf::anon_send(producer, start_atom::value);
    return n + 3;
}

static void count_verify(run &run)
{
    run.expect("counted", run.told.count, static_cast<int64_t>(run.size["n"]));
}

const program program_count = { "count", { { "n", 1, 5000000 } }, count_start, count_verify };
