/* SPDX-License-Identifier: Apache-2.0 */
/* The text that goes with a refusal: what happened, why, what to do.
 *
 * Owned by whoever asks for something, on its stack as a rule; filled in by whoever refuses. One
 * thread at a time.
 *
 * explain.E1  text is always NUL-terminated; what does not fit is cut and ends in "...".
 * explain.E2  A function that returns an error through explain_set() has given a text; without one
 *     the
 * errno has to speak for itself.
 * explain.E3  It holds no control characters: it ends on a terminal, and names that strangers chose
 *     are in it.
 */
#pragma once

#include <stddef.h>

enum { EXPLAIN_MAX = 4096 };

struct explain {
    size_t length;
    char text[EXPLAIN_MAX];
};

void explain_init(struct explain *explain);
/* Replaces the text.  Returns `error`, so that a refusal is one statement. */
int explain_set(struct explain *explain, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends to it. */
void explain_add(struct explain *explain, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
