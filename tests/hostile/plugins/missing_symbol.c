/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that nobody has: found out when it is loaded, not when it is called. */
#include "bad.h"

int odeon_test_function_that_nobody_has(void);

static int missing_symbol_init(const struct odeon_host *host)
{
    (void)host;
    return odeon_test_function_that_nobody_has();
}

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("missing_symbol"),
    .init = missing_symbol_init,
};
