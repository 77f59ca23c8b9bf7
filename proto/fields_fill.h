/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a struct from words like amount=3, by the description of its fields (fields.h): for
 * libodeon's codec, and for the executor, which makes the actors that odeond.conf names.
 *
 * No state, any thread, whatever the locale is. Words are untrusted input. Numbers are decimal or
 * 0x and hexadecimal, references EXECUTOR.SLOT.GENERATION, texts as they are, arrays with commas.
 *
 * fields_fill.FF1  Nothing is written beyond ODEON_PAYLOAD_MAX bytes, whatever the words say.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fields.h"

enum { FIELDS_FILL_TEXT_MAX = 2048 };

/* Into `bytes`, ODEON_PAYLOAD_MAX zeroes; *size: at least so many, and as many as they are. 0, or
 * with "WHY. WHAT TO DO" in `text` (FIELDS_FILL_TEXT_MAX): -ENOENT: no such field; -EINVAL: bad
 * value; -ERANGE; -EEXIST: named twice; -EMSGSIZE: more than a message holds. */
int fields_fill(const struct fields *fields, char *const *words, size_t n_words, void *bytes,
                size_t *size, char *text);
/* "amount (int64_t), name (char[16])", cut to `size` bytes with the final NUL. */
void fields_describe(const struct fields *fields, char *text, size_t size);
/* EXECUTOR.SLOT.GENERATION, or without the first part.  0 or -EINVAL. */
int fields_parse_ref(const char *text, uint64_t *ret_ref);
