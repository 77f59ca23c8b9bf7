/* SPDX-License-Identifier: Apache-2.0 */
/* A message's payload from words of a person: the struct's body as its author wrote it gives the
 * layout, words like amount=3 fill it.
 *
 * Owned by its caller, no global state. The text comes from a plugin or a client by way of the
 * service: it is read as untrusted input.
 *
 * P1  Layout is that of C with natural alignment on LP64 (x86-64, AArch64); what that does not
 *     cover (pointers, nested structs, bit fields, packing) is refused by name, never guessed.
 * P2  A layout whose size is not the one the message is registered with fills nothing.
 * P3  Offsets and sizes never exceed PAYLOAD_BYTES_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAYLOAD_BYTES_MAX = 32768, /* as <odeon/plugin.h> says for send */
    PAYLOAD_FIELDS_MAX = 128,
    PAYLOAD_NAME_MAX = 63,
    PAYLOAD_ERROR_TEXT = 512,
};

enum payload_kind {
    PAYLOAD_SIGNED,
    PAYLOAD_UNSIGNED,
    PAYLOAD_FLOAT,
    PAYLOAD_BOOL,
    PAYLOAD_CHAR,
    PAYLOAD_REF
};

struct payload_type {
    enum payload_kind kind;
    uint32_t size; /* and alignment */
};

struct payload_field {
    char name[PAYLOAD_NAME_MAX + 1];
    struct payload_type type;
    uint32_t offset;
    uint32_t count; /* elements of an array; 1 for a single value; 0 for a tail */
    bool array;     /* declared with brackets, a tail included */
};

struct payload_layout {
    size_t n;
    struct payload_field *fields;
    uint32_t size; /* of the struct */
    bool has_tail; /* the last field is one */
    uint32_t tail_offset;
};

/* `error` gets "WHY. WHAT TO DO" with every negative result of these. */

/* -EINVAL: not understood; -ENOTSUP: understood, but of no use here; -ENOMEM. "" and "{ }" have no
 * fields. */
int payload_layout_parse(const char *text, struct payload_layout **ret,
                         char error[static PAYLOAD_ERROR_TEXT]);
void payload_layout_free(struct payload_layout *layout); /* NULL is fine */

/* Against what the service says of the message. -EBADMSG. */
int payload_layout_check(const struct payload_layout *layout, uint32_t registered_size,
                         bool registered_tail, char error[static PAYLOAD_ERROR_TEXT]);

/* The payload with what each word of the form FIELD=VALUE says, and zero elsewhere; at least
 * `size_min` bytes (what the service takes as the message's size). To be freed with free(), also
 * when *ret_size is 0.
 * -ENOENT: no such field; -EINVAL: bad value; -ERANGE; -EEXIST: named twice; -EMSGSIZE; -ENOMEM. */
int payload_fill(const struct payload_layout *layout, char *const *words, size_t n_words,
                 uint32_t size_min, void **ret_payload, size_t *ret_size,
                 char error[static PAYLOAD_ERROR_TEXT]);

/* "amount (int64_t)"-like list of all fields, for error texts and for people. */
void payload_layout_describe(const struct payload_layout *layout, char *text, size_t size);

/* Bytes from hexadecimal digits, all words one after the other; an even number of digits in each,
 * "0x" before them is allowed. */
int payload_parse_hex(char *const *words, size_t n_words, uint8_t *bytes, size_t bytes_max,
                      size_t *ret_size, char error[static PAYLOAD_ERROR_TEXT]);
