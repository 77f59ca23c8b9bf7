/* SPDX-License-Identifier: Apache-2.0 */
/* The codec's inside: what its files share (payload_layout.c: `fields` to a layout, payload_fill.c:
 * words to bytes, payload_print.c: bytes to text). <odeon/codec.h> is the contract.
 *
 * Owned by its caller, no global state.
 *
 * payload.PL1  A layout whose size is not the one the message is registered with fills and prints
 *      nothing: callers ask odeon_layout_check().
 * payload.PL2  Offsets and sizes never exceed ODEON_PAYLOAD_BYTES_MAX.
 * payload.PL3  Only the last field may be a tail, and its offset is a multiple of its element.
 */
#pragma once

#include <locale.h>
#include <stdbool.h>

#include <odeon/codec.h>

struct payload_type {
    enum odeon_field_kind kind;
    uint32_t size; /* and alignment */
};

struct payload_field {
    char name[ODEON_LAYOUT_NAME_MAX + 1];
    struct payload_type type;
    uint32_t offset;
    uint32_t count; /* elements of an array; 1 for a single value; 0 for a tail */
    bool array;     /* declared with brackets, a tail included */
};

struct odeon_layout {
    size_t n;
    struct payload_field *fields;
    uint32_t size; /* of the struct */
    bool has_tail; /* the last field is one */
    uint32_t tail_offset;
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
