/* SPDX-License-Identifier: Apache-2.0 */
/* 30, bitonic sort: the network of actors that bench/savina/bitonicsort.c has, which says what each
 * of them does. */
#include "bench/savina/lcg.h"
#include "savina.hpp"

enum { BITONICSORT_SEED = 2048 };
enum bitonicsort_kind { BITONICSORT_KERNEL, BITONICSORT_STAGE, BITONICSORT_STEP, BITONICSORT_PART };

/* What an actor of the network is made with. */
struct bitonicsort_of {
    uint64_t n = 0;     /* receivers, inputs, workers, or a stage's numbers */
    uint64_t len = 0;   /* so many at a time; values of a part */
    uint64_t total = 0; /* items that come */
    uint64_t dc = 0;    /* workers in a row that go the same way */
    uint64_t order = 0;
    bool up = false, all_up = false;
};

using item_atom = caf::atom_constant<caf::atom("item")>;

/* ---- the simple ones ---- */

static caf::behavior bitonicsort_label(caf::event_based_actor *self, caf::actor next,
                                       uint64_t order)
{
    return {
        [=](item_atom, int64_t value, uint64_t) {
            self->send(next, item_atom::value, value, order);
        },
        [=](end_atom) {
            self->send(next, end_atom::value);
            self->quit();
        },
    };
}

struct bitonicsort_splitter_state {
    std::vector<caf::actor> receivers;
    uint64_t receiver = 0, given = 0;
};

static caf::behavior bitonicsort_splitter(caf::stateful_actor<bitonicsort_splitter_state> *self,
                                          std::vector<caf::actor> receivers, uint64_t len)
{
    self->state.receivers = std::move(receivers);
    return {
        [=](item_atom, int64_t value, uint64_t order) {
            auto &state = self->state;
            self->send(state.receivers[state.receiver], item_atom::value, value, order);
            if (++state.given == len) {
                state.given = 0;
                state.receiver = (state.receiver + 1) % state.receivers.size();
            }
        },
        [=](end_atom) {
            for (auto &receiver : self->state.receivers)
                self->send(receiver, end_atom::value);
            self->quit();
        },
    };
}

struct bitonicsort_joiner_state {
    std::vector<int64_t> items;   /* of each input, as many as come from it */
    std::vector<uint32_t> came;   /* of each input */
    std::vector<uint64_t> passed; /* ditto */
    uint64_t input = 0, given = 0, ended = 0;
};

static caf::behavior bitonicsort_joiner(caf::stateful_actor<bitonicsort_joiner_state> *self,
                                        caf::actor next, bitonicsort_of of)
{
    self->state.items.resize(of.total);
    self->state.came.resize(of.n);
    self->state.passed.resize(of.n);
    return {
        [=](item_atom, int64_t value, uint64_t order) {
            auto &state = self->state;
            uint64_t each = of.total / of.n;
            state.items[order * each + state.came[order]++] = value;
            while (state.passed[state.input] < state.came[state.input]) {
                int64_t item = state.items[state.input * each + state.passed[state.input]++];
                self->send(next, item_atom::value, item, state.input);
                if (++state.given < of.len)
                    continue;
                state.given = 0;
                state.input = (state.input + 1) % of.n;
            }
        },
        [=](end_atom) {
            if (++self->state.ended < of.n)
                return;
            self->send(next, end_atom::value);
            self->quit();
        },
    };
}

struct bitonicsort_compare_state {
    int64_t first;
    bool has_first = false;
};

static caf::behavior bitonicsort_compare(caf::stateful_actor<bitonicsort_compare_state> *self,
                                         caf::actor next, uint64_t order, bool up)
{
    return {
        [=](item_atom, int64_t b, uint64_t) {
            int64_t a = self->state.first;
            self->state.has_first = !self->state.has_first;
            self->state.first = b;
            if (self->state.has_first)
                return;
            bool in_order = up ? a <= b : a >= b;
            self->send(next, item_atom::value, in_order ? a : b, order);
            self->send(next, item_atom::value, in_order ? b : a, order);
        },
        [=](end_atom) {
            self->send(next, end_atom::value);
            self->quit();
        },
    };
}

/* ---- what consists of others: each makes its row from the end to the beginning ---- */

static caf::behavior bitonicsort_part(caf::event_based_actor *self, caf::actor next,
                                      bitonicsort_kind kind, bitonicsort_of of);

/* Splitter, workers and joiner: of a step, or of a part, whose workers are all comparers. */
static caf::actor bitonicsort_workers(caf::event_based_actor *self, caf::actor next,
                                      const bitonicsort_of &of, uint64_t n, uint64_t len, bool part)
{
    std::vector<caf::actor> workers;
    bitonicsort_of inputs;
    inputs.n = n;
    inputs.len = len;
    inputs.total = of.total;
    next = self->spawn(bitonicsort_joiner, next, inputs);
    for (uint64_t i = 0; i < n; i++) {
        bitonicsort_of one;
        one.len = len;
        one.order = i;
        one.up = part ? of.up : of.all_up || i / of.dc % 2 == 0;
        one.total = of.total / n;
        if (part || len == 2)
            workers.push_back(self->spawn(bitonicsort_compare, next, one.order, one.up));
        else
            workers.push_back(self->spawn(bitonicsort_part, next, BITONICSORT_PART, one));
    }
    return self->spawn(bitonicsort_splitter, std::move(workers), len);
}

