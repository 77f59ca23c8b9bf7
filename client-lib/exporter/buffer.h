/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows as it is written, up to a bound.
 *
 * Owned by its caller, one thread. Where there is no memory, or the bound is met, the buffer has
 * failed: nothing is written any more, and whoever asks at the end is told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { BUFFER_MOST = 8 << 20 }; /* bytes */

struct buffer {
    char *bytes; /* no NUL behind them; NULL: empty */
    size_t n, room;
    bool failed;
};

void buffer_add(struct buffer *buffer, const char *bytes, size_t n);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_print(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_free(struct buffer *buffer);
