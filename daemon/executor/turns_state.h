/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor keeps of its control thread's turns; only turns.c looks at it. */
#pragma once

#include <uv.h>

#include "daemon/common/turn_count.h"

struct turns {
    uv_prepare_t prepare;
    struct turn_count count;
};
