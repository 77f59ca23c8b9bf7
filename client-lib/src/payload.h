/* SPDX-License-Identifier: Apache-2.0 */
/* The codec's inside: what its files share (payload_layout.c: `fields` to a layout, payload_fill.c:
 * words to bytes, payload_print.c: bytes to text). <odeon/codec.h> is the contract.
 *
 * Owned by its caller, no global state.
 *
 * payload.PL1  A layout whose size is not the one the message is registered with fills and prints
 *      nothing: callers ask odeon_layout_check().
 */
#pragma once

#include <locale.h>

#include <odeon/codec.h>

#include "proto/fields.h"

struct odeon_layout {
    struct fields list;
};

/* Numbers have a point, and letters are ASCII, whatever the program's locale is. */
struct payload_locale {
    locale_t ours, theirs;
};

static inline struct payload_locale payload_locale_enter(void)
{
    struct payload_locale l = { .ours = newlocale(LC_ALL_MASK, "C", (locale_t)0) };

    if (l.ours)
        l.theirs = uselocale(l.ours);
    return l;
}

static inline void payload_locale_leave(struct payload_locale l)
{
    if (!l.ours)
        return;
    uselocale(l.theirs);
    freelocale(l.ours);
}
