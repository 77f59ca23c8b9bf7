/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a struct from the text of its body (<odeon/codec.h>; proto/fields.h reads it). */
#include "client-lib/src/payload.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "client-lib/src/error.h"
#include "proto/bounds.h"

static_assert(ODEON_LAYOUT_FIELDS_MAX == (int)FIELDS_MAX &&
                  ODEON_LAYOUT_NAME_MAX == (int)FIELD_NAME_MAX &&
                  ODEON_PAYLOAD_BYTES_MAX == (int)ODEON_PAYLOAD_MAX,
              "bounds of layouts");
static_assert(ODEON_FIELD_SIGNED == (int)FIELD_SIGNED &&
                  ODEON_FIELD_UNSIGNED == (int)FIELD_UNSIGNED &&
                  ODEON_FIELD_FLOAT == (int)FIELD_FLOAT && ODEON_FIELD_BOOL == (int)FIELD_BOOL &&
                  ODEON_FIELD_CHAR == (int)FIELD_CHAR && ODEON_FIELD_REF == (int)FIELD_REF,
              "kinds of fields");

int odeon_layout_parse(const char *fields, struct odeon_layout **ret_layout)
{
    struct fields_problem problem;
    struct odeon_layout *layout;
    int r;

    if (!fields || !ret_layout)
        return error_set_literal(-EINVAL, "odeon_layout_parse: no fields, or no place for the "
                                          "layout. Give both");
    layout = calloc(1, sizeof(*layout));
    if (!layout)
        return error_set_literal(-ENOMEM, "no memory. Free memory and try again");
    r = fields_parse(fields, &layout->list, &problem);
    if (r) {
        odeon_layout_free(layout);
        return error_set(r, "%s. %s", problem.why, problem.remedy);
    }
    *ret_layout = layout;
    return 0;
}

struct odeon_layout *odeon_layout_free(struct odeon_layout *layout)
{
    free(layout);
    return NULL;
}

int odeon_layout_check(const struct odeon_layout *layout, uint32_t size, int has_tail)
{
    if (!layout)
        return error_set_literal(-EINVAL, "odeon_layout_check: no layout was given. Parse one");
    if (layout->list.has_tail != (has_tail != 0))
        return error_set(
            -EBADMSG, "its fields %s a tail, but it is registered %s one. Send it from a program",
            layout->list.has_tail ? "end in" : "do not end in", has_tail ? "with" : "without");
    /* a message with a tail may be registered with the bytes before its tail, or with the struct's,
     * padding included */
    if (size == layout->list.size || (layout->list.has_tail && size == layout->list.tail_offset))
        return 0;
    return error_set(
        -EBADMSG,
        "its fields have %u bytes as laid out here, but it is registered with %u. It may be "
        "packed or aligned otherwise; send it from a program",
        layout->list.size, size);
}

size_t odeon_layout_n(const struct odeon_layout *layout)
{
    return layout ? layout->list.n : 0;
}

size_t odeon_layout_size(const struct odeon_layout *layout)
{
    return layout ? layout->list.size : 0;
}

int odeon_layout_field(const struct odeon_layout *layout, size_t index,
                       struct odeon_field *ret_field)
{
    const struct field *f;

    if (!ret_field || ret_field->struct_size < sizeof(*ret_field))
        return error_set(-EINVAL,
                         "odeon_layout_field: struct_size is %u. Set it to sizeof (struct "
                         "odeon_field)",
                         ret_field ? ret_field->struct_size : 0);
    if (index >= odeon_layout_n(layout))
        return error_set(-ENOENT, "there is no field %zu: the layout has %zu. Count from 0", index,
                         odeon_layout_n(layout));
    f = &layout->list.field[index];
    *ret_field = (struct odeon_field){
        .struct_size = sizeof(*ret_field),
        .kind = f->type.kind,
        .size = f->type.size,
        .offset = f->offset,
        .count = f->count,
        .is_array = f->array,
        .name = f->name,
    };
    return 0;
}
