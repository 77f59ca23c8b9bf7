/* SPDX-License-Identifier: Apache-2.0 */
/* Tills that tell a ledger of their sales, and a crowd: what the tour looks at. */
#include "shop.h"

#include <stdio.h>
#include <time.h>

#include <odeon/plugin.h>

ODEON_STATE(shop_till, {
    shop_ledger_ref ledger;
    uint64_t timer;
});
ODEON_STATE(shop_ledger, {
    uint64_t entries;
    uint32_t pages;
});
ODEON_STATELESS(shop_crowd);

ODEON_INIT(shop_till)
{
    return odeon_lookup(ctx, "ledger", &self->ledger);
}

static void shop_be_busy(uint32_t us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

ODEON_RECEIVE(shop_till, shop_sale)
{
    if (msg->us > 0)
        shop_be_busy(msg->us);
    odeon_send(ctx, self->ledger, shop_entry, .us = msg->us);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(shop_till, shop_open)
{
    if (self->timer != 0)
        odeon_timer_cancel(ctx, self->timer);
    odeon_send_every(ctx, &self->timer, msg->every_us * UINT64_C(1000), odeon_self(ctx, shop_till),
                     shop_sale, .us = msg->us);
    return ODEON_NODELETE;
}

/* What nobody has set leads nowhere. */
static const int *volatile shop_price;

ODEON_RECEIVE(shop_till, shop_break)
{
    return *shop_price;
}

ODEON_RECEIVE(shop_ledger, shop_report)
{
    self->pages = msg->pages;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(shop_ledger, shop_entry)
{
    odeon_ref desk;
    self->entries++;
    if (self->pages > 0 && odeon_lookup_any(ctx, "desk", &desk) == 0)
        for (uint32_t i = 0; i < self->pages; i++)
            odeon_send_any(ctx, desk, shop_page, .entries = self->entries);
    return ODEON_NODELETE;
}

/* The first time a client says what is to come, later the timer does. */
ODEON_RECEIVE(shop_crowd, shop_come)
{
    shop_till_ref till;
    char name[16];
    snprintf(name, sizeof(name), "till.%u", msg->till);
    if (ctx->sender != ctx->self)
        odeon_send_every(ctx, NULL, msg->every_us * UINT64_C(1000), odeon_self(ctx, shop_crowd),
                         shop_come, .n = msg->n, .every_us = msg->every_us, .till = msg->till);
    if (odeon_lookup(ctx, name, &till) == 0)
        for (uint32_t i = 0; i < msg->n; i++)
            odeon_send(ctx, till, shop_sale, .us = 0);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(shop_till, ODEON_ON(shop_till, shop_sale), ODEON_ON(shop_till, shop_open),
               ODEON_ON(shop_till, shop_break));
ODEON_HANDLERS(shop_ledger, ODEON_ON(shop_ledger, shop_entry), ODEON_ON(shop_ledger, shop_report));
ODEON_HANDLERS(shop_crowd, ODEON_ON(shop_crowd, shop_come));
ODEON_ACTOR_TYPE(shop_till);
ODEON_ACTOR_TYPE(shop_ledger);
ODEON_ACTOR_TYPE(shop_crowd);
ODEON_PLUGIN("shop", "1.0.0", ODEON_TYPE(shop_till), ODEON_TYPE(shop_ledger),
             ODEON_TYPE(shop_crowd));
