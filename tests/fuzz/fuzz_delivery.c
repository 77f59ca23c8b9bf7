/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries to a client that says of its delivery ring what it likes: its head, its waiting words,
 * also while the executor looks. Its records are good ones, and ask for more answers than ring and
 * backlog hold. What must hold is in engine_world.h.
 */
#include "tests/fuzz/engine_world.h"

enum { STEPS_MAX = 64 };

static void post(struct world *w, uint8_t what, struct input *input)
{
    struct world_client *c = world_hostile();
    struct envelope e = { .to = w->echo, .type = what & 1 ? w->flood : w->number, .length = 8 };

    if (what & 2) {
        e.type = w->bulk;
        e.length = input_u16(input) % 8192;
    }
    if (what & 4)
        e.to = w->dead; /* the answer is a refusal */
    if (c->tail - load_acquire(&c->theirs->submission_head) + envelope_record_size(&e) > WORLD_RING)
        return;
    world_put(c, &e, input);
    world_publish(c, c->tail);
}

/* Heads that may be, and heads that may not. */
static uint64_t head(uint8_t what, struct input *input)
{
    struct world_client *c = world_hostile();

    switch (what % 4) {
    case 0:
        return c->taken;
    case 1:
        return load_relaxed(&c->mine->delivery_head) + 8u * input_u16(input);
    case 2:
        return c->taken - input_u16(input);
    default:
        return input_u64(input);
    }
}

static void step(struct world *w, struct input *input)
{
    struct world_client *c = world_hostile();
    uint8_t what = input_u8(input);
    uint32_t word;

    switch (what % 8) {
    case 0:
    case 1:
    case 2:
        post(w, what >> 3, input);
        break;
    case 3:
        store_release(&c->mine->delivery_head, head(what >> 3, input));
        break;
    case 4:
        word = input_u32(input);
        store_relaxed(what & 0x80 ? &c->mine->delivery_wait : &c->mine->room_wait, word);
        break;
    case 5:
        word = input_u8(input);
        world_change(word, false, offsetof(struct port_client, delivery_head),
                     head(what >> 3, input));
        break;
    case 6:
        word = input_u8(input);
        world_change(word, false, offsetof(struct port_client, delivery_wait), input_u64(input));
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
