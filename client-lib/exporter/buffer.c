/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_FIRST = 4096 };

static bool buffer_make_room(struct buffer *buffer, size_t n)
{
    size_t room = buffer->room ? buffer->room : BUFFER_FIRST;
    char *bytes;

    if (buffer->failed || n > BUFFER_MOST - buffer->n) {
        buffer->failed = true;
        return false;
    }
    if (buffer->n + n <= buffer->room)
        return true;
    while (room < buffer->n + n)
        room *= 2;
    bytes = realloc(buffer->bytes, room);
    if (!bytes) {
        buffer->failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->room = room;
    return true;
}

void buffer_add(struct buffer *buffer, const char *bytes, size_t n)
{
    if (n == 0 || !buffer_make_room(buffer, n))
        return;
    memcpy(buffer->bytes + buffer->n, bytes, n);
    buffer->n += n;
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_print(struct buffer *buffer, const char *format, ...)
{
    char line[256];
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof(line))
        buffer->failed = true; /* what is longer is written by buffer_text() */
    else
        buffer_add(buffer, line, (size_t)n);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){ .bytes = NULL };
}
