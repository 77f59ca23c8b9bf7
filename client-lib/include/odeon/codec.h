/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads and references as text: what a message's `fields` say, filled from words like amount=3,
 * and printed for people or as JSON. For tools, bridges and bindings that know a message type only
 * at run time (odeon_message_find() tells its fields and size; for what an actor type is spawned
 * with, odeon_type_list() does).
 *
 * Nothing here asks the service. Threads: any; a layout is not changed once it is made, and may be
 * shared. No call blocks, and none depends on the locale. Ownership: what a call gives out belongs
 * to the caller, and is freed by the function that is named with it. Errors: 0, or a negative errno
 * with "WHY. WHAT TO DO" in odeon_error_text(); whatever is given back is left alone then.
 *
 * `fields`, words and payloads may come from anybody: they are read as untrusted input. A layout is
 * that of C with natural alignment on LP64 (x86-64, AArch64): integers, floats, bool, characters,
 * references and arrays of them, one level deep. Pointers, structs within, bit fields and packing
 * are refused by name, never guessed. Sizes are in bytes; numbers in a payload are little-endian.
 */
#ifndef ODEON_CODEC_H
#define ODEON_CODEC_H

#include <odeon/client.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ODEON_LAYOUT_FIELDS_MAX = 128,
    ODEON_LAYOUT_NAME_MAX = 63,
    ODEON_PAYLOAD_BYTES_MAX = 32768,
    /* what odeon_payload_print() can come to, the final NUL included */
    ODEON_PAYLOAD_TEXT_MAX = 1 << 19,
    ODEON_REF_TEXT = 40, /* room for a reference as text */
};

/* ---- layouts */

/* Where the fields of a message lie. */
struct odeon_layout;

enum odeon_field_kind {
    ODEON_FIELD_SIGNED,
    ODEON_FIELD_UNSIGNED,
    ODEON_FIELD_FLOAT,
    ODEON_FIELD_BOOL,
    ODEON_FIELD_CHAR,
    ODEON_FIELD_REF,
};

struct odeon_field {
    uint32_t struct_size; /* set it to sizeof before the call */
    uint32_t kind;        /* enum odeon_field_kind */
    uint32_t size;        /* of one element */
    uint32_t offset;
    uint32_t count;    /* elements of an array; 1: a single value; 0: a tail */
    uint32_t is_array; /* 1: declared with brackets, a tail included */
    const char *name;  /* the layout's */
};

/* From the body of a struct as its author wrote it; "" and "{ }" have no fields. -EINVAL: not
 * understood; -ENOTSUP: understood, and of no use here; -ENOMEM. */
ODEON_API int odeon_layout_parse(const char *fields, struct odeon_layout **ret_layout);
/* NULL is fine.  Returns NULL. */
ODEON_API struct odeon_layout *odeon_layout_free(struct odeon_layout *layout);
/* Against what the service says of the message (struct odeon_message_info). -EBADMSG: the type is
 * packed, or aligned otherwise. */
ODEON_API int odeon_layout_check(const struct odeon_layout *layout, uint32_t size, int has_tail);
ODEON_API size_t odeon_layout_n(const struct odeon_layout *layout);    /* fields */
ODEON_API size_t odeon_layout_size(const struct odeon_layout *layout); /* of the struct */
/* -EINVAL: struct_size is not set; -ENOENT: no such index. */
ODEON_API int odeon_layout_field(const struct odeon_layout *layout, size_t index,
                                 struct odeon_field *ret_field);
/* "amount (int64_t), name (char[16])", cut to `size` bytes with the final NUL. */
ODEON_API void odeon_layout_describe(const struct odeon_layout *layout, char *text, size_t size);

/* ---- payloads */

/* The payload with what each word of the form FIELD=VALUE says, and zero elsewhere; at least
 * `size_min` bytes: what the message type is registered with. Numbers are decimal or 0x and
 * hexadecimal, references as odeon_ref_format(), texts as they are, arrays with commas. Free
 * it with odeon_payload_free(), also when *ret_size is 0. -ENOENT: no such field; -EINVAL: bad
 * value; -ERANGE; -EEXIST: named twice; -EMSGSIZE: more than a message holds; -ENOMEM. */
ODEON_API int odeon_payload_fill(const struct odeon_layout *layout, char *const *words,
                                 size_t n_words, uint32_t size_min, void **ret_payload,
                                 size_t *ret_size);
enum odeon_payload_form {
    /* amount=3 name=total list=1,2: one line of printable ASCII. A text that is more than letters,
     * digits and "_-.,:/@%+" stands in double quotes, with \" \\ and \xNN in it. */
    ODEON_PAYLOAD_WORDS,
    /* "amount":3,"name":"total","list":[1,2]: the members of an object, without its braces.
     * References and characters are strings; bytes that are no UTF-8 become U+FFFD; what JSON has
     * no number for is null. */
    ODEON_PAYLOAD_JSON,
};
/* All fields of a payload as text; zeros at the end of a char array are no part of it. Free the
 * text with odeon_payload_free(). -EBADMSG: the payload's size is not the layout's; -EINVAL: no
 * such form; -EMSGSIZE: more than ODEON_PAYLOAD_BYTES_MAX; -ENOMEM. */
ODEON_API int odeon_payload_print(const struct odeon_layout *layout, const void *payload,
                                  size_t size, enum odeon_payload_form form, char **ret_text);
ODEON_API void odeon_payload_free(void *payload); /* a payload or a text; NULL is fine */
/* Bytes from hexadecimal digits, all words one after the other; an even number of digits in each,
 * "0x" before them is allowed. -EINVAL; -E2BIG: more than `bytes_max`. */
ODEON_API int odeon_payload_parse_hex(char *const *words, size_t n_words, void *bytes,
                                      size_t bytes_max, size_t *ret_size);

/* ---- references and strings */

/* EXECUTOR.SLOT.GENERATION, all decimal. Returns `text`. */
ODEON_API char *odeon_ref_format(odeon_ref ref, char text[ODEON_REF_TEXT]);
/* -EINVAL: does not look like one. */
ODEON_API int odeon_ref_parse(const char *text, odeon_ref *ret_ref);
/* A JSON string, quotes included, of any bytes: valid UTF-8, and nothing in it that a terminal acts
 * on. At most 6 characters a byte, and 3. Free it with odeon_payload_free(). -ENOMEM. */
ODEON_API int odeon_text_quote_json(const void *bytes, size_t n, char **ret_text);

#ifdef __cplusplus
}
#endif

#endif
