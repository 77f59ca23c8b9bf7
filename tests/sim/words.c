/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic words, and the store buffers between a fiber and memory (sim.M3).
 *
 * A store that is not seq_cst may be kept back: other fibers do not see it yet, its own loads do.
 * It leaves, oldest first, when its fiber comes to a fence, a locked instruction or a system call,
 * when the schedule feels like it, or when it is too old.
 */
#include "tests/sim/shim.h"

#include "tests/sim/sim.h"

uint64_t word_read(const volatile void *at, unsigned size)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)at;
    case 2:
        return *(const volatile uint16_t *)at;
    case 4:
        return *(const volatile uint32_t *)at;
    default:
        return *(const volatile uint64_t *)at;
    }
}

static void word_write(volatile void *at, unsigned size, uint64_t value)
{
    switch (size) {
    case 1:
        *(volatile uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)at = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)at = value;
        break;
    }
}

void stores_leave_one(struct fiber *f)
{
    const struct kept_store *store = &f->stores[f->first_store];
    word_write(store->at, store->size > 8 ? 8 : store->size, store->value[0]);
    if (store->size > 8)
        word_write((volatile uint8_t *)store->at + 8, 8, store->value[1]);
    f->first_store = (f->first_store + 1) % STORES_MAX;
    f->n_stores--;
    f->stores_due = sim.steps + sim.plan.kept_steps;
}

void stores_empty(struct fiber *f)
{
    while (f->n_stores)
        stores_leave_one(f);
}

/* Inlined, so that the caller is the engine's. */
static inline __attribute__((always_inline)) void step(unsigned kind, const volatile void *at,
                                                       bool changes)
{
    sim.caller = __builtin_return_address(0);
    sim_step(kind, (uint64_t)(uintptr_t)at, changes);
    struct fiber *f = sim.current;
    while (f->n_stores && sim.steps >= f->stores_due)
        stores_leave_one(f);
}

uint64_t sim_load(const volatile void *at, unsigned size)
{
    step(STEP_LOAD, at, false);
    struct fiber *f = sim.current;
    uint64_t value = 0;
    bool found = false;
    for (uint32_t i = f->n_stores; i-- > 0 && !found;) { /* the newest first */
        const struct kept_store *store = &f->stores[(f->first_store + i) % STORES_MAX];
        uintptr_t from = (uintptr_t)store->at, want = (uintptr_t)at;
        if (want + size <= from || from + store->size <= want)
            continue;
        /* in part: the processor waits, too */
        if (want < from || want + size > from + store->size) {
            stores_empty(f);
            break;
        }
        uint64_t half = store->value[want - from >= 8];
        value = half >> ((want - from) % 8 * 8) &
                (size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1);
        found = true;
    }
    if (!found)
        value = word_read(at, size);
    sim_note(value);
    return value;
}

static void keep(volatile void *at, unsigned size, uint64_t first, uint64_t second)
{
    struct fiber *f = sim.current;
    sim_note(first);
    if (f->n_stores == STORES_MAX)
        stores_leave_one(f);
    if (f->n_stores == 0)
        f->stores_due = sim.steps + sim.plan.kept_steps;
    f->stores[(f->first_store + f->n_stores++) % STORES_MAX] =
        (struct kept_store){ .at = at, .size = size, .value = { first, second } };
    if (f->in_order || sim.plan.kept_one_in == 0 ||
        random_one_in(&sim.chance, sim.plan.kept_one_in))
        stores_empty(f);
}

void sim_store(volatile void *at, unsigned size, uint64_t value, memory_order order)
{
    step(STEP_STORE, at, true);
    keep(at, size, value, 0);
    if (order == memory_order_seq_cst)
        stores_empty(sim.current);
}

void sim_store_pair(volatile void *at, uint64_t first, uint64_t second)
{
    step(STEP_STORE, at, true);
    sim_note(second);
    keep(at, 16, first, second);
}

uint64_t sim_read_modify_write(enum sim_rmw how, volatile void *at, unsigned size, uint64_t value)
{
    step(STEP_RMW, at, true);
    stores_empty(sim.current);
    uint64_t old = word_read(at, size), new = value;
    switch (how) {
    case SIM_EXCHANGE:
        break;
    case SIM_ADD:
        new = old + value;
        break;
    case SIM_SUB:
        new = old - value;
        break;
    case SIM_OR:
        new = old | value;
        break;
    case SIM_AND:
        new = old &value;
        break;
    }
    word_write(at, size, new);
    sim_note(old);
    return old;
}

_Bool sim_compare_exchange(volatile void *at, unsigned size, void *expected, uint64_t desired)
{
    step(STEP_CAS, at, true);
    stores_empty(sim.current);
    uint64_t old = word_read(at, size);
    sim_note(old);
    if (old == word_read(expected, size)) {
        word_write(at, size, desired);
        return true;
    }
    word_write(expected, size, old);
    return false;
}

void sim_fence(memory_order order)
{
    step(STEP_FENCE, NULL, false);
    if (order == memory_order_seq_cst) /* the others are no instructions on x86-64 */
        stores_empty(sim.current);
}

void sim_instruction(void)
{
    step(STEP_PLACE, NULL, true);
}

void sim_relax(void)
{
    step(STEP_RELAX, NULL, false);
    sim_yield();
}
