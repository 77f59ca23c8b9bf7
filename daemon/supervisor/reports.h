/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of an executor that answer no request: one table says who takes which kind, as one does
 * for the requests of clients (commands.h). Event loop thread only. */
#pragma once

#include "proto/control.pb-c.h"

struct seat;

void reports_handle(struct seat *seat, const Odeon__Report *report);
