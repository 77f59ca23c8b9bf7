/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/reap.h"

#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/signal/order_all.h"
#include "daemon/engine/signal/wake.h"

enum { REAP_PASSES = 2 };

static bool reap_is_empty(const uint64_t *set, size_t n_words)
{
    uint64_t any = 0;
    for (size_t word = 0; word < n_words; word++)
        any |= set[word];
    return any == 0;
}

static bool reap_ports_are_none(const uint64_t *ports)
{
    return reap_is_empty(ports, ODEON_PORTS_MAX / 64);
}

static void reap_strike_worker(struct port_reaper *reaper, uint32_t id)
{
    reaper->late[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

void reap_port(struct engine *e, uint32_t id, uint32_t why)
{
    engine_check("reap.RP1", load_relaxed(&e->ports.table[id].state) == PORT_DEAD);
    e->ports.table[id].ended_why = why;
    e->ports.reaper.heard[id / 64] |= UINT64_C(1) << (id % 64);
}

/* Those that have been heard of are looked at together (reap.RP5). */
static void reap_begin(struct engine *e)
{
    struct port_reaper *reaper = &e->ports.reaper;
    memcpy(reaper->going, reaper->heard, sizeof(reaper->going));
    memset(reaper->heard, 0, sizeof(reaper->heard));
    memset(reaper->late, 0, sizeof(reaper->late));
    order_all(e); /* reap.RP4; without it, two passes are waited for all the same */
    for (uint32_t id = 0; e->started && id < engine_workers(e); id++) {
        reaper->passes[id] = load_acquire(&e->workers[id]->shown.passes);
        reaper->late[id / 64] |= UINT64_C(1) << (id % 64);
    }
}

/* Or has gone, or has never been. */
static bool reap_worker_has_passed(struct engine *e, uint32_t id)
{
    return !e->started || id >= engine_workers(e) || sleeper_sleeps(e, id) ||
           load_acquire(&e->workers[id]->shown.passes) - e->ports.reaper.passes[id] >= REAP_PASSES;
}

/* reap.RP2: who runs a mailbox. */
static void reap_strike_runners(struct engine *e)
{
    for (uint32_t mailbox = 0; mailbox < e->segment.n_mailboxes; mailbox++) {
        /* acquire: behind its last look */
        uint64_t own = load_acquire(e->sources[mailbox].own);
        if (own_is_running(own) && own_worker(own) < ODEON_WORKERS_MAX)
            reap_strike_worker(&e->ports.reaper, own_worker(own));
    }
}

static bool reap_some_are_late(struct engine *e)
{
    struct port_reaper *reaper = &e->ports.reaper;
    for (uint32_t word = 0; word < ODEON_WORKERS_MAX / 64; word++)
        for (uint64_t bits = reaper->late[word]; bits; bits &= bits - 1) {
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (reap_worker_has_passed(e, id))
                reap_strike_worker(reaper, id);
        }
    if (!reap_is_empty(reaper->late, ODEON_WORKERS_MAX / 64))
        reap_strike_runners(e);
    return !reap_is_empty(reaper->late, ODEON_WORKERS_MAX / 64);
}

static void reap_give_back(struct engine *e)
{
    struct port_reaper *reaper = &e->ports.reaper;
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++) {
        for (uint64_t bits = reaper->going[word]; bits; bits &= bits - 1)
            port_forget(e, word * 64 + (uint32_t)__builtin_ctzll(bits));
        reaper->gone[word] |= reaper->going[word];
        reaper->going[word] = 0;
    }
}

bool reap_some_wait(const struct engine *e)
{
    return !reap_ports_are_none(e->ports.reaper.going) ||
           !reap_ports_are_none(e->ports.reaper.heard);
}

bool reap_collect(struct engine *e)
{
    while (reap_some_wait(e)) {
        if (reap_ports_are_none(e->ports.reaper.going))
            reap_begin(e);
        if (reap_some_are_late(e))
            return true;
        reap_give_back(e);
    }
    return false;
}

bool reap_next(struct engine *e, struct engine_event *ret_event)
{
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++) {
        uint64_t bits = e->ports.reaper.gone[word];
        if (!bits)
            continue;
        uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
        e->ports.reaper.gone[word] = bits & (bits - 1);
        *ret_event = (struct engine_event){ .kind = ENGINE_EVENT_PORT_REMOVED,
                                            .id = id,
                                            .generation = e->ports.table[id].generation,
                                            .why = e->ports.table[id].ended_why };
        return true;
    }
    return false;
}
