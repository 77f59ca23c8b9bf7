/* SPDX-License-Identifier: Apache-2.0 */
/* A world: the engine on the simulator's fibers (tests/sim), and how the test's own thread has it
 * do something.
 *
 * The test's functions run on the main stack, while no fiber does. What only the engine's control
 * thread may do is a request: a function that the control fiber runs, once it is woken.
 *
 * world.W1  The main stack calls nothing that is a step of the simulator's: no function of the
 *     engine, and no atomic operation that is compiled with the shim.
 * world.W2  Time passes only up to `until`, but where the control fiber itself waits (start,
 *     recovery, stop).
 * world.W3  No executor dies while a request is under way: whether it has been carried out is never
 *     a question. One that is due to die waits for that; but for the world's end, which itself
 *     waits for whoever runs a behaviour: that is cut off, and the next executor goes on with it.
 */
#pragma once

#include <odeon/test.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-lib/test/port.h"
#include "daemon/engine/engine.h"
#include "daemon/executor/explain.h"
#include "daemon/executor/host.h"
#include "daemon/executor/plugin.h"
#include "tests/sim/sim.h"

enum { WORLD_WORKERS_MAX = 8, WORLD_DETACHED_MAX = 8, WORLD_PORTS_MAX = 8 };

/* What sleeping fibers wait for (WAIT_PARKED). */
enum world_key { WORLD_KEY_REQUEST, WORLD_KEY_DONE, WORLD_KEY_PORT };

/* 0, or a negative errno. */
typedef int (*world_request_fn)(struct odeon_test *world, void *data);

/* A message type as the engine knows it. */
struct world_type {
    uint16_t id;
    uint32_t version, size, has_tail;
    char name[ODEON_NAME_MAX + 1], fields[ODEON_FIELDS_MAX + 1];
};

/* What is waited for to die at (crash.h). */
struct world_crash {
    uint32_t message, left;
    enum odeon_test_crash where;
    odeon_ref again;                 /* whose message faults each time */
    const struct worker *committing; /* it has run the message */
    uint64_t committed;              /* its count then */
};

struct odeon_test {
    struct odeon_test_options options; /* all zeros replaced */
    char *plugin_file;
    struct engine_config config;
    int segment_fd, stats_fd;
    int bell_fd; /* rings for the control fiber */
    struct engine *engine;
    struct host *host;
    struct plugin_registry *plugins;
    struct explain explain; /* why the executor has not come up */
    bool up;                /* the executor is there */
    uint64_t until;         /* world.W2 */
    world_request_fn request;
    void *request_data;
    int request_result;
    bool pending; /* a request is under way */
    bool ending;  /* ... and it is the world's end */
    struct world_type *types;
    size_t n_types;
    struct test_port ports[WORLD_PORTS_MAX];
    struct world_crash crash;
    uint64_t trace;
    const char *file; /* of the last call that has a place */
    int line;
};

/* The place of the call that is under way. */
void world_at(struct odeon_test *world, const char *file, int line);
/* Fails at that place. */
__attribute__((noreturn, format(printf, 2, 3))) void world_fail(struct odeon_test *world,
                                                                const char *format, ...);
/* Has the control fiber do it, and returns what it returned. */
int world_request(struct odeon_test *world, world_request_fn request, void *data);
/* Runs until nobody has anything to do at `until`, which is the present then. */
void world_run_until(struct odeon_test *world, uint64_t until);
/* By its name and version, among those that the engine knows; fails otherwise. */
const struct world_type *world_type_of(struct odeon_test *world,
                                       const struct odeon_message_type *type);
const struct world_type *world_type_get(const struct odeon_test *world, uint16_t id); /* or NULL */
