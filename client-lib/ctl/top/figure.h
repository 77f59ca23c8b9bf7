/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for people: three digits that mean something, since samples have no more.
 *
 * Values, any thread.
 */
#pragma once

#include <stdint.h>

enum { FIGURE_TEXT = 32 };
struct figure {
    char text[FIGURE_TEXT];
};

/* "0", "3.25", "12.3 k" */
struct figure figure_rate(double rate);
/* "840 ns", "1.25 ms"; nanoseconds */
struct figure figure_time(uint64_t ns);
/* "42.0 %" of 0.42 */
struct figure figure_share(double share);
