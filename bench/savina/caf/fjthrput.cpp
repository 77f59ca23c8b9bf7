/* SPDX-License-Identifier: Apache-2.0 */
/* 3, fork-join throughput. The main thread sends. */
#include "bench/savina/lcg.h"
#include "savina.hpp"

struct fjthrput_state {
    uint64_t left;
    int64_t right = 0;
};

static caf::behavior fjthrput_actor(caf::stateful_actor<fjthrput_state> *self, outcome *told,
                                    uint64_t n)
{
    self->state.left = n;
    return {
        [=](work_atom) {
            self->state.right += lcg_compute() != 0;
            if (--self->state.left > 0)
                return;
            told->count += self->state.right;
            self->quit();
        },
    };
}

static uint64_t fjthrput_start(run &run)
{
    uint64_t n = run.size["n"], a = run.size["a"];
    std::vector<caf::actor> actors;
    for (uint64_t i = 0; i < a; i++)
        actors.push_back(run.system.spawn(fjthrput_actor, &run.told, n));
    for (uint64_t round = 0; round < n; round++) {
        for (auto &actor : actors)
            caf::anon_send(actor, work_atom::value);
    }
    return n * a;
}

static void fjthrput_verify(run &run)
{
    run.expect("computed", run.told.count, static_cast<int64_t>(run.size["n"] * run.size["a"]));
}

const program program_fjthrput = {
    "fjthrput", { { "n", 1, 10000000 }, { "a", 1, 10000 } }, fjthrput_start, fjthrput_verify
};
