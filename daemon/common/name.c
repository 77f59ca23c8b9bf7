/* SPDX-License-Identifier: Apache-2.0 */
/* The one rule for names; see name.h. */
#include "daemon/common/name.h"

#include <string.h>

#include "proto/bounds.h"

static bool name_has_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* SLOT.GENERATION or EXECUTOR.SLOT.GENERATION, whatever the numbers are. */
static bool name_is_like_reference(const char *name)
{
    static const char digits[] = "0123456789";
    unsigned parts = 0;

    for (;; name++) {
        size_t n = strspn(name, digits);

        if (n == 0)
            return false;
        parts++;
        name += n;
        if (*name != '.')
            return *name == '\0' && (parts == 2 || parts == 3);
    }
}

bool name_is_good(const char *name)
{
    size_t n = name ? strnlen(name, ODEON_NAME_MAX + 1) : 0;

    if (n == 0 || n > ODEON_NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!name_has_character(name[i]))
            return false;
    return true;
}

bool name_is_good_for_actor(const char *name)
{
    return name_is_good(name) && !name_is_like_reference(name);
}

void name_copy_printable(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; from[n] && n < size - 1; n++)
        to[n] = from[n] >= 0x20 && from[n] < 0x7f ? from[n] : '?';
    to[n] = '\0';
}
