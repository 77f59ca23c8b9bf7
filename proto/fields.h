/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of structs: the body of a struct as its author wrote it, and where its fields lie.
 * Plugins and clients describe messages so, and plugins the arguments that actors are spawned with;
 * libodeon's codec fills and prints what is described, the executor compares it with a size.
 *
 * No state, no allocation, any thread, whatever the locale is. The text may come from anybody: it
 * is read as untrusted input, up to its final NUL. The layout is that of C with natural alignment
 * on LP64; what that cannot express is refused, never guessed.
 *
 * fields.FD1  Offsets and sizes never exceed ODEON_PAYLOAD_MAX.
 * fields.FD2  Only the last field may be a tail, and its offset is a multiple of its element.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIELDS_MAX = 128, FIELD_NAME_MAX = 63 };

/* The same numbers as <odeon/codec.h> has. */
enum field_kind {
    FIELD_SIGNED,
    FIELD_UNSIGNED,
    FIELD_FLOAT,
    FIELD_BOOL,
    FIELD_CHAR,
    FIELD_REF,
};

struct field_type {
    enum field_kind kind;
    uint32_t size; /* and alignment */
};

struct field {
    char name[FIELD_NAME_MAX + 1];
    struct field_type type;
    uint32_t offset;
    uint32_t count; /* elements of an array; 1 for a single value; 0 for a tail */
    bool array;     /* declared with brackets, a tail included */
};

struct fields {
    size_t n;
    uint32_t size; /* of the struct */
    bool has_tail; /* the last field is one */
    uint32_t tail_offset;
    struct field field[FIELDS_MAX];
};

/* Why a description is of no use, as half a sentence, and what its author can do. */
struct fields_problem {
    char why[192];
    const char *remedy;
};

/* "" and "{ }" have no fields. -EINVAL: not understood; -ENOTSUP: understood, and of no use here;
 * *problem is filled in then. */
int fields_parse(const char *text, struct fields *ret, struct fields_problem *problem);
