/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_timers.c takes and tells. */
#pragma once

#include <odeon/message.h>

/* So many steps, one so long behind the other; each is told to the port. */
ODEON_MESSAGE(ticker_start, 1, {
    odeon_ref port;
    uint64_t last, delay_ns;
});
ODEON_MESSAGE(ticker_step, 1, { uint64_t number; });
/* `wrong` is 0, or the line of ticker.c that found something wrong. */
ODEON_MESSAGE(ticker_heard, 1, { uint64_t number, wrong; });
/* So many timers that are never to come; then the port hears how many it were. */
ODEON_MESSAGE(ticker_many, 1, {
    odeon_ref port;
    uint64_t n;
});
ODEON_INTERFACE(ticker, ticker_start, ticker_step, ticker_many);
