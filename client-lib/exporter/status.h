/* SPDX-License-Identifier: Apache-2.0 */
/* What the web page is told, as a JSON document. One thread.
 *
 * status.S1  Without the token there are totals and workers: no name of a type, a client or a user,
 *     and no flow.
 */
#pragma once

#include "client-lib/exporter/asked.h"
#include "client-lib/exporter/buffer.h"
#include "client-lib/exporter/figures.h"
#include "client-lib/exporter/observed.h"

struct status {
    const struct figures *figures;
    bool readable;
    bool token;                /* it was shown */
    struct observed *observed; /* NULL: there is nothing to show of types */
    const struct asked *asked;
};

/* 0, -ENOMEM. */
int status_write(const struct status *status, struct buffer *out);
