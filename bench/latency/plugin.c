/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `latency`: its types, and the actors that do nothing but pass on.
 *
 * latency_echo sends back what it gets. latency_front stands before others: a fan (all of them
 * answer the client) or a chain (the last of it does). An executor that begins anew runs the init
 * of latency_front again, which makes others again; those of before stay, and are not asked any
 * more.
 */
#include "latency.h"

#include <odeon/plugin.h>

ODEON_STATELESS(latency_echo);

ODEON_RECEIVE(latency_echo, latency_small)
{
    odeon_reply(ctx, latency_small, .at_ns = msg->at_ns);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(latency_echo, latency_large)
{
    odeon_reply_(ctx, odeon_message_of(latency_large)->id, msg, sizeof(*msg));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(latency_echo, ODEON_ON(latency_echo, latency_small),
               ODEON_ON(latency_echo, latency_large));
ODEON_ACTOR_TYPE(latency_echo);

/* ---- a link of a chain, or a leaf of a fan: one that has nobody behind it answers ---- */

ODEON_INTERFACE(latency_link, latency_ask);
ODEON_STATE(latency_link, { latency_link_ref next; });
struct latency_link_args {
    latency_link_ref next;
};

ODEON_INIT(latency_link, struct latency_link_args)
{
    self->next = args->next;
    return 0;
}

static int plugin_pass_on(struct odeon_context *ctx, latency_link_ref next,
                          const struct latency_ask *ask)
{
    if (next.ref != ODEON_NOBODY)
        return odeon_send(ctx, next, latency_ask, .client = ask->client, .at_ns = ask->at_ns,
                          .number = ask->number);
    return odeon_send_any(ctx, ask->client, latency_answer, .at_ns = ask->at_ns,
                          .number = ask->number);
}

ODEON_RECEIVE(latency_link, latency_ask)
{
    plugin_pass_on(ctx, self->next, msg);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(latency_link, ODEON_ON(latency_link, latency_ask));
ODEON_ACTOR_TYPE(latency_link);

/* ---- the front ---- */

ODEON_STATE(latency_front, {
    latency_link_ref first[LATENCY_ACTORS_MAX];
    uint32_t n_first; /* 0: a chain of one */
});

ODEON_INIT(latency_front, struct latency_front_args)
{
    latency_link_ref next = { .ref = ODEON_NOBODY };
    int r = args->actors >= 1 && args->actors <= LATENCY_ACTORS_MAX ? 0 : -EINVAL;

    for (uint32_t i = args->chain; i < args->actors && r == 0; i++) {
        latency_link_ref link;
        r = odeon_spawn_into(ctx, &link, latency_link,
                             ODEON_ARGS(struct latency_link_args, .next = next));
        if (r < 0)
            break;
        if (args->chain)
            next = link;
        else
            self->first[self->n_first++] = link;
    }
    if (next.ref != ODEON_NOBODY)
        self->first[self->n_first++] = next;
    return r;
}

ODEON_RECEIVE(latency_front, latency_ask)
{
    if (self->n_first == 0)
        plugin_pass_on(ctx, (latency_link_ref){ .ref = ODEON_NOBODY }, msg);
    for (uint32_t i = 0; i < self->n_first; i++)
        plugin_pass_on(ctx, self->first[i], msg);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(latency_front, ODEON_ON(latency_front, latency_ask));
ODEON_ACTOR_TYPE(latency_front);

/* ---- those of timers.c and kinds.c ---- */

ODEON_DECLARE_TYPE(latency_timer);

ODEON_DECLARE_TYPE(latency_kind_0);
ODEON_DECLARE_TYPE(latency_kind_1);
ODEON_DECLARE_TYPE(latency_kind_2);
ODEON_DECLARE_TYPE(latency_kind_3);
ODEON_DECLARE_TYPE(latency_kind_4);
ODEON_DECLARE_TYPE(latency_kind_5);
ODEON_DECLARE_TYPE(latency_kind_6);
ODEON_DECLARE_TYPE(latency_kind_7);
ODEON_DECLARE_TYPE(latency_kind_8);
ODEON_DECLARE_TYPE(latency_kind_9);
ODEON_DECLARE_TYPE(latency_kind_10);
ODEON_DECLARE_TYPE(latency_kind_11);

ODEON_PLUGIN("latency", "1.0.0", ODEON_TYPE(latency_echo), ODEON_TYPE(latency_front),
             ODEON_TYPE(latency_link), ODEON_TYPE(latency_timer), ODEON_TYPE(latency_kind_0),
             ODEON_TYPE(latency_kind_1), ODEON_TYPE(latency_kind_2), ODEON_TYPE(latency_kind_3),
             ODEON_TYPE(latency_kind_4), ODEON_TYPE(latency_kind_5), ODEON_TYPE(latency_kind_6),
             ODEON_TYPE(latency_kind_7), ODEON_TYPE(latency_kind_8), ODEON_TYPE(latency_kind_9),
             ODEON_TYPE(latency_kind_10), ODEON_TYPE(latency_kind_11));
