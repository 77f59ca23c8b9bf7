/* SPDX-License-Identifier: Apache-2.0 */
/* The messages and types of starter.c, for it and for test_start_actors.c. */
#pragma once

#include <odeon/message.h>

ODEON_SIGNAL(starter_ask, 1);
ODEON_SIGNAL(starter_end, 1);
ODEON_MESSAGE(starter_told, 1, {
    int64_t base;
    uint64_t sum;
    char label[24];
});
ODEON_INTERFACE(starter, starter_ask, starter_end);
ODEON_INTERFACE(starter_other, starter_ask);
