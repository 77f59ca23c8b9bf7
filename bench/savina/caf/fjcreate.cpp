/* SPDX-License-Identifier: Apache-2.0 */
/* 4, fork-join actor creation. The main thread makes the actors. */
#include "bench/savina/lcg.h"
#include "savina.hpp"

static caf::behavior fjcreate_actor(caf::event_based_actor *self, outcome *told)
{
    return {
        [=](work_atom) {
            if (lcg_compute())
                told->count++;
            self->quit();
        },
    };
}

static uint64_t fjcreate_start(run &run)
{
    uint64_t n = run.size["n"];
    for (uint64_t i = 0; i < n; i++)
        caf::anon_send(run.system.spawn(fjcreate_actor, &run.told), work_atom::value);
    return n;
}

static void fjcreate_verify(run &run)
{
    run.expect("computed", run.told.count, static_cast<int64_t>(run.size["n"]));
}

const program program_fjcreate = {
    "fjcreate", { { "n", 1, 100000000 } }, fjcreate_start, fjcreate_verify
};
