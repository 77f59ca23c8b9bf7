/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of ABI 1: make.sh builds it with the headers of 0.1. */
#include <odeon/plugin.h>

#include "kept.h"

ODEON_INTERFACE(kept_abi1, kept_add);
ODEON_STATE(kept_abi1, { int64_t total; });

ODEON_RECEIVE(kept_abi1, kept_add)
{
    self->total += msg->amount;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(kept_abi1, ODEON_ON(kept_abi1, kept_add));
ODEON_ACTOR_TYPE(kept_abi1);
ODEON_PLUGIN("kept-abi1", "1.0.0", ODEON_TYPE(kept_abi1));
