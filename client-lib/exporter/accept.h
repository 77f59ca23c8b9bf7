/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two formats a scraper wants. Pure functions, any thread. */
#pragma once

#include "client-lib/exporter/metrics.h"

/* `accept`: the header; NULL: there is none. OpenMetrics where it is named, in a version that is
 * known, and wanted at least as much as text. */
enum metrics_format accept_format(const char *accept);
