/* SPDX-License-Identifier: Apache-2.0 */
/* Bare rings of 64-byte records between two processes: a payload line and an index line, nothing
 * else.
 *
 * ping-pong   one record each way and back; times of single trips, taken as odeon-bench takes those
 *             of `roundtrip`
 * one way     the writer publishes after every record, or after every 32; the reader takes all that
 *             is published and then gives the room back; either side reads the other's index again
 *             only when it must, and the reader checks every number
 *
 * Threads: one of each process.  An index has one writer; release by it, acquire by the other.
 */
#include "ruler.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

enum { RING_RECORDS = 4096 };

struct record {
    alignas(64) uint64_t number;
    uint64_t payload[7];
};
struct ring {
    alignas(128) _Atomic uint64_t tail; /* by the writer */
    alignas(128) _Atomic uint64_t head; /* by the reader */
    alignas(128) struct record records[RING_RECORDS];
};
struct rings {
    struct ring there, back;
};

/* ---- there and back ---- */

static inline void ring_put(struct ring *ring, uint64_t index, uint64_t number)
{
    struct record *record = &ring->records[index % RING_RECORDS];
    record->number = number;
    for (unsigned i = 0; i < 7; i++)
        record->payload[i] = number + i;
    atomic_store_explicit(&ring->tail, index + 1, memory_order_release);
}

static inline uint64_t ring_take(struct ring *ring, uint64_t index)
{
    while (atomic_load_explicit(&ring->tail, memory_order_acquire) <= index)
        ruler_relax();
    return ring->records[index % RING_RECORDS].number;
}

static int ring_echo(void *memory, void *argument)
{
    struct rings *rings = memory;
    for (uint64_t i = 0, n = *(uint64_t *)argument; i < n; i++)
        ring_put(&rings->back, i, ring_take(&rings->there, i));
    return 0;
}

int ruler_pingpong(const struct ruler_options *options)
{
    uint64_t warm_up = options->trips / 10 + 1, n = options->trips + warm_up;
    uint32_t *times = calloc(options->trips, sizeof(*times));
    struct pair pair;
    if (!times)
        return ruler_error(-ENOMEM, "times of trips");
    int r = ruler_bind(options->cpus[0]), wrong = 0;
    if (r == 0)
        r = pair_start(&pair, sizeof(struct rings), options->cpus[1], ring_echo, &n);
    if (r < 0) {
        free(times);
        return r;
    }
    struct rings *rings = pair.memory;
    uint64_t last = ruler_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        ring_put(&rings->there, i, i);
        wrong |= ring_take(&rings->back, i) != i;
        uint64_t now = ruler_now_ns();
        if (i >= warm_up)
            times[i - warm_up] = now - last > UINT32_MAX ? UINT32_MAX : (uint32_t)(now - last);
        last = now;
    }
    r = pair_finish(&pair);
    if (r == 0 && wrong)
        r = ruler_error(-EPROTO, "the answers of the ping-pong");
    if (r == 0) {
        ruler_sort(times, options->trips);
        printf("bench=bare_pingpong p50_ns=%u p99_ns=%u\n", times[options->trips / 2],
               times[options->trips - 1 - options->trips / 100]);
    }
    free(times);
    return r;
}

/* ---- one way ---- */

struct one_way {
    uint64_t records;
};

static int ring_reader(void *memory, void *argument)
{
    struct ring *ring = &((struct rings *)memory)->there;
    const struct one_way *run = argument;
    int wrong = 0;
    for (uint64_t head = 0; head < run->records;) {
        uint64_t tail;
        while ((tail = atomic_load_explicit(&ring->tail, memory_order_acquire)) == head)
            ruler_relax();
        for (; head < tail; head++) {
            const struct record *record = &ring->records[head % RING_RECORDS];
            wrong |= record->number != head || record->payload[6] != head + 6;
        }
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    return wrong;
}

int ruler_ring(const struct ruler_options *options, unsigned batch)
{
    struct one_way run = { .records = options->records / batch * batch };
    struct pair pair;
    int r = ruler_bind(options->cpus[0]);
    if (r == 0)
        r = pair_start(&pair, sizeof(struct rings), options->cpus[1], ring_reader, &run);
    if (r < 0)
        return r;
    struct ring *ring = &((struct rings *)pair.memory)->there;
    uint64_t head = 0, begin = ruler_now_ns();
    for (uint64_t tail = 0; tail < run.records;) {
        while (tail + batch - head > RING_RECORDS) {
            head = atomic_load_explicit(&ring->head, memory_order_acquire);
            if (tail + batch - head > RING_RECORDS)
                ruler_relax();
        }
        for (unsigned i = 0; i < batch; i++, tail++) {
            struct record *record = &ring->records[tail % RING_RECORDS];
            record->number = tail;
            for (unsigned j = 0; j < 7; j++)
                record->payload[j] = tail + j;
        }
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    while (atomic_load_explicit(&ring->head, memory_order_acquire) != run.records)
        ruler_relax();
    uint64_t elapsed = ruler_now_ns() - begin;
    r = pair_finish(&pair);
    if (r == 0)
        printf("bench=bare_ring batch=%u mmsg_s=%.1f\n", batch,
               (double)run.records * 1000.0 / (double)elapsed);
    return r;
}
