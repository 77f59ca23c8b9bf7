/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a shop in which things go wrong on demand: the tour (docs/tour.md). */
#pragma once

#include <odeon/message.h>

/* A till sells, which takes it so long, and tells the ledger. */
ODEON_MESSAGE(shop_sale, 1, { uint32_t us; });
/* From now on a till makes a sale of `us` every so often. */
ODEON_MESSAGE(shop_open, 1, { uint32_t us, every_us; });
ODEON_SIGNAL(shop_break, 1); /* a till reads where nothing is */
ODEON_MESSAGE(shop_entry, 1, { uint32_t us; });
/* A crowd sends `n` sales to the till of that number every so often. */
ODEON_MESSAGE(shop_come, 1, { uint32_t n, every_us, till; });
/* From now on the ledger tells the desk, who is called so, of so many entries for each that it has;
 * each is a page. */
ODEON_MESSAGE(shop_report, 1, { uint32_t pages; });
ODEON_MESSAGE(shop_page, 1, {
    uint64_t entries;
    char text[1000];
});

ODEON_INTERFACE(shop_till, shop_sale, shop_open, shop_break);
ODEON_INTERFACE(shop_ledger, shop_entry, shop_report);
ODEON_INTERFACE(shop_crowd, shop_come);