static caf::actor bitonicsort_make(caf::event_based_actor *self, caf::actor next,
                                   bitonicsort_kind kind, const bitonicsort_of &of)
{
    bitonicsort_of one;
    one.total = of.total;
    switch (kind) {
    case BITONICSORT_KERNEL:
        next = self->spawn(bitonicsort_label, next, uint64_t{ 0 });
        for (one.n = of.total; one.n >= 2; one.n /= 2)
            next = self->spawn(bitonicsort_part, next, BITONICSORT_STAGE, one);
        return next;
    case BITONICSORT_STAGE:
        one.all_up = of.n == of.total;
        for (one.dc = of.n / 2; one.dc >= 1; one.dc /= 2) {
            one.len = of.n / one.dc;
            one.n = of.total / of.n * one.dc;
            next = self->spawn(bitonicsort_part, next, BITONICSORT_STEP, one);
        }
        return next;
    case BITONICSORT_STEP:
        if (!of.all_up)
            next = self->spawn(bitonicsort_label, next, uint64_t{ 0 });
        return bitonicsort_workers(self, next, of, of.n, of.len, false);
    default:
        next = self->spawn(bitonicsort_label, next, of.order);
        return bitonicsort_workers(self, next, of, of.len / 2, 1, true);
    }
}

static caf::behavior bitonicsort_part(caf::event_based_actor *self, caf::actor next,
                                      bitonicsort_kind kind, bitonicsort_of of)
{
    auto first = bitonicsort_make(self, next, kind, of);
    return {
        [=](item_atom, int64_t value, uint64_t order) {
            self->send(first, item_atom::value, value, order);
        },
        [=](end_atom) {
            self->send(first, end_atom::value);
            self->quit();
        },
    };
}

/* ---- source and validator ---- */

static caf::behavior bitonicsort_source(caf::event_based_actor *self, caf::actor next, uint64_t n)
{
    return {
        [=](start_atom) {
            lcg numbers = { BITONICSORT_SEED };
            for (uint64_t i = 0; i < n; i++)
                self->send(next, item_atom::value, int64_t{ lcg_next(&numbers) }, uint64_t{ 0 });
            self->send(next, end_atom::value);
            self->quit();
        },
    };
}

struct bitonicsort_validator_state {
    int64_t last = 0, count = 0, sum = 0, wrong = 0;
};

static caf::behavior bitonicsort_validator(caf::stateful_actor<bitonicsort_validator_state> *self,
                                           outcome *told)
{
    return {
        [=](item_atom, int64_t value, uint64_t) {
            auto &state = self->state;
            state.wrong += state.count++ > 0 && value < state.last;
            state.last = value;
            state.sum += value;
        },
        [=](end_atom) {
            told->count += self->state.count;
            told->value += self->state.sum;
            told->add_sum(static_cast<double>(self->state.wrong));
            self->quit();
        },
    };
}

/* ---- the program ---- */

static void bitonicsort_refuse(run &run)
{
    uint64_t n = run.size["n"];
    if ((n & (n - 1)) != 0)
        run.wrong = "n: is no power of two";
}

/* What the steps of a stage of p numbers send to their actors: values, and ends. */
static uint64_t bitonicsort_messages_of_stage(uint64_t n, uint64_t p)
{
    uint64_t messages = n + 1; /* to the stage itself */
    for (uint64_t i = p / 2; i >= 1; i /= 2) {
        uint64_t len = p / i, workers = n / len, label = p < n;
        messages += n * (3 + (len > 2 ? 5 : 1) + label);
        messages += 2 + workers * (len > 2 ? 3 + len : 1) + workers + label;
    }
    return messages;
}

static uint64_t bitonicsort_start(run &run)
{
    bitonicsort_of of;
    of.total = run.size["n"];
    auto validator = run.system.spawn(bitonicsort_validator, &run.told);
    auto kernel = run.system.spawn(bitonicsort_part, caf::actor_cast<caf::actor>(validator),
                                   BITONICSORT_KERNEL, of);
    auto source = run.system.spawn(bitonicsort_source, kernel, of.total);
    caf::anon_send(source, start_atom::value);
    uint64_t messages = 3 * (of.total + 1); /* to kernel, last label and validator */
    for (uint64_t p = 2; p <= of.total; p *= 2)
        messages += bitonicsort_messages_of_stage(of.total, p);
    return messages;
}

static void bitonicsort_verify(run &run)
{
    lcg numbers = { BITONICSORT_SEED };
    int64_t sum = 0;
    for (uint64_t i = 0; i < run.size["n"]; i++)
        sum += lcg_next(&numbers);
    run.expect("numbers", run.told.count, static_cast<int64_t>(run.size["n"]));
    run.expect("not in order", static_cast<int64_t>(run.told.sum), 0);
    run.expect("sum", run.told.value, sum);
}

const program program_bitonicsort = { "bitonicsort",     { { "n", 2, 8192 } },
                                      bitonicsort_start, bitonicsort_verify,
                                      nullptr,           bitonicsort_refuse };
