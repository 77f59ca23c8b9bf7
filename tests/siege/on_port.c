/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a port's records (siege.h): bad ones, and good ones for those who cannot get them. */
#include <string.h>

#include "proto/reference.h"
#include "tests/siege/siege.h"
#include "tests/system/probe.h"

static bool goes_on(const struct offender *o, const struct raw_port *port)
{
    return !attack_is_over(port) && !atomic_load_explicit(&o->stop, memory_order_relaxed);
}

/* Of hostile/ring, one of each kind: the record, and how far behind it the tail is published. */
struct bad {
    struct envelope envelope;
    int64_t publish; /* 0: as it should be */
};
static const struct bad bad[] = {
    { { .length = 65535 }, 40000 },
    { { .length = 100 }, 32 },
    { { .length = 16 }, 8 },
    { { .length = 16, .flags = 0xff }, 0 },
    { { .length = 16, .flags = ENVELOPE_SUSPECT }, 0 },
    { { .length = 16, .attempts = 2 }, 0 },
    { { .length = 16, .prefix = 0xfc }, 0 },
    { { .to = UINT64_C(1) << 32 | ACTOR_REF_OWN | UINT32_MAX >> 8, .length = 16 }, 0 },
    { { .length = 16 }, INT64_C(1) << 40 },
    { { .length = 16 }, ATTACK_RING + 8 },
    { { .length = 16 }, -8 },
    { { .length = 16 }, 41 },
};

void attack_bad_records(struct offender *o, struct raw_port *port)
{
    const struct bad *one = &bad[offender_random(o) % (sizeof(bad) / sizeof(bad[0]))];
    struct envelope envelope = one->envelope;

    envelope.type = o->number_type;
    envelope.to = envelope.to ? envelope.to : o->echo;
    memcpy(port->submission, &envelope, sizeof(envelope));
    raw_port_publish(port, one->publish ? (uint64_t)one->publish : envelope_record_size(&envelope));
    atomic_fetch_add(&o->deeds, 1);
    while (goes_on(o, port))
        pause_briefly();
}

/* One of the siege's own: records without end for actors that have ended, that never were, for its
 * own port, and such as would end other people's actors; half of what is answered is taken. */
void attack_graves(struct offender *o, struct raw_port *port)
{
    const struct probe_number number = { .n = 1 };

    for (uint64_t n = 0; goes_on(o, port); n++) {
        struct envelope envelope = {
            .to = field.dead, .type = o->number_type, .length = sizeof(number), .behaviour = 255
        };

        if (n % 4 == 1)
            envelope.to =
                UINT64_C(0xfffffff) << 32 | ACTOR_REF_OWN | (uint32_t)(offender_random(o) % 65536);
        if (n % 4 == 2)
            envelope.to = port->ref;
        if (n % 4 == 3) {
            envelope.to = o->echo;
            envelope.type = ODEON_MSG_POISON_DELETE;
        }
        while (goes_on(o, port) && port->tail - atomic_load_explicit(&port->theirs->submission_head,
                                                                     memory_order_acquire) >
                                       ATTACK_RING / 2)
            pause_briefly();
        raw_port_put(port, &envelope, &number);
        atomic_fetch_add_explicit(&o->deeds, 1, memory_order_relaxed);
        if (n % 16 == 0)
            raw_port_publish(port, port->tail);
        if (n % 4096 == 0)
            atomic_store_explicit(
                &port->mine->delivery_head,
                atomic_load_explicit(&port->theirs->delivery_tail, memory_order_acquire),
                memory_order_release);
    }
}
