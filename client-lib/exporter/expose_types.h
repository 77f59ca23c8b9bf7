/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of actor types: messages, and histograms of how long they run and wait. One thread.
 */
#pragma once

#include "client-lib/exporter/metrics.h"
#include "client-lib/exporter/observed.h"

/* As many types as there is room for; the others as one, `other`. `observed` NULL: nothing is known
 * of them. */
void expose_types(struct observed *observed, struct metrics *m);
