/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for people (figure.h). */
#include "client-lib/ctl/top/figure.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct figure figure_rate(double rate)
{
    static const char units[] = " kMGT";
    struct figure t;
    size_t unit = 0;

    while (rate >= 1000 && unit + 2 < sizeof(units)) {
        rate /= 1000;
        unit++;
    }
    snprintf(t.text, sizeof(t.text),
             rate >= 100 || rate == 0 ? "%.0f"
             : rate >= 10             ? "%.1f"
                                      : "%.2f",
             rate);
    if (unit)
        strncat(t.text, (char[]){ ' ', units[unit], '\0' }, sizeof(t.text) - strlen(t.text) - 1);
    return t;
}

struct figure figure_time(uint64_t ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    double time = (double)ns;
    struct figure t;
    size_t unit = 0;

    while (time >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        time /= 1000;
        unit++;
    }
    snprintf(t.text, sizeof(t.text),
             time >= 100  ? "%.0f %s"
             : time >= 10 ? "%.1f %s"
                          : "%.2f %s",
             time, units[unit]);
    return t;
}

struct figure figure_share(double share)
{
    struct figure t;

    snprintf(t.text, sizeof(t.text), "%.1f %%", share * 100);
    return t;
}
