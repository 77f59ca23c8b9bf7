/* SPDX-License-Identifier: Apache-2.0 */
#include "work_actors.h"

ODEON_PLUGIN("work", "1.0.0", ODEON_TYPE(work_queue), ODEON_TYPE(work_item));
