// SPDX-License-Identifier: Apache-2.0
// The same as kept.c by a C++ compiler, with the plain layer; the actor has another type.
#include <cerrno>
#include <cstdint>

#include <odeon/plugin.h>

struct kept_add {
    int64_t amount;
};
struct kept_value {
    int64_t total, starts;
};
struct kept_args {
    int64_t first;
};
struct sum {
    int64_t total, starts;
};

static odeon_message_type add_type = {
    sizeof(odeon_message_type), 1, "kept_add", "{ int64_t amount; }", sizeof(kept_add), 0, 0, 0, {},
};
static odeon_message_type get_type = {
    sizeof(odeon_message_type), 1, "kept_get", "", 0, 0, 0, 0, {}
};
static odeon_message_type begun_type = {
    sizeof(odeon_message_type), 1, "kept_begun", "", 0, 0, 0, 0, {}
};
static odeon_message_type value_type = {
    sizeof(odeon_message_type),
    1,
    "kept_value",
    "{ int64_t total, starts; }",
    sizeof(kept_value),
    0,
    0,
    0,
    {},
};

static int init(void *state, const void *args, size_t size, odeon_context *) noexcept
{
    if (size != sizeof(kept_args))
        return -EINVAL;
    static_cast<sum *>(state)->total = static_cast<const kept_args *>(args)->first;
    return 0;
}

static int on_add(void *state, const void *message, odeon_context *) noexcept
{
    static_cast<sum *>(state)->total += static_cast<const kept_add *>(message)->amount;
    return ODEON_NODELETE;
}

static int on_get(void *state, const void *, odeon_context *ctx) noexcept
{
    auto *self = static_cast<sum *>(state);
    const kept_value value = { self->total, self->starts };
    ctx->host->reply(ctx, value_type.id, &value, sizeof(value));
    return ODEON_NODELETE;
}

static int on_begun(void *state, const void *, odeon_context *) noexcept
{
    static_cast<sum *>(state)->starts++;
    return ODEON_NODELETE;
}

static const odeon_behaviour behaviours[] = { { &add_type, on_add, {} },
                                              { &get_type, on_get, {} },
                                              { &begun_type, on_begun, {} } };

static odeon_actor_type sum_type = {
    sizeof(odeon_actor_type),
    1,
    "kept_sum_cxx",
    sizeof(sum),
    ODEON_RESTART_KEEP,
    3,
    sizeof(odeon_behaviour),
    behaviours,
    init,
    nullptr,
    0,
    ODEON_OVERFLOW_REJECT,
    "{ int64_t first; }",
    sizeof(kept_args),
    0,
    "sum",
    {},
};

static int start(odeon_context *ctx) noexcept
{
    const kept_args args = { 1000 };
    const odeon_spawn_options options = {
        sizeof(odeon_spawn_options), ODEON_PLACE_SPREAD, "kept-cxx", &args, sizeof(args), 0, 0,
    };
    odeon_ref ref = ODEON_NOBODY;
    int r = ctx->host->spawn(ctx, sum_type.id, &options, &ref);
    if (r == -EEXIST)
        r = ctx->host->lookup(ctx, "kept-cxx", &ref);
    return r < 0 ? r
                 : ctx->host->send(ctx, ref, begun_type.id, ODEON_BEHAVIOUR_UNKNOWN, nullptr, 0);
}

static odeon_actor_type *const types[] = { &sum_type };
static odeon_message_type *const messages[] = { &add_type, &get_type, &begun_type, &value_type };

extern "C" {
extern __attribute__((visibility("default"))) const odeon_plugin odeon_plugin_descriptor;
const odeon_plugin odeon_plugin_descriptor = {
    sizeof(odeon_plugin),
    ODEON_PLUGIN_ABI_MAJOR,
    ODEON_PLUGIN_ABI_MINOR,
    sizeof(odeon_context),
    sizeof(odeon_message_type),
    "kept-cxx",
    "1.0.0",
    1,
    4,
    types,
    messages,
    nullptr,
    nullptr,
    nullptr,
    start,
    {},
};
}
