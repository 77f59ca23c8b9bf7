/* SPDX-License-Identifier: Apache-2.0 */
/* Full queues (overflow.h). */
#pragma once

#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct overflow {
    _Atomic uint8_t *stalls; /* [n_queues]: ports wait for it */
    /* a type with that policy has been registered, once: runners look at full batches */
    _Atomic uint32_t drops_oldest;
};
