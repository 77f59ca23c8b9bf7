/* SPDX-License-Identifier: Apache-2.0 */
/* What a client does to its own port's memory, at full speed, and the offender that does it.
 *
 * An offender is a process; what it tells of itself lies in memory that it shares with the test.
 * An attack goes on until the service has closed its port, or until it is told to stop. What must
 * hold is expected in that process, where no assertion of cmocka's works: it says so and ends.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/common/page.h"
#include "tests/hostile/raw.h"

enum {
    ATTACK_RING = 1 << 16, /* of the ports that are attacked */
    ATTACK_WORDS = 4096    /* are written between two looks */
};

struct offender {
    _Atomic bool go, stop;
    _Atomic uint64_t offences, answered, connects, deeds, slowest_ns;
    _Atomic int failed; /* a line of its file */
    uint64_t random;
    uint64_t echo; /* who gets the good records, and of which type they are */
    uint16_t number_type;
};
typedef void (*attack_fn)(struct offender *offender, struct raw_port *port);

static inline uint32_t attack_memory(void)
{
    return port_ring_offset(page_bytes()) + ATTACK_RING;
}

#define OFFENDER_EXPECT(condition)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "offender: %s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            atomic_store(&o->failed, __LINE__);                                                    \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

uint64_t offender_random(struct offender *offender);
/* The service has closed the port. */
bool attack_is_over(const struct raw_port *port);

void attack_write_words(struct offender *offender, struct raw_port *port);
void attack_punch_holes(struct offender *offender, struct raw_port *port);
void attack_change_sizes(struct offender *offender, struct raw_port *port);
void attack_ring_only(struct offender *offender, struct raw_port *port);
void attack_flip_flags(struct offender *offender, struct raw_port *port);
void attack_forge_words(struct offender *offender, struct raw_port *port);
