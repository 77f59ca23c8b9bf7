/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/client.h"

#include <limits.h>
#include <linux/futex.h>

#include "daemon/engine/base/atomic.h"
#include "tests/seeded/seeds.h"
#include "tests/sim/shim.h"
#include "tests/sim/sim.h"

static uint32_t wait_word(struct client *c)
{
    c->wait_sequence += PORT_WAIT_STEP;
    return c->wait_sequence | PORT_WAIT_FUTEX;
}

static bool has_room(struct client *c, uint64_t bytes)
{
    uint64_t head = load_acquire(&c->executor->submission_head); /* port_layout.P1 */
    if (head > c->tail || head < c->room_head)
        sim_fail(
            "client %u: the submission head is at %llu; it was at %llu, and the tail is at %llu",
            c->info.id, (unsigned long long)head, (unsigned long long)c->room_head,
            (unsigned long long)c->tail);
    c->room_head = head;
    return c->tail - head + bytes <= CLIENT_RING;
}

static void wait_for_room(struct client *c, uint64_t bytes)
{
    while (!has_room(c, bytes)) {
        uint32_t seen = load_acquire(&c->executor->room_futex);
        store_relaxed(&c->words->room_wait, wait_word(c));
        full_barrier(); /* port_layout.P4 */
        if (!has_room(c, bytes)) {
            c->wants = bytes;
            (void)syscall(SYS_futex, &c->executor->room_futex, FUTEX_WAIT, seen, NULL, NULL, 0);
            c->wants = 0;
        }
        store_relaxed(&c->words->room_wait, PORT_WAIT_NONE);
    }
}

void client_post(struct client *c, actor_ref to, uint16_t type, uint8_t flags, uint64_t correlation,
                 const void *payload, uint16_t length)
{
    unsigned prefix = (correlation ? PREFIX_CORRELATION : 0) | (c->trace ? PREFIX_TRACE : 0) |
                      (c->when ? PREFIX_AFTER : 0);
    struct envelope header = { .to = to,
                               .type = type,
                               .length = (uint16_t)(envelope_prefix_bytes(prefix) + length),
                               .behaviour = 255,
                               .flags = flags,
                               .prefix = (uint8_t)prefix };
    uint64_t bytes = envelope_record_size(&header);
    wait_for_room(c, bytes);
    struct envelope *at = (struct envelope *)(c->submission + (c->tail & (CLIENT_RING - 1)));
    *at = header;
    if (correlation)
        envelope_word_put(at, PREFIX_CORRELATION, correlation);
    if (c->trace)
        envelope_word_put(at, PREFIX_TRACE, c->trace);
    if (c->when)
        envelope_word_put(at, PREFIX_AFTER, c->when);
    memcpy(envelope_payload(at), payload, length);
    c->tail += bytes;
    store_release(&c->words->submission_tail, c->tail); /* port_layout.P2 */
    if (!SEEDED(post_fence))
        full_barrier(); /* port_layout.P4 */
    if (load_relaxed(&c->executor->need_wakeup))
        kernel_doorbell_ring(c->info.doorbell_fd);
}

const struct envelope *client_next(struct client *c)
{
    if (c->released != c->head) {
        c->released = c->head;
        store_release(&c->words->delivery_head, c->head); /* port_layout.P1 */
        full_barrier();
        if (load_relaxed(&c->executor->backlog))
            kernel_doorbell_ring(c->info.doorbell_fd);
    }
    uint64_t tail = load_acquire(&c->executor->delivery_tail); /* port_layout.P2 */
    if (tail == c->head)
        return NULL;
    if (tail - c->head > CLIENT_RING)
        sim_fail("client %u: the delivery tail is at %llu, the head at %llu", c->info.id,
                 (unsigned long long)tail, (unsigned long long)c->head);
    const struct envelope *at =
        (const struct envelope *)(c->delivery + (c->head & (CLIENT_RING - 1)));
    c->head += envelope_record_size(at);
    return at;
}

void client_wait(struct client *c)
{
    uint32_t seen = load_acquire(&c->executor->delivery_futex);
    store_relaxed(&c->words->delivery_wait, wait_word(c));
    full_barrier(); /* port_layout.P4 */
    if (load_acquire(&c->executor->delivery_tail) == c->head) {
        c->listens = true;
        (void)syscall(SYS_futex, &c->executor->delivery_futex, FUTEX_WAIT, seen, NULL, NULL, 0);
        c->listens = false;
    }
    store_relaxed(&c->words->delivery_wait, PORT_WAIT_NONE);
}
