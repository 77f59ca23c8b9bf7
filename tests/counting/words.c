/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/counting/words.h"

#include "daemon/engine/core/near.h"
#include "proto/port_layout.h"
#include "tests/sim/sim.h"

/* `n` pieces of `bytes`, `stride` apart. Later ranges are about parts of earlier ones. */
struct range {
    uint64_t at, bytes, stride, n;
    enum word word;
};

enum { RANGES_MAX = 1024 };
static struct range ranges[RANGES_MAX];
static uint32_t n_ranges;
static const struct engine *named;

static const char *const texts[WORDS_N] = {
#define W(name, text) [WORD_##name] = text,
    WORDS(W)
#undef W
};

const char *word_text(enum word word)
{
    return texts[word];
}

static void words_table(enum word word, const volatile void *at, uint64_t bytes, uint64_t stride,
                        uint64_t n)
{
    if (n_ranges == RANGES_MAX)
        sim_fail("more than %d ranges of memory have names", RANGES_MAX);
    ranges[n_ranges++] = (struct range){
        .at = (uint64_t)(uintptr_t)at, .bytes = bytes, .stride = stride, .n = n, .word = word
    };
}

static void words_range(enum word word, const volatile void *at, uint64_t bytes)
{
    words_table(word, at, bytes, bytes, 1);
}

#define WORDS_MEMBER(word, base, type, member, n)                                                  \
    words_table(word, (const volatile uint8_t *)(base) + offsetof(type, member),                   \
                sizeof(((type *)0)->member), sizeof(type), n)

static void words_segment(const struct segment *s)
{
    words_range(WORD_SEGMENT_REST, s->base, s->size);
    uint32_t n_queues = s->dead_letters + 1;
    words_table(WORD_QUEUE_REST, s->queues, sizeof(*s->queues), sizeof(*s->queues), n_queues);
    WORDS_MEMBER(WORD_QUEUE_LOCK, s->queues, struct segment_queue, lock, n_queues);
    WORDS_MEMBER(WORD_QUEUE_LEN, s->queues, struct segment_queue, len, n_queues);
    WORDS_MEMBER(WORD_SOURCE_OWN, s->queues, struct segment_queue, own, n_queues);
    words_table(WORD_DURABLE_REST, s->workers, sizeof(*s->workers), sizeof(*s->workers), s->n_ids);
    WORDS_MEMBER(WORD_COMMIT, s->workers, struct segment_worker, slot, s->n_ids);
    WORDS_MEMBER(WORD_JOURNAL, s->workers, struct segment_worker, arm, s->n_ids);
    WORDS_MEMBER(WORD_JOURNAL, s->workers, struct segment_worker, entry, s->n_ids);
    words_range(WORD_SLOT, s->actors, s->header->actors_max * sizeof(*s->actors));
    words_range(WORD_PORT_CURSORS, s->ports, ODEON_PORTS_MAX * sizeof(*s->ports));
    words_range(WORD_RECORD, segment_window(s, 0, 0), s->size - s->header->windows_offset);
    words_range(WORD_OUTBOX, s->base + s->header->outboxes_offset,
                s->n_ids * s->header->outbox_bytes);
}

static void words_worker(const struct engine *e, const struct worker *w)
{
    uint64_t mask_bytes = ((e->n_sources + 63) / 64 * sizeof(uint64_t) + 127) & ~UINT64_C(127);
    words_range(WORD_WORKER_REST, w, sizeof(*w));
    words_range(WORD_WORKER_ID, &w->engine, sizeof(w->engine));
    words_range(WORD_WORKER_ID, &w->id, sizeof(w->id));
    words_range(WORD_WORKER_BATCH, &w->batch, sizeof(w->batch));
    words_range(WORD_SHOWN_REST, &w->shown, sizeof(w->shown));
    words_range(WORD_SHOWN_BUSY, &w->shown.busy, sizeof(w->shown.busy));
    words_range(WORD_SHOWN_PASSES, &w->shown.passes, sizeof(w->shown.passes));
    words_range(WORD_CALLED_SHOWS, &w->called, sizeof(w->called));
    words_range(WORD_CALLED_READY, &w->called.ready, sizeof(w->called.ready));
    words_range(WORD_CALLED_HINT, &w->called.hint, sizeof(w->called.hint));
    words_range(WORD_READY, w->called.ready, mask_bytes);
    words_range(WORD_NEAR, w->near, sizeof(*w->near));
    words_range(WORD_LIVE, w->placing.live, e->segment.n_mailboxes * sizeof(*w->placing.live));
}

