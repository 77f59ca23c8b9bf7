/* SPDX-License-Identifier: Apache-2.0 */
/* A client with one port: two fibers, one that posts what the test has given to it, one that takes
 * what is delivered and keeps it for the test.
 *
 * The lists are between the main stack and the port's fibers, which never run at the same time.
 */
#pragma once

#include <odeon/test.h>
#include <stdint.h>

#include "tests/sim/client.h"

struct port_post {
    struct port_post *next;
    odeon_ref to;
    uint64_t correlation, trace;
    uint16_t type, size;
    uint8_t payload[];
};

struct port_delivery {
    struct port_delivery *next;
    struct odeon_test_message message; /* but for its name */
    _Alignas(8) uint8_t payload[];
};

struct test_port {
    struct client client;
    uint64_t trace; /* of what is posted from now on */
    struct port_post *posts, **posts_end;
    struct port_delivery *deliveries, **deliveries_end;
    struct port_delivery *taken; /* what the test looks at */
};

/* Before the engine is opened: memory and fibers. */
void port_begin(struct test_port *port, uint32_t id);
void port_end(struct test_port *port);
/* Takes the delivery out, to be looked at until the next one is taken. `at`: what leads to it. */
const struct port_delivery *port_take(struct test_port *port, struct port_delivery **at);
