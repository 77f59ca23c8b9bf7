/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with timers (timer_fixture.h), and two clients of different users, each with a port.
 * Workers, control thread and clients are the test's thread. */
#pragma once

#include "daemon/engine/ports/port.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timer_users.h"
#include "daemon/engine/timers/timers.h"
#include "engine_client.h"
#include "timer_fixture.h"

enum { PORT = 3, USER = 1001, OTHER_USER = 1002, TIMERS = TIMER_FIXTURE_TIMERS };

static struct engine_fixture f;
static struct client client, other;

static inline void open_port(struct client *c, uint32_t id, uint32_t generation, uint32_t user)
{
    client_make(c, id, generation);
    c->info.user = user;
    assert_int_equal(engine_port_add(f.engine, &c->info, &c->ref), 0);
}

/* Takes all that its client has posted. */
static inline void visit(const struct client *c)
{
    uint32_t source = engine_source_of_port(f.engine, c->info.id);

    assert_true(owner_take(&f.engine->sources[source], 0, 0));
    assert_int_equal(port_run(f.engine->workers[0], c->info.id, true), -1);
}

static inline void close_port(struct client *c)
{
    assert_int_equal(engine_port_remove(f.engine, c->info.id, c->info.generation), 0);
    visit(c);
}

static inline actor_ref spawn(uint32_t type)
{
    actor_ref ref = engine_fixture_spawn(&f, type, NULL, 0);

    timer_fixture_run(&f);
    return ref;
}

static inline void two_clients_begin(void (*register_types)(void))
{
    struct engine_config config = timer_fixture_config();

    config.actors_max = 2 * ODEON_PORTS_MAX;
    engine_fixture_open(&f, config);
    register_types();
    open_port(&client, PORT, 1, USER);
    open_port(&other, PORT + 1, 1, OTHER_USER);
}

static inline int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    client_free(&client);
    client_free(&other);
    return 0;
}
