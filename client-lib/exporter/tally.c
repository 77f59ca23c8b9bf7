/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/tally.h"

const char *const tally_refusals[TALLY_REFUSALS] = {
    [TALLY_METHOD] = "method", [TALLY_HOST] = "host", [TALLY_TOKEN] = "token",
    [TALLY_PATH] = "path",     [TALLY_BUSY] = "busy",
};
