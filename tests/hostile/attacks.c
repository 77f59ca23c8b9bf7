/* SPDX-License-Identifier: Apache-2.0 */
/* See attacks.h. */
#include "tests/hostile/attacks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/system/probe.h"

uint64_t offender_random(struct offender *o)
{
    o->random ^= o->random << 13;
    o->random ^= o->random >> 7;
    o->random ^= o->random << 17;
    return o->random;
}

bool attack_is_over(const struct raw_port *port)
{
    return atomic_load_explicit(&port->theirs->broken, memory_order_acquire) != PORT_OK;
}

static bool goes_on(const struct offender *o, const struct raw_port *port)
{
    return !attack_is_over(port) && !atomic_load_explicit(&o->stop, memory_order_relaxed);
}

/* All of its memory, again and again, until it is told to go. */
void attack_write_words(struct offender *o, struct raw_port *port)
{
    volatile uint64_t *words = (volatile uint64_t *)port->mine;
    int64_t began = time_ns(), took;

    atomic_fetch_add(&o->offences, 1);
    while (goes_on(o, port)) {
        for (int i = 0; i < ATTACK_WORDS; i++) {
            uint64_t word = offender_random(o);

            words[word % (attack_memory() / 8)] = offender_random(o);
        }
        words[0] = offender_random(o); /* the tail is one word of many */
        atomic_fetch_add_explicit(&o->deeds, ATTACK_WORDS + 1, memory_order_relaxed);
        raw_port_ring(port);
    }
    if (!attack_is_over(port))
        return;
    took = time_ns() - began;
    atomic_fetch_add(&o->answered, 1);
    if ((uint64_t)took > atomic_load(&o->slowest_ns))
        atomic_store(&o->slowest_ns, (uint64_t)took);
}

static void good_record(const struct offender *o, struct raw_port *port, uint64_t n)
{
    struct envelope envelope = { .to = o->echo,
                                 .type = o->number_type,
                                 .length = sizeof(struct probe_number),
                                 .behaviour = 255 };
    struct probe_number number = { .n = n };

    if (port->tail - atomic_load_explicit(&port->theirs->submission_head, memory_order_acquire) >
        ATTACK_RING / 2)
        return;
    raw_port_put(port, &envelope, &number);
    atomic_store_explicit(&port->mine->submission_tail, port->tail, memory_order_seq_cst);
    /* takes whatever is there: its answers are not looked at */
    atomic_store_explicit(&port->mine->delivery_head,
                          atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire),
                          memory_order_release);
}

/* Pages of its memory go, while good records are posted in between. */
void attack_punch_holes(struct offender *o, struct raw_port *port)
{
    for (uint64_t n = 0; goes_on(o, port); n++) {
        off_t page = (off_t)(offender_random(o) % (attack_memory() / 4096)) * 4096;

        good_record(o, port, n);
        raw_port_ring(port);
        OFFENDER_EXPECT(fallocate(port->client_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                  page, 4096) == 0);
        atomic_fetch_add_explicit(&o->deeds, 1, memory_order_relaxed);
    }
    atomic_fetch_add(&o->offences, attack_is_over(port));
    atomic_fetch_add(&o->answered, attack_is_over(port));
}

/* Every way to make either file another size, or to write the executor's. */
void attack_change_sizes(struct offender *o, struct raw_port *port)
{
    for (uint64_t n = 0; goes_on(o, port); n++) {
        off_t size = (off_t)(offender_random(o) % (2 * attack_memory()));

        good_record(o, port, n);
        raw_port_ring(port);
        OFFENDER_EXPECT(size == attack_memory() || ftruncate(port->client_memory, size) < 0);
        OFFENDER_EXPECT(ftruncate(port->executor_memory, size) < 0);
        OFFENDER_EXPECT(fallocate(port->client_memory, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) < 0);
        OFFENDER_EXPECT(fallocate(port->executor_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                  0, 4096) < 0);
        OFFENDER_EXPECT(fcntl(port->client_memory, F_ADD_SEALS, F_SEAL_WRITE) < 0);
        OFFENDER_EXPECT(madvise(port->theirs, 4096, MADV_REMOVE) < 0);
        OFFENDER_EXPECT(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, port->executor_memory, 0) ==
                        MAP_FAILED);
        atomic_fetch_add_explicit(&o->deeds, 7, memory_order_relaxed);
    }
}

/* The bell, and nothing behind it. */
void attack_ring_only(struct offender *o, struct raw_port *port)
{
    while (goes_on(o, port)) {
        raw_port_ring(port);
        atomic_fetch_add_explicit(&o->deeds, 1, memory_order_relaxed);
    }
}

/* The bell is made blocking and full, and the other way round, while records come: whoever read
 *     or wrote it would stand still. */
void attack_flip_flags(struct offender *o, struct raw_port *port)
{
    int flags = fcntl(port->doorbell, F_GETFL);
    uint64_t full = UINT64_MAX - 1, was;

    for (uint64_t n = 0; goes_on(o, port); n++) {
        good_record(o, port, n);
        OFFENDER_EXPECT(fcntl(port->doorbell, F_SETFL, flags | O_NONBLOCK) == 0);
        was = read(port->doorbell, &was, sizeof(was)) == sizeof(was);
        OFFENDER_EXPECT(write(port->doorbell, &full, sizeof(full)) == sizeof(full));
        OFFENDER_EXPECT(fcntl(port->doorbell, F_SETFL, flags & ~O_NONBLOCK) == 0);
        atomic_fetch_add_explicit(&o->deeds, 1, memory_order_relaxed);
    }
}

/* Waiting words that say something else at every look, and wake-ups and waits on words of
 * others. */
void attack_forge_words(struct offender *o, struct raw_port *port)
{
    for (uint64_t n = 0; goes_on(o, port); n++) {
        good_record(o, port, n);
        raw_port_ring(port);
        for (int i = 0; i < 64; i++) {
            uint64_t word = offender_random(o);

            atomic_store_explicit(&port->mine->delivery_wait, (uint32_t)word, memory_order_relaxed);
            atomic_store_explicit(&port->mine->room_wait, (uint32_t)(word >> 32),
                                  memory_order_relaxed);
        }
        (void)syscall(SYS_futex, &port->theirs->delivery_futex, FUTEX_WAKE, 1000, NULL, NULL, 0);
        (void)syscall(SYS_futex, &port->mine->submission_tail, FUTEX_WAKE, 1000, NULL, NULL, 0);
        atomic_fetch_add_explicit(&o->deeds, 128, memory_order_relaxed);
    }
}
