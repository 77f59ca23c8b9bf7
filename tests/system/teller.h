/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of an actor that says to others what it is told to. */
#pragma once

#include <odeon/message.h>

/* `to` ODEON_NOBODY: whoever has the name. */
ODEON_MESSAGE(teller_tell, 1, {
    odeon_ref to;
    char name[64];
    char text[];
});
ODEON_MESSAGE(teller_said, 1, {
    int32_t number; /* counts up */
    char text[];
});
ODEON_INTERFACE(teller, teller_tell);
