/* SPDX-License-Identifier: Apache-2.0 */
/* The suite's portable generator of numbers, LCG16, and work without a purpose. */
#ifndef LCG_H
#define LCG_H

#include <math.h>
#include <stdint.h>

#define LCG_SEED 74755u /* where the definition says no other */

struct lcg {
    uint64_t v;
};

static inline uint32_t lcg_next(struct lcg *lcg)
{
    lcg->v = (lcg->v * 1309 + 13849) & 65535;
    return (uint32_t)lcg->v;
}

static inline uint32_t lcg_int(struct lcg *lcg, uint32_t below)
{
    return lcg_next(lcg) % below;
}

/* Above 0, up to 1, and most of the time near 0. */
static inline double lcg_double(struct lcg *lcg)
{
    return 1.0 / (lcg_next(lcg) + 1);
}

/* So many steps of a generator, whose result nobody wants. */
static inline void lcg_busy(uint64_t steps)
{
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    __asm__ volatile("" : : "r"(x));
}

/* The square of a sine; false if it is not what squares are. */
static inline int lcg_compute(void)
{
    double x = 37.2;
    __asm__ volatile("" : "+x"(x));
    double s = sin(x), r = s * s;
    return r > 0;
}

#endif
