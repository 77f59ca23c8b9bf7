/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/base/ticks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

uint64_t ticks_rate;

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(ODEON_SIMULATE)

enum { CALIBRATE_NS = 200 * 1000, CALIBRATE_LOOKS = 1 << 20 };

/* The kernel has found the register steady if it tells the time by it. */
static bool ticks_are_steady(void)
{
#if defined(__aarch64__)
    return true; /* the architecture's own clock */
#else
    char name[32] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f)
        return false;
    bool read = fgets(name, sizeof(name), f) != NULL;
    fclose(f);
    return read && strncmp(name, "tsc", 3) == 0;
#endif
}

static uint64_t ticks_register(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#endif
}

void ticks_calibrate(void)
{
    if (ticks_rate || !ticks_are_steady())
        return;
    uint64_t from_ns = clock_now_ns(), from = ticks_register(), ns = 0;
    for (int i = 0; i < CALIBRATE_LOOKS && ns < CALIBRATE_NS; i++)
        ns = clock_now_ns() - from_ns;
    uint64_t ticks = ticks_register() - from;
    if (ns < CALIBRATE_NS)
        return; /* it stands still */
    /* what cannot be a rate (from 1 MHz to 16 GHz) is none */
    if (ticks >= ns / 1000 && ticks <= ns * 16)
        ticks_rate = (ticks << 10) / ns > 0 ? (ticks << 10) / ns : 1;
}

#else

void ticks_calibrate(void)
{
}

#endif
