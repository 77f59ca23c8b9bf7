/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer of a submission ring against a client that writes what it likes, where it likes,
 * also between any two loads of the executor. What must hold is in engine_world.h.
 */
#include "daemon/common/page.h"
#include "tests/fuzz/engine_world.h"

enum { STEPS_MAX = 48 };

static actor_ref receiver(struct world *w, uint8_t which)
{
    switch (which % 8) {
    case 0:
        return w->dead;
    case 1:
        return w->client[WORLD_HONEST].ref;
    case 2:
        return actor_ref_make(w->config.actors_max - 1u + which / 128, 1);
    case 3:
        return w->client[WORLD_HOSTILE].ref;
    default:
        return w->echo;
    }
}

/* Mostly what a client may send. */
static struct envelope record(struct world *w, struct input *input)
{
    uint8_t how = input_u8(input), kind = input_u8(input);
    struct envelope e = {
        .to = receiver(w, how), .type = w->number, .length = 8, .behaviour = kind >> 4
    };

    switch (kind % 8) {
    case 0:
        e.type = w->bulk;
        e.length = input_u16(input) % 2048;
        break;
    case 1:
        e.type = w->flood;
        break;
    case 2:
        e.prefix =
            PREFIX_CORRELATION | (kind & 16 ? PREFIX_TRACE : 0) | (kind & 32 ? PREFIX_AFTER : 0);
        e.length = input_u8(input) % 32;
        break;
    case 3:
        e.type = input_u16(input);
        break;
    case 4:
        e.type = MESSAGE_TYPE_POISON_DELETE + kind / 16 % 3;
        break;
    case 5: /* whoever it is, a monitor, or it is given up */
        e.type = kind & 32 ? MESSAGE_TYPE_PORT_DEMONITOR : MESSAGE_TYPE_PORT_DOWN;
        e.prefix = kind & 128 ? 0 : PREFIX_CORRELATION;
        e.length = kind & 64 ? 16 : 8;
        break;
    default:
        break;
    }
    if (how & 0x08)
        e.flags |= ENVELOPE_URGENT;
    if (how >= 0xf0)
        envelope_words(&e)[how % 3] = input_u64(input);
    return e;
}

static void step(struct world *w, struct input *input)
{
    struct world_client *c = world_hostile();
    uint8_t what = input_u8(input);
    uint64_t offset, value;
    struct envelope e;

    switch (what % 8) {
    case 0:
    case 1:
    case 2:
        e = record(w, input);
        world_put(c, &e, input);
        if (what & 0x80)
            break;
        world_publish(c, c->tail);
        if (what & 0x40)
            world_run();
        break;
    case 3:
        world_publish(c, what & 0x80 ? input_u64(input) : c->tail + input_u8(input) - 128);
        break;
    case 4: /* anywhere */
        offset = input_u32(input) % (port_ring_offset(page_bytes()) + WORLD_RING - 8);
        value = input_u64(input);
        memcpy((uint8_t *)c->mine + offset, &value, 8);
        break;
    case 5: /* while it is looked at */
        offset = what & 0x80 ? input_u8(input) : input_u32(input);
        world_change(input_u8(input), what & 0x80, offset, what & 0x40 ? input_u64(input) : 0);
        break;
    case 6:
        store_release(&c->mine->delivery_head, what & 0x80 ? input_u64(input) : c->taken);
        break;
    default:
        world_run();
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = world_get();
    struct input input = { data, size };

    for (int i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(w, &input);
    world_run();
    world_end();
    return 0;
}
