/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two calls numbers have a point, and letters are ASCII, for the calling thread,
 * whatever the program's locale is. Without memory for that they are the program's. */
#pragma once

#include <locale.h>

struct plain_locale {
    locale_t ours, theirs;
};

static inline struct plain_locale plain_locale_enter(void)
{
    struct plain_locale l = { .ours = newlocale(LC_ALL_MASK, "C", (locale_t)0) };

    if (l.ours)
        l.theirs = uselocale(l.ours);
    return l;
}

static inline void plain_locale_leave(struct plain_locale l)
{
    if (!l.ours)
        return;
    uselocale(l.theirs);
    freelocale(l.ours);
}
