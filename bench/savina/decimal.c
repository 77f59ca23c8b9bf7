/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with many decimals. */
#include "decimal.h"

#include <stdlib.h>

struct decimal_one *decimal_make_one(uint32_t p)
{
    uint32_t n = p * 104 / 1000 + 4;
    struct decimal_one *one = calloc(1, sizeof(*one) + n * sizeof(uint32_t));
    if (one == NULL)
        return NULL;
    one->n = n;
    one->limbs[0] = 1;
    for (uint32_t i = 0; i < p; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < n; j++) {
            carry += (uint64_t)one->limbs[j] * 10;
            one->limbs[j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return one;
}

void decimal_add(uint32_t *a, const uint32_t *b, uint32_t n, bool minus)
{
    int64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        carry += (int64_t)a[i] + (minus ? -(int64_t)b[i] : (int64_t)b[i]);
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void decimal_increment(uint32_t *a)
{
    while (++*a == 0)
        a++;
}

void decimal_divide(uint32_t *a, const struct decimal_one *one, uint32_t factor, uint64_t d)
{
    uint64_t rest = 0, carry = 0;
    for (uint32_t i = 0; i < one->n; i++) {
        carry += (uint64_t)one->limbs[i] * factor;
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
    for (uint32_t i = one->n; i-- > 0;) {
        rest = rest << 32 | a[i];
        a[i] = (uint32_t)(rest / d);
        rest %= d;
    }
    if (2 * rest > d || (2 * rest == d && a[0] % 2 != 0))
        decimal_increment(a);
}

void decimal_shift(uint32_t *a, uint32_t n, uint64_t bits)
{
    uint64_t limbs = bits / 32, below = bits % 32;
    bool half = false, more = false; /* the highest bit that goes; any other one */
    if (bits > 0 && (bits - 1) / 32 < n) {
        uint64_t at = (bits - 1) / 32, bit = (bits - 1) % 32;
        half = (a[at] >> bit & 1) != 0;
        more = (a[at] & ((UINT32_C(1) << bit) - 1)) != 0;
        for (uint64_t i = 0; i < at && !more; i++)
            more = a[i] != 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t low = i + limbs < n ? a[i + limbs] : 0;
        uint64_t high = i + limbs + 1 < n ? a[i + limbs + 1] : 0;
        a[i] = (uint32_t)((high << 32 | low) >> below);
    }
    if (half && (more || a[0] % 2 != 0))
        decimal_increment(a);
}

bool decimal_is_last(const uint32_t *a, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (a[i] != 0)
            return false;
    return a[0] <= 1;
}

int64_t decimal_end(const uint32_t *a, uint32_t n)
{
    uint64_t rest = 0;
    for (uint32_t i = n; i-- > 0;)
        for (uint32_t bit = 32; bit-- > 0;)
            rest = (rest * 2 + (a[i] >> bit & 1)) % 1000000000000u;
    return (int64_t)rest;
}
