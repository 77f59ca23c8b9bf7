/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of one plugin begin and end with: a small service that has it, a client, and a port.
 *
 * Used by the thread that runs the tests; what cannot be done fails the test that runs.
 */
#pragma once

#include "tests/system/harness.h"

struct stage {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
};

/* `name`: the client's. */
void stage_begin(struct stage *stage, const char *plugin, const char *name);
void stage_end(struct stage *stage);
/* Waits for room. */
void stage_post(const struct stage *stage, odeon_ref to, const struct odeon_message_type *type,
                const void *data, size_t size);
/* The next delivery, which is of this type and size; its correlation. */
uint64_t stage_receive(const struct stage *stage, uint32_t type, void *ret, size_t size);
/* The executor dies, and another one serves. */
void stage_kill_executor(struct stage *stage);
