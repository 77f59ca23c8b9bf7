/* SPDX-License-Identifier: Apache-2.0 */
/* 29, Fibonacci. */
#include "savina.hpp"

using request_atom = caf::atom_constant<caf::atom("request")>;
using response_atom = caf::atom_constant<caf::atom("response")>;

struct fib_state {
    uint64_t sum = 0;
    unsigned responses = 0;
};

static caf::behavior fib_actor(caf::stateful_actor<fib_state> *self, outcome *told,
                               caf::actor parent)
{
    auto finish = [=](uint64_t value) {
        if (parent)
            self->send(parent, response_atom::value, value);
        else
            told->value += static_cast<int64_t>(value);
        self->quit();
    };
    return {
        [=](request_atom, uint64_t n) {
            if (n <= 2) {
                finish(1);
                return;
            }
            for (uint64_t before = 1; before <= 2; before++) {
                auto child = self->spawn(fib_actor, told, caf::actor_cast<caf::actor>(self));
                self->send(child, request_atom::value, n - before);
            }
        },
        [=](response_atom, uint64_t value) {
            self->state.sum += value;
            if (++self->state.responses == 2)
                finish(self->state.sum);
        },
    };
}

static uint64_t fib_number(uint64_t n)
{
    uint64_t a = 1, b = 1;
    for (uint64_t i = 2; i < n; i++) {
        uint64_t next = a + b;
        a = b;
        b = next;
    }
    return b;
}

static uint64_t fib_start(run &run)
{
    uint64_t n = run.size["n"];
    auto root = run.system.spawn(fib_actor, &run.told, caf::actor{});
    caf::anon_send(root, request_atom::value, n);
    return 2 * (2 * fib_number(n) - 1) - 1;
}

static void fib_verify(run &run)
{
    run.expect("number", run.told.value, static_cast<int64_t>(fib_number(run.size["n"])));
}

const program program_fib = { "fib", { { "n", 1, 28 } }, fib_start, fib_verify };
