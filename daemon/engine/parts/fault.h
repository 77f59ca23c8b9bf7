/* SPDX-License-Identifier: Apache-2.0 */
/* What recovery has found of faults (fault.h). */
#pragma once

#include <stdint.h>

#include "daemon/engine/engine.h"

struct faults {
    struct engine_fault *list;
    uint32_t n;
};
