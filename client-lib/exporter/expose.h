/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics there are, and of what.
 *
 * One thread.
 *
 * expose.E1  At most EXPOSE_SERIES series: workers and types beyond that are one, `other`, and how
 *     many series that has saved is a metric itself.
 * expose.E2  Names of types are written for those who have the token alone: without `observed`
 *     there are none.
 */
#pragma once

#include "client-lib/exporter/figures.h"
#include "client-lib/exporter/metrics.h"
#include "client-lib/exporter/observed.h"
#include "client-lib/exporter/tally.h"

enum { EXPOSE_SERIES = 10000 };

struct expose {
    const struct figures *figures; /* of a look that has succeeded, or has failed (`readable`) */
    bool readable;
    bool with_types;           /* a token was shown */
    struct observed *observed; /* NULL: there is nothing to show of types */
    const struct tally *tally;
};

/* 0, -ENOMEM. */
int expose_write(const struct expose *expose, enum metrics_format format, struct buffer *out);
