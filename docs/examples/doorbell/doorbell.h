/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell's messages, for whoever rings and whoever listens. */
#ifndef DOORBELL_H
#define DOORBELL_H

#include <odeon/message.h>

/* how often somebody rings, and what is said: text of any length at the end */
ODEON_MESSAGE(doorbell_ring, 1, {
    uint32_t times;
    char text[];
});
ODEON_SIGNAL(doorbell_ask, 1);
/* the answer */
ODEON_MESSAGE(doorbell_rings, 1, { uint64_t rings; });
/* what the hall is told */
ODEON_MESSAGE(doorbell_rang, 1, {
    uint64_t rings;
    char text[];
});
ODEON_INTERFACE(doorbell, doorbell_ring, doorbell_ask);

#endif
