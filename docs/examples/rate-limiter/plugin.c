/* SPDX-License-Identifier: Apache-2.0 */
#include "rate_actors.h"

ODEON_PLUGIN("rate", "1.0.0", ODEON_TYPE(rate_front), ODEON_TYPE(rate_limiter));
