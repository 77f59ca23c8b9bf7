/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong flushes and deliveries. */
#include <string.h>

#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/signal/urgent.h"
#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

static bool send_is_due(bool seeded)
{
    return seeded && seed_is_due();
}

/* Two records of one size change places. */
static void send_swap_first_two(uint8_t *at, uint64_t bytes)
{
    uint64_t size = envelope_record_size((const struct envelope *)at);
    if (bytes < 2 * size || envelope_record_size((const struct envelope *)(at + size)) != size)
        return;
    for (uint64_t i = 0; i < size; i++) {
        uint8_t byte = at[i];
        at[i] = at[size + i];
        at[size + i] = byte;
    }
}

void seeded_at_run_copied(uint8_t *base, uint64_t *length, uint64_t bytes)
{
    if (send_is_due(SEEDED(lose_run)))
        *length -= bytes;
    if (send_is_due(SEEDED(newest_first)))
        send_swap_first_two(base + *length - bytes, bytes);
    if (send_is_due(SEEDED(copy_twice))) {
        memcpy(base + *length, base + *length - bytes, bytes);
        *length += bytes;
    }
}

void seeded_at_flush_locked(struct worker *w, uint32_t step, const struct outbox_group *group,
                            struct segment_queue *queue, unsigned active, uint64_t length)
{
    if (SEEDED(publish_first))
        store_release(&queue->len[active], length + outbox_group_bytes(w, group));
    if (SEEDED(arm_first))
        journal_arm(w, step, group->destination, length + outbox_group_bytes(w, group));
}

void seeded_at_flush_copied(struct segment_queue *queue, unsigned active, uint64_t length)
{
    if (SEEDED(journal_late))
        store_release(&queue->len[active], length);
}

bool seeded_skips_urgent_byte(void)
{
    return SEEDED(urgent_late);
}

void seeded_at_flush_signalled(struct engine *e, uint32_t mailbox, uint32_t destination)
{
    if (SEEDED(urgent_late) && mailbox != destination)
        urgent_publish(e, mailbox);
}

void seeded_at_ring_copied(struct segment_port *durable, uint64_t tail)
{
    if (SEEDED(ring_late))
        store_release(&durable->dtail, tail);
}

bool seeded_skips_dead_letter_write(void)
{
    return send_is_due(SEEDED(silent_refusal));
}
