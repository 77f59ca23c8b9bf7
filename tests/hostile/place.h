/* SPDX-License-Identifier: Apache-2.0 */
/* A service under the limits of the packaged unit. */
#pragma once

#include "tests/system/harness.h"
#include "tests/system/user.h"

/* LimitNOFILE= of the unit. */
unsigned long place_unit_descriptors(void);
/* The service, whose directory has been made, is to run as this user, without capabilities and with
 * the unit's limit of descriptors. */
void place_under_unit(struct service *service, struct user owner);
