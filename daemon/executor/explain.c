/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "daemon/executor/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/check.h"

static void explain_append(struct explain *explain, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

static void explain_append(struct explain *explain, const char *format, va_list list)
{
    static const char ellipsis[] = "...";
    char *added = explain->text + explain->length;
    size_t room = sizeof(explain->text) - explain->length;
    int n = vsnprintf(added, room, format, list);

    if (n < 0) {
        added[0] = '\0';
    } else if ((size_t)n < room) {
        explain->length += (size_t)n;
    } else {
        explain->length = sizeof(explain->text) - 1;
        memcpy(explain->text + sizeof(explain->text) - sizeof(ellipsis), ellipsis,
               sizeof(ellipsis));
    }
    check("explain.E1",
          explain->length < sizeof(explain->text) && explain->text[explain->length] == '\0');
    /* explain.E3 */
    for (unsigned char *c = (unsigned char *)added; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
}

void explain_init(struct explain *explain)
{
    explain->length = 0;
    explain->text[0] = '\0';
}

int explain_set(struct explain *explain, int error, const char *format, ...)
{
    va_list list;

    explain_init(explain);
    va_start(list, format);
    explain_append(explain, format, list);
    va_end(list);
    return error;
}

void explain_add(struct explain *explain, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    explain_append(explain, format, list);
    va_end(list);
}
