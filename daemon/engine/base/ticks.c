/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/base/ticks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

_Atomic uint64_t ticks_rate;

/* What cannot be a rate (from 1 MHz to 16 GHz) is none. */
static uint64_t ticks_rate_of(uint64_t ticks, uint64_t ns)
{
    if (ns == 0 || ticks < ns / 1000 || ticks / 16 > ns)
        return 0;
    return (ticks << 10) / ns > 0 ? (ticks << 10) / ns : 1;
}

uint64_t ticks_rate_seen(uint64_t rate, uint64_t ticks, uint64_t ns)
{
    uint64_t seen = ticks_rate_of(ticks, ns), differs = seen > rate ? seen - rate : rate - seen;
    return differs > rate / 64 ? seen : rate;
}

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(ODEON_SIMULATE)

enum { CALIBRATE_NS = 200 * 1000, CALIBRATE_LOOKS = 1 << 20, MOMENT_LOOKS = 8 };
static const uint64_t CHECK_NS = UINT64_C(1000000000);
/* nobody was busy for longer: the ticks of a month would not fit */
static const uint64_t CHECK_NS_MOST = UINT64_C(60000000000);

/* What both clocks said at once. */
struct ticks_moment {
    uint64_t ns, ticks;
};

/* Of the control thread. */
static struct {
    bool may_change; /* the rate */
    uint64_t rate;   /* as it was found last */
    struct ticks_moment then;
} ticks_known;

#if defined(__x86_64__)
/* The processor says that the register counts at one rate, whatever it does. */
static bool ticks_are_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
}
#endif

/* The kernel has found the register steady if it tells the time by it: by itself, or with what the
 * machine below says of it. The latter may be another machine one day. */
static bool ticks_are_steady(bool *ret_may_change)
{
    *ret_may_change = false;
#if defined(__aarch64__)
    return true; /* the architecture's own clock */
#else
    static const char *const below[] = { "kvm-clock", "hyperv_clocksource_tsc_page" };
    char name[40] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f)
        return false;
    bool read = fgets(name, sizeof(name), f) != NULL;
    fclose(f);
    if (read && strncmp(name, "tsc", 3) == 0)
        return true;
    for (unsigned i = 0; read && i < sizeof(below) / sizeof(below[0]); i++)
        *ret_may_change |= strncmp(name, below[i], strlen(below[i])) == 0;
    return *ret_may_change && ticks_are_invariant();
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

/* A thread may lose its processor between its looks at the two clocks. So the register is read on
 * both sides of the kernel's clock, some times, and the look between the closest two counts. */
static struct ticks_moment ticks_moment_now(void)
{
    struct ticks_moment best = { 0 };
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < MOMENT_LOOKS; i++) {
        uint64_t before = ticks_register(), ns = clock_now_ns(), apart = ticks_register() - before;
        if (apart < closest) {
            closest = apart;
            best = (struct ticks_moment){ .ns = ns, .ticks = before + apart / 2 };
        }
    }
    return best;
}

void ticks_calibrate(void)
{
    bool may_change;
    if (load_relaxed(&ticks_rate) || !ticks_are_steady(&may_change))
        return;
    struct ticks_moment from = ticks_moment_now();
    for (int i = 0; i < CALIBRATE_LOOKS && clock_now_ns() - from.ns < CALIBRATE_NS; i++)
        ;
    struct ticks_moment to = ticks_moment_now();
    if (to.ns - from.ns < CALIBRATE_NS)
        return; /* it stands still */
    ticks_known.may_change = may_change;
    ticks_known.rate = ticks_rate_of(to.ticks - from.ticks, to.ns - from.ns);
    ticks_known.then = to;
    store_relaxed(&ticks_rate, ticks_known.rate);
}

void ticks_check(uint64_t now_ns)
{
    uint64_t rate = load_relaxed(&ticks_rate);
    if (!ticks_known.may_change || rate == 0 || rate != ticks_known.rate ||
        now_ns - ticks_known.then.ns < CHECK_NS)
        return;
    struct ticks_moment now = ticks_moment_now();
    uint64_t ns = now.ns - ticks_known.then.ns;
    if (ns <= CHECK_NS_MOST)
        rate = ticks_rate_seen(rate, now.ticks - ticks_known.then.ticks, ns);
    ticks_known.rate = rate;
    ticks_known.then = now;
    store_relaxed(&ticks_rate, rate);
}

#else

void ticks_calibrate(void)
{
}

void ticks_check(uint64_t now_ns)
{
    (void)now_ns;
}

#endif
