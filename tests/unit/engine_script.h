/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that run scripts: the message carries the function that its receiver is to run, and the
 * test waits until all is quiet again. */
#pragma once

#include "engine_fixture.h"

typedef int (*script_fn)(void *self, struct engine_context *ctx, void *argument);

struct script {
    script_fn run;
    void *argument;
};

static uint16_t script_type;

static inline int on_script(void *self, const void *message, struct engine_context *ctx)
{
    const struct script *script = message;
    return script->run(self, ctx, script->argument);
}

static inline void fixture_end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
}

static inline void settle(struct engine_fixture *f)
{
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
}

static inline void start(struct engine_fixture *f)
{
    assert_int_equal(engine_start(f->engine), 0);
    settle(f);
}

/* Runs a script in an actor's behaviour and waits until all is quiet again. */
static inline void run(struct engine_fixture *f, actor_ref actor, script_fn script, void *argument)
{
    struct script message = { .run = script, .argument = argument };
    assert_int_equal(engine_actor_send(f->engine, actor, script_type, &message, sizeof(message)),
                     0);
    settle(f);
}
