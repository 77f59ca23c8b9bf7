/* SPDX-License-Identifier: Apache-2.0 */
/* References as people see them everywhere: SLOT.GENERATION.  No state, any thread. */
#pragma once

#include <inttypes.h>

#include "proto/envelope.h"

#define REF_FORMAT    "%" PRIu32 ".%" PRIu32
#define REF_ARGS(ref) actor_ref_slot(ref), actor_ref_generation(ref)
