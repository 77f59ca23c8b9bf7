/* SPDX-License-Identifier: Apache-2.0 */
/* The message of the kill torture: numbered, through two actors, back to whoever sent it. */
#ifndef RELAY_H
#define RELAY_H

#include <odeon/message.h>

ODEON_MESSAGE(relay_hop, 1, {
    odeon_ref origin;
    uint64_t number;
});
ODEON_INTERFACE(relay_first, relay_hop);
ODEON_INTERFACE(relay_second, relay_hop);

#endif
