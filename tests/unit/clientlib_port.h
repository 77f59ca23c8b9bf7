/* SPDX-License-Identifier: Apache-2.0 */
/* A client's port on an executor that the test plays: what the tests of ports begin and end with.
 * The test's thread. */
#pragma once

#include <stdlib.h>

#include "tests/unit/clientlib_fake.h"

enum { SECOND_NS = 1000000000, TYPE = 20, RING = 4096 };

static const odeon_ref actor = UINT64_C(1) << 32 | ACTOR_REF_OWN | 5;

struct fixture {
    struct fake fake;
    struct odeon_port *port;
    uint8_t payload[UINT16_MAX];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    fake_init(&f->fake, RING, RING, true);
    f->port = fake_open_port(&f->fake);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    odeon_port_close(f->port);
    fake_fini(&f->fake);
    free(f);
    return 0;
}
