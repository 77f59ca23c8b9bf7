/* SPDX-License-Identifier: Apache-2.0 */
/* References as people see them everywhere: EXECUTOR.SLOT.GENERATION.  No state, any thread. */
#pragma once

#include <inttypes.h>

#include "proto/envelope.h"

#define REF_FORMAT    "%" PRIu32 ".%" PRIu32 ".%" PRIu32
#define REF_ARGS(ref) actor_ref_executor(ref), actor_ref_number(ref), actor_ref_generation(ref)
