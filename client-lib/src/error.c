/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts; see error.h. */
#include "client-lib/src/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <odeon/client.h>

/* Long enough for a refusal by the service that lists several blockers. */
static _Thread_local char buffers[2][2048];
static _Thread_local const char *text = "no call of this thread has failed";
/* between error_keep() and error_settle() */
static _Thread_local const char *kept;
static _Thread_local unsigned depth;

int error_set(int error, const char *format, ...)
{
    char *buffer = kept == buffers[0] ? buffers[1] : buffers[0];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(buffer, sizeof(buffers[0]), format, arguments);
    va_end(arguments);
    text = buffer;
    return error;
}

int error_set_literal(int error, const char *literal)
{
    text = literal;
    return error;
}

void error_keep(void)
{
    if (depth++ == 0)
        kept = text;
}

int error_settle(int result)
{
    if (--depth > 0)
        return result;
    if (result >= 0)
        text = kept;
    kept = NULL;
    return result;
}

const char *error_describe(int error)
{
    const char *description = strerrordesc_np(-error);

    return description ? description : "unknown error";
}

const char *odeon_error_text(void)
{
    return text;
}
