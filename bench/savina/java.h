/* SPDX-License-Identifier: Apache-2.0 */
/* The generator of numbers that the suite takes from its first language: 48 bits, linear. */
#ifndef JAVA_H
#define JAVA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct java {
    uint64_t s;
    double kept; /* the second number of a pair */
    bool has_kept;
};

static inline void java_seed(struct java *java, uint64_t seed)
{
    *java = (struct java){ .s = (seed ^ 0x5DEECE66Du) & ((UINT64_C(1) << 48) - 1) };
}

static inline int32_t java_bits(struct java *java, uint32_t bits)
{
    java->s = (java->s * 0x5DEECE66Du + 0xB) & ((UINT64_C(1) << 48) - 1);
    return (int32_t)(java->s >> (48 - bits));
}

static inline int32_t java_int(struct java *java)
{
    return java_bits(java, 32);
}

static inline int32_t java_below(struct java *java, int32_t n)
{
    int32_t bits, value;
    if ((n & -n) == n)
        return (int32_t)(((int64_t)n * java_bits(java, 31)) >> 31);
    do {
        bits = java_bits(java, 31);
        value = bits % n;
    } while ((int64_t)bits - value + (n - 1) > INT32_MAX);
    return value;
}

static inline bool java_bool(struct java *java)
{
    return java_bits(java, 1) != 0;
}

static inline double java_double(struct java *java)
{
    int64_t high = (int64_t)java_bits(java, 26) << 27;
    return (double)(high + java_bits(java, 27)) / (double)(UINT64_C(1) << 53);
}

/* Of mean 0 and deviation 1, two at a time. */
static inline double java_gaussian(struct java *java)
{
    double a, b, q;
    if (java->has_kept) {
        java->has_kept = false;
        return java->kept;
    }
    do {
        a = 2 * java_double(java) - 1;
        b = 2 * java_double(java) - 1;
        q = a * a + b * b;
    } while (q >= 1 || q == 0);
    double m = sqrt(-2 * log(q) / q);
    java->kept = b * m;
    java->has_kept = true;
    return a * m;
}

#endif
