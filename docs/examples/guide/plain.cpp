// SPDX-License-Identifier: Apache-2.0
// The counter of examples/counter in C++, with the plain layer: everything that the macros do for
// C, written out.
#include <odeon/plugin.h>

// Layout, names, versions and the text of the fields are those of counter.h: the service compares
// all of them.
struct counter_add {
    int64_t amount, weight;
};
struct counter_value {
    int64_t total;
};

static odeon_message_type add_type = {
    sizeof(odeon_message_type),
    1,
    "counter_add",
    "{ int64_t amount, weight; }",
    sizeof(counter_add),
    0,
    0,
    0,
    {},
};
static odeon_message_type get_type = {
    sizeof(odeon_message_type), 1, "counter_get", "", 0, 0, 0, 0, {}
};
static odeon_message_type value_type = {
    sizeof(odeon_message_type),
    1,
    "counter_value",
    "{ int64_t total; }",
    sizeof(counter_value),
    0,
    0,
    0,
    {},
};

struct counter {
    int64_t total;
};

// No exception may leave a behaviour: the host is C.
static int on_add(void *state, const void *message, odeon_context *) noexcept
{
    auto *self = static_cast<counter *>(state);
    auto *add = static_cast<const counter_add *>(message);
    self->total += add->amount * add->weight;
    return ODEON_NODELETE;
}

static int on_get(void *state, const void *, odeon_context *ctx) noexcept
{
    const counter_value value = { static_cast<counter *>(state)->total };
    ctx->host->reply(ctx, value_type.id, &value, sizeof(value));
    return ODEON_NODELETE;
}

static const odeon_behaviour behaviours[] = { { &add_type, on_add, {} },
                                              { &get_type, on_get, {} } };

static odeon_actor_type counter_type = {
    sizeof(odeon_actor_type),
    1,
    "counter",
    sizeof(counter),
    ODEON_RESTART_INIT,
    2,
    sizeof(odeon_behaviour),
    behaviours,
    nullptr,
    nullptr,
    0,
    0,
    nullptr,
    0,
    0,
    nullptr,
    nullptr,
    0,
    0,
    {},
};

static odeon_actor_type *const types[] = { &counter_type };
static odeon_message_type *const messages[] = { &add_type, &get_type, &value_type };

extern "C" {
extern __attribute__((visibility("default"))) const odeon_plugin odeon_plugin_descriptor;
const odeon_plugin odeon_plugin_descriptor = {
    sizeof(odeon_plugin),
    ODEON_PLUGIN_ABI_MAJOR,
    ODEON_PLUGIN_ABI_MINOR,
    sizeof(odeon_context),
    sizeof(odeon_message_type),
    "counter-plain",
    "1.0.0",
    1,
    3,
    types,
    messages,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    {},
};
}
