/* SPDX-License-Identifier: Apache-2.0 */
/* Writing metrics, in Prometheus' text format 0.0.4 or in OpenMetrics 1.0.
 *
 * Owned by its caller, one thread. A family is begun, its series follow.
 *
 * metrics.M1  What is written is well-formed whatever names and texts are given: names that the
 *     formats do not have, and families that were begun before, are left out; labels and help are
 *     escaped, and are UTF-8 without control characters.
 * metrics.M2  No more series than `most` are written; those left out are counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/exporter/buffer.h"

enum metrics_format { METRICS_TEXT, METRICS_OPEN };
enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_UNKNOWN, METRICS_HISTOGRAM };

enum { METRICS_NAME = 96, METRICS_FAMILIES = 512 };

struct metrics_label {
    const char *name, *value;
};

struct metrics {
    struct buffer *out;
    enum metrics_format format;
    size_t series, most, left_out;
    enum metrics_type type; /* of the family that is written */
    bool skip;              /* it is left out */
    char (*families)[METRICS_NAME];
    size_t n_families;
};

/* -ENOMEM. */
int metrics_begin(struct metrics *metrics, struct buffer *out, enum metrics_format format,
                  size_t most);
void metrics_end(struct metrics *metrics);

/* The content type of the format. */
const char *metrics_content_type(enum metrics_format format);

/* `name` without `_total`, and with its unit as its end, if it has one ("": none). */
void metrics_family(struct metrics *metrics, const char *name, enum metrics_type type,
                    const char *unit, const char *help);
/* A series of a counter, a gauge, or of an unknown kind. */
void metrics_value(struct metrics *metrics, const struct metrics_label *labels, size_t n,
                   double value);
/* A histogram: `counts`, not yet summed up, of what is at most each of `tops`, and one more for
 * what is above all. */
void metrics_histogram(struct metrics *metrics, const struct metrics_label *labels, size_t n,
                       const double *tops, const uint64_t *counts, size_t n_tops, double sum);
/* For series that are not written: as if they had been given. */
void metrics_leave_out(struct metrics *metrics, size_t series);

/* "0", "2.5e-07", "+Inf": as short as it can be without another value. */
enum { METRICS_NUMBER = 40 };
const char *metrics_number(double value, char text[static METRICS_NUMBER]);
