/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's side of one port, played by a test: real memory files, doorbell and pipe, no
 * process and no engine.
 *
 * One thread plays the executor at a time; the client's side is the library's own (port_new()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/src/port.h"
#include "tests/run/patience.h"

struct fake {
    struct port_plan plan;
    struct port_client *client;
    struct port_executor *executor;
    uint8_t *submission, *delivery; /* mapped twice in a row, as everybody maps them */
    uint64_t head, tail;            /* of submission and delivery, as published */
    uint32_t handled_delivery_wait, handled_room_wait;
    int doorbell, pipe_write, epoll;
    unsigned wakes, rings; /* futex and pipe wake-ups sent; doorbells that ended fake_sleep() */
};

/* Both rings of the given size; with or without a pipe. */
void fake_init(struct fake *fake, uint64_t submission_bytes, uint64_t delivery_bytes, bool pipe);
void fake_fini(struct fake *fake);
/* The client's side; fails the test when it cannot be had. */
struct odeon_port *fake_open_port(struct fake *fake);

/* Takes one record: true with header and payload copied (the payload must have room for the
 * largest). */
bool fake_take(struct fake *fake, struct envelope *ret_envelope, void *ret_payload);
/* Delivers one record: false when the ring is full. */
bool fake_deliver(struct fake *fake, struct envelope envelope, const void *payload);
/* A delivery of type `type` whose payload is one number; with a correlation and flags when that is
 * not 0. */
bool fake_deliver_number(struct fake *fake, uint16_t type, uint64_t number, uint64_t correlation,
                         uint8_t flags);
/* Sleeps until the doorbell rings, as the executor does with a cold port. false: nothing came
 * within ten seconds. */
bool fake_sleep(struct fake *fake);
/* Round trips that the client's memory says were answered. */
uint64_t fake_count_answered(const struct fake *fake);
uint64_t fake_doorbell_count(struct fake *fake); /* rings since the last look */
/* Waits, by looking, until a shared word has a bit of `mask` set. false: it had none within ten
 * seconds. */
bool fake_await(const _Atomic uint32_t *word, uint32_t mask);
