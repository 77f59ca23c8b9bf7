/* SPDX-License-Identifier: Apache-2.0 */
/* What the actors of order.c take, for it and for test_start_order.c. */
#pragma once

#include <odeon/message.h>

ODEON_SIGNAL(order_begun, 1);
ODEON_SIGNAL(order_get, 1);
ODEON_MESSAGE(order_value, 1, { uint64_t starts; });
