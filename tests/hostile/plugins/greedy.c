/* SPDX-License-Identifier: Apache-2.0 */
/* On `greedy_go` it sends until a send fails. What failed is told on `greedy_ask`, since with a
 * full outbox an answer would fail, too. */
#include "bad.h"

struct greedy_go {
    odeon_ref to; /* who gets it all; ODEON_NOBODY: an actor of its own, of type `greedy_sink` */
};
struct greedy_told {
    uint64_t sent;  /* sends that went well */
    int32_t error;  /* of the one that did not */
    int32_t answer; /* of the attempt to answer at once */
};
struct greedy_fill {
    unsigned char bytes[4096];
};
struct greedy {
    odeon_ref sink;
    struct greedy_told told;
};

BAD_MESSAGE(greedy_go, "greedy_go", sizeof(struct greedy_go), "{ uint64_t to; }");
BAD_MESSAGE(greedy_ask, "greedy_ask", 0, "");
BAD_MESSAGE(greedy_told, "greedy_told", sizeof(struct greedy_told),
            "{ uint64_t sent; int32_t error; int32_t answer; }");
BAD_MESSAGE(greedy_fill, "greedy_fill", sizeof(struct greedy_fill),
            "{ unsigned char bytes[4096]; }");

static const struct odeon_behaviour sink_behaviours[] = { { .message = &greedy_fill,
                                                            .run = bad_nothing } };
static struct odeon_actor_type sink = { BAD_TYPE_HEAD("greedy_sink", sink_behaviours) };

static int greedy_on_go(void *self, const void *message, struct odeon_context *ctx)
{
    static const struct greedy_fill fill;
    const struct greedy_go *go = message;
    struct greedy *greedy = self;
    odeon_ref to = go->to;
    int r = 0;

    if (to == ODEON_NOBODY && greedy->sink == ODEON_NOBODY)
        r = ctx->host->spawn(ctx, sink.id, NULL, &greedy->sink);
    if (to == ODEON_NOBODY)
        to = greedy->sink;
    greedy->told.sent = 0;
    while (r == 0) {
        r = ctx->host->send(ctx, to, greedy_fill.id, ODEON_BEHAVIOUR_UNKNOWN, &fill, sizeof(fill));
        greedy->told.sent += r == 0;
    }
    greedy->told.error = r;
    greedy->told.answer = 0;
    greedy->told.answer =
        ctx->host->reply(ctx, greedy_told.id, &greedy->told, sizeof(greedy->told));
    return ODEON_NODELETE;
}

static int greedy_on_ask(void *self, const void *message, struct odeon_context *ctx)
{
    const struct greedy *greedy = self;

    (void)message;
    ctx->host->reply(ctx, greedy_told.id, &greedy->told, sizeof(greedy->told));
    return ODEON_NODELETE;
}

static const struct odeon_behaviour behaviours[] = {
    { .message = &greedy_go, .run = greedy_on_go }, { .message = &greedy_ask, .run = greedy_on_ask }
};
static struct odeon_actor_type type = { BAD_TYPE_HEAD("greedy", behaviours),
                                        .state_size = sizeof(struct greedy) };
static struct odeon_actor_type *const types[] = { &type, &sink };
static struct odeon_message_type *const messages[] = { &greedy_go, &greedy_ask, &greedy_told,
                                                       &greedy_fill };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("greedy"), .n_types = 2, .n_messages = 4, .types = types, .messages = messages,
};
