/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with p decimals, for piprecision.c: integers scaled by 10^p, of so many limbs of 32 bits,
 * least first. All roundings are to the nearest, halves to even. Any thread. */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

enum { DECIMAL_DIGITS_MAX = 50000 };
/* 3.33 bits a digit, and room for a few more */
enum { DECIMAL_LIMBS_MAX = DECIMAL_DIGITS_MAX / 1000 * 104 + 4 };

struct decimal_one {
    uint32_t n;       /* limbs of all numbers */
    uint32_t limbs[]; /* 10^p */
};

/* NULL: no memory; free() it. */
struct decimal_one *decimal_make_one(uint32_t p);
/* a += b, or a -= b */
void decimal_add(uint32_t *a, const uint32_t *b, uint32_t n, bool minus);
/* a = factor 10^p / d, rounded */
void decimal_divide(uint32_t *a, const struct decimal_one *one, uint32_t factor, uint64_t d);
/* a / 2^bits, rounded */
void decimal_shift(uint32_t *a, uint32_t n, uint64_t bits);
/* At most 10^-p: too small to count. */
bool decimal_is_last(const uint32_t *a, uint32_t n);
/* The last twelve digits, which have the errors of all roundings in them. */
int64_t decimal_end(const uint32_t *a, uint32_t n);

#endif
