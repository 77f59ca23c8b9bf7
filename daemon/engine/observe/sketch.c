/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/observe/sketch.h"

static void sketch_raise(_Atomic uint64_t *word, uint64_t by)
{
    store_relaxed(word, load_relaxed(word) + by);
}

/* sketch.K1 */
static void sketch_actor(struct observed_actor *actors, const struct sketch_sample *sample,
                         uint64_t add)
{
    struct observed_actor *least = &actors[0];
    for (uint32_t i = 0; i < OBSERVED_ACTORS; i++) {
        if (load_relaxed(&actors[i].ref) == sample->ref) {
            sketch_raise(&actors[i].value, add);
            return;
        }
        if (load_relaxed(&actors[i].value) < load_relaxed(&least->value))
            least = &actors[i];
    }
    store_relaxed(&least->ref, sample->ref);
    store_relaxed(&least->type, sample->type);
    store_relaxed(&least->error, load_relaxed(&least->value));
    sketch_raise(&least->value, add);
}

/* sketch.K1 */
static void sketch_flow(struct observed_flow *flows, uint64_t key, uint64_t messages)
{
    struct observed_flow *least = &flows[0];
    for (uint32_t i = 0; i < OBSERVED_FLOWS; i++) {
        if (load_relaxed(&flows[i].key) == key) {
            sketch_raise(&flows[i].messages, messages);
            return;
        }
        if (load_relaxed(&flows[i].messages) < load_relaxed(&least->messages))
            least = &flows[i];
    }
    store_relaxed(&least->key, key);
    store_relaxed(&least->error, load_relaxed(&least->messages));
    sketch_raise(&least->messages, messages);
}

static void sketch_clear(struct observed_window *window)
{
    for (uint32_t by = 0; by < OBSERVED_BY_N; by++)
        for (uint32_t i = 0; i < OBSERVED_ACTORS; i++) {
            store_relaxed(&window->actors[by][i].ref, 0);
            store_relaxed(&window->actors[by][i].value, 0);
            store_relaxed(&window->actors[by][i].error, 0);
        }
    for (uint32_t i = 0; i < OBSERVED_FLOWS; i++) {
        store_relaxed(&window->flows[i].key, 0);
        store_relaxed(&window->flows[i].messages, 0);
        store_relaxed(&window->flows[i].error, 0);
    }
}

/* observed_layout.V3 */
static void sketch_begin(struct observed_window *window)
{
    store_relaxed(&window->turns, load_relaxed(&window->turns) + 1);
    atomic_thread_fence(memory_order_release);
}
static void sketch_end(struct observed_window *window)
{
    store_release(&window->turns, load_relaxed(&window->turns) + 1);
}

/* The window to add to; it is being written (sketch.K2). */
static struct observed_window *sketch_window(struct observed_worker *block, uint64_t now_ns)
{
    struct observed_window *window = &block->window[load_relaxed(&block->present) & 1];
    uint64_t begin = load_relaxed(&window->begin_ns);
    if (begin && now_ns - begin < SKETCH_WINDOW_NS) {
        sketch_begin(window);
        return window;
    }
    store_relaxed(&block->present, (load_relaxed(&block->present) & 1) ^ 1);
    window = &block->window[load_relaxed(&block->present)];
    sketch_begin(window);
    sketch_clear(window);
    store_relaxed(&window->begin_ns, now_ns);
    return window;
}

void sketch_add(struct observed_worker *block, const struct sketch_sample *sample)
{
    struct observed_window *window = sketch_window(block, sample->now_ns);
    for (uint32_t by = 0; by < OBSERVED_BY_N; by++)
        if (sample->add[by])
            sketch_actor(window->actors[by], sample, sample->add[by]);
    if (sample->flow)
        sketch_flow(window->flows, sample->flow, sample->flow_messages);
    store_relaxed(&window->last_ns, sample->now_ns);
    sketch_end(window);
}
