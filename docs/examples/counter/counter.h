/* SPDX-License-Identifier: Apache-2.0 */
/* The counter's messages, for whoever sends to counters: its plugin, clients, other plugins. */
#ifndef COUNTER_H
#define COUNTER_H

#include <odeon/message.h>

ODEON_MESSAGE(counter_add, 1, { int64_t amount, weight; });
ODEON_SIGNAL(counter_get, 1);
ODEON_MESSAGE(counter_value, 1, { int64_t total; });
ODEON_INTERFACE(counter, counter_add, counter_get);

#endif
