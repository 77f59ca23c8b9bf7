/* SPDX-License-Identifier: Apache-2.0 */
/* Bars, and the last looks as a line of small ones; with characters of Unicode or of ASCII.
 *
 * Plain data, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SPARK_LOOKS = 30, SPARK_BYTES = 4 /* of one column at most, in UTF-8 */ };

struct spark {
    double value[SPARK_LOOKS]; /* the oldest first */
    unsigned n;
};

/* NAN: it is not known, and leaves a gap. */
void spark_add(struct spark *spark, double value);
/* The last `columns` looks, the latest at the end, from 0 to the largest of them. Returns how many
 * columns it takes. `size` at least columns * SPARK_BYTES + 1, or less is drawn. */
unsigned spark_draw(const struct spark *spark, unsigned columns, bool unicode, char *text,
                    size_t size);
/* A bar of so many columns, filled up to `share` of 0 to 1, and blanks behind it. */
void spark_bar(double share, unsigned columns, bool unicode, char *text, size_t size);
