/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_restart.c takes, and answers with. */
#pragma once

#include <odeon/message.h>

ODEON_SIGNAL(picky_ping, 1);
ODEON_INTERFACE(picky, picky_ping);
