/* SPDX-License-Identifier: Apache-2.0 */
/* The ruler of a siege: rounds that alternate, so that what else the machine does falls on both
 * sides, and are compared pair by pair. One pair says nothing: see README.md for how much equal
 * rounds differ.
 */
#pragma once

enum { PAIRS_MAX = 64 };

struct pairs {
    int n;
    double first[PAIRS_MAX], second[PAIRS_MAX];
};

void pairs_add(struct pairs *pairs, double first, double second);
/* The median of first/second. */
double pairs_ratio(const struct pairs *pairs);
/* One line: the medians, the median of the ratios and how far these lie apart. */
void pairs_print(const struct pairs *pairs, const char *first, const char *second);