static void words_ports(const struct engine *e)
{
    words_range(WORD_PORT, e->ports.table, ODEON_PORTS_MAX * sizeof(*e->ports.table));
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        const struct port *port = &e->ports.table[i];
        if (load_relaxed(&port->state) == PORT_FREE)
            continue;
        words_range(WORD_PORT_CLIENT, port->client_words, sizeof(*port->client_words));
        words_range(WORD_PORT_SERVICE, port->executor_words, sizeof(*port->executor_words));
        words_range(WORD_RING, port->submission, 2 * port->submission_bytes);
        words_range(WORD_RING, port->delivery, 2 * port->delivery_bytes);
    }
}

static void words_engine(const struct engine *e)
{
    uint64_t mask_bytes = (e->n_sources + 63) / 64 * sizeof(uint64_t);
    words_range(WORD_ENGINE_REST, e, sizeof(*e));
    words_range(WORD_SETTINGS, &e->steal,
                offsetof(struct engine, sleepers) - offsetof(struct engine, steal));
    words_range(WORD_SLEEPERS, e->sleepers, sizeof(e->sleepers));
    words_range(WORD_WATCH, &e->watch, sizeof(e->watch));
    words_range(WORD_PORTS_OPEN, e->ports.open, sizeof(e->ports.open));
    words_range(WORD_MUTEX, &e->actors.slots_mutex, sizeof(e->actors.slots_mutex));
    words_range(WORD_MUTEX, &e->actors.names_mutex, sizeof(e->actors.names_mutex));
    words_range(WORD_STATISTICS, e->stats,
                STATS_WORKER_OFFSET + (STATS_CONTROL_BLOCK + 1) * sizeof(struct stats_worker));
    words_table(WORD_SOURCE_REST, e->sources, sizeof(*e->sources), sizeof(*e->sources),
                e->n_sources);
    WORDS_MEMBER(WORD_SOURCE_OWN, e->sources, struct source, own_port, e->n_sources);
    words_range(WORD_WORKERS, e->workers, e->segment.n_ids * sizeof(struct worker *));
    words_range(WORD_URGENT, e->urgent, e->segment.n_mailboxes + 1);
    words_range(WORD_ASIDE, e->aside, e->segment.workers_max * sizeof(*e->aside));
    words_range(WORD_STALLS, e->overflow.stalls, e->segment.n_queues);
    words_range(WORD_ACTOR_KEY, e->actors.table, e->config.actors_max * sizeof(struct actor));
    words_range(WORD_ACTOR_STATE, e->actors.states, e->config.actors_max * sizeof(void *));
    words_range(WORD_SEARCHING, e->steal.searching,
                ODEON_WORKERS_MAX * sizeof(struct search_count));
    words_range(WORD_COMMON, e->steal.common, mask_bytes);
    words_range(WORD_FIXED, e->steal.fixed, mask_bytes);
}

void words_init(const struct engine *e)
{
    named = e;
    n_ranges = 0;
    words_segment(&e->segment);
    words_engine(e);
    words_ports(e);
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        words_worker(e, e->workers[id]);
    for (uint32_t i = 0; i < ODEON_ACTOR_TYPES_MAX; i++) {
        const struct actor_type *type = load_relaxed(&e->types.known[i]);
        if (type)
            words_range(WORD_ACTOR_TYPE, type, sizeof(*type));
    }
}

uint8_t words_name(uint64_t address)
{
    for (uint32_t i = n_ranges; i-- > 0;) {
        const struct range *r = &ranges[i];
        /* what begins within these eight bytes gives them its name */
        if (address + 7 >= r->at && address < r->at + r->stride * (r->n - 1) + r->bytes) {
            uint64_t in = address > r->at ? (address - r->at) % r->stride : 0;
            if (in < r->bytes)
                return (uint8_t)r->word;
        }
    }
    return WORD_OTHER;
}

int64_t words_queue_of_lock(uint64_t address)
{
    if (!named)
        return -1;
    const struct segment *s = &named->segment;
    uint64_t at = address - (uint64_t)(uintptr_t)s->queues;
    bool is_lock = at / sizeof(*s->queues) < s->n_queues &&
                   at % sizeof(*s->queues) == offsetof(struct segment_queue, lock);
    return is_lock ? (int64_t)(at / sizeof(*s->queues)) : -1;
}
