/* SPDX-License-Identifier: Apache-2.0 */
/* 1, ping pong. Pong's answer is what its handler returns. */
#include "savina.hpp"

using ping_me_atom = caf::atom_constant<caf::atom("pingme")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;

static caf::behavior pingpong_pong(caf::event_based_actor *self)
{
    return {
        [](ping_atom) { return pong_atom::value; },
        [=](stop_atom) { self->quit(); },
    };
}

struct pingpong_state {
    uint64_t left;
    int64_t pongs = 0;
};

static caf::behavior pingpong_ping(caf::stateful_actor<pingpong_state> *self, outcome *told,
                                   uint64_t n, caf::actor pong)
{
    auto serve = [=] {
        self->state.left--;
        self->send(pong, ping_atom::value);
    };
    self->state.left = n;
    return {
        [=](start_atom) { serve(); },
        [=](ping_me_atom) { serve(); },
        [=](pong_atom) {
            self->state.pongs++;
            if (self->state.left > 0) {
                self->send(self, ping_me_atom::value);
                return;
            }
            self->send(pong, stop_atom::value);
            told->count += self->state.pongs;
            self->quit();
        },
    };
}

static uint64_t pingpong_start(run &run)
{
    uint64_t n = run.size["n"];
    auto pong = run.system.spawn(pingpong_pong);
    auto ping = run.system.spawn(pingpong_ping, &run.told, n, pong);
    caf::anon_send(ping, start_atom::value);
    return 3 * n + 1;
}

static void pingpong_verify(run &run)
{
    run.expect("pongs", run.told.count, static_cast<int64_t>(run.size["n"]));
}

const program program_pingpong = {
    "pingpong", { { "n", 1, 1000000000 } }, pingpong_start, pingpong_verify
};
