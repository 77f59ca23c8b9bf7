/* SPDX-License-Identifier: Apache-2.0 */
/* What has gone through ports, as the service says it. Any thread. */
#pragma once

#include <odeon/admin.h>

#include "proto/control.pb-c.h"

/* NULL, from an older service: nothing. */
struct odeon_traffic traffic_copy(const Odeon__Traffic *from);
