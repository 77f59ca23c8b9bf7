/* SPDX-License-Identifier: Apache-2.0 */
/* 8, concurrent dictionary. Typed, as CAF's example of a cell is; answers are what the dictionary's
 * handlers return. The table is the one that Odeon's dictionary looks into. */
#include "bench/savina/concdict.h"
#include "bench/savina/java.h"
#include "savina.hpp"

using write_atom = caf::atom_constant<caf::atom("write")>;
using read_atom = caf::atom_constant<caf::atom("read")>;
using concdict_dictionary =
    caf::typed_actor<caf::replies_to<write_atom, int32_t, int32_t>::with<int64_t>,
                     caf::replies_to<read_atom, int32_t>::with<int64_t>, caf::reacts_to<end_atom>>;
using concdict_worker = caf::typed_actor<caf::reacts_to<work_atom>, caf::reacts_to<int64_t>>;
using concdict_master = caf::typed_actor<caf::reacts_to<end_atom>>;

static std::shared_ptr<concdict_place> concdict_table; /* of the iteration that runs */

static concdict_dictionary::behavior_type concdict_serve(concdict_dictionary::pointer self,
                                                         outcome *told,
                                                         std::shared_ptr<concdict_place> table)
{
    return {
        [=](write_atom, int32_t key, int32_t value) -> int64_t {
            *concdict_find(table.get(), key) = { key, value };
            return value;
        },
        [=](read_atom, int32_t key) -> int64_t {
            const concdict_place *place = concdict_find(table.get(), key);
            return place->key < 0 ? 0 : place->value;
        },
        [=](end_atom) {
            told->value += concdict_size(table.get());
            self->quit();
        },
    };
}

struct concdict_worker_state {
    java numbers;
    uint64_t count = 0;
};

static concdict_worker::behavior_type
concdict_work(concdict_worker::stateful_pointer<concdict_worker_state> self, outcome *told,
              concdict_dictionary dictionary, concdict_master master, uint64_t id, uint64_t m,
              int32_t writes)
{
    auto go_on = [=] {
        auto &state = self->state;
        if (++state.count > m) {
            self->send(master, end_atom::value);
            told->count += static_cast<int64_t>(state.count - 1);
            self->quit();
            return;
        }
        bool write = java_below(&state.numbers, 100) < writes;
        int32_t key = concdict_key(java_int(&state.numbers));
        if (write)
            self->send(dictionary, write_atom::value, key, java_int(&state.numbers));
        else
            self->send(dictionary, read_atom::value, key);
    };
    java_seed(&self->state.numbers, id + m + 10);
    return {
        [=](work_atom) { go_on(); },
        [=](int64_t) { go_on(); },
    };
}

struct concdict_master_state {
    uint64_t left;
};

static concdict_master::behavior_type
concdict_lead(concdict_master::stateful_pointer<concdict_master_state> self, outcome *told,
              uint64_t e, uint64_t m, int32_t writes)
{
    auto dictionary = self->spawn(concdict_serve, told, concdict_table);
    for (uint64_t i = 0; i < e; i++) {
        auto worker = self->spawn(concdict_work, told, dictionary,
                                  caf::actor_cast<concdict_master>(self), i, m, writes);
        self->send(worker, work_atom::value);
    }
    self->state.left = e;
    return {
        [=](end_atom) {
            if (--self->state.left > 0)
                return;
            self->send(dictionary, end_atom::value);
            self->quit();
        },
    };
}

static void concdict_prepare(run &)
{
    concdict_table.reset(concdict_fill(), std::free);
}

static uint64_t concdict_start(run &run)
{
    uint64_t e = run.size["e"], m = run.size["m"];
    run.system.spawn(concdict_lead, &run.told, e, m, static_cast<int32_t>(run.size["w"]));
    return e * (2 * m + 2) + 1;
}

static void concdict_verify(run &run)
{
    run.expect("entries", run.told.value, CONCDICT_KEYS);
    run.expect("answers", run.told.count, static_cast<int64_t>(run.size["e"] * run.size["m"]));
}

const program program_concdict = { "concdict",
                                   { { "e", 1, 10000 }, { "m", 1, 10000000 }, { "w", 1, 100 } },
                                   concdict_start,
                                   concdict_verify,
                                   concdict_prepare };
