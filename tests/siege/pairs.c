/* SPDX-License-Identifier: Apache-2.0 */
/* See pairs.h. */
#include "tests/siege/pairs.h"

#include <stdio.h>
#include <string.h>

#include "tests/system/harness.h"

void pairs_add(struct pairs *pairs, double first, double second)
{
    pairs->first[pairs->n] = first;
    pairs->second[pairs->n++] = second;
}

/* Sorted by the median. */
static double ratios(const struct pairs *pairs, double *ret_ratios)
{
    for (int i = 0; i < pairs->n; i++)
        ret_ratios[i] = pairs->first[i] / pairs->second[i];
    return median_of(ret_ratios, pairs->n);
}

double pairs_ratio(const struct pairs *pairs)
{
    double all[PAIRS_MAX];

    return ratios(pairs, all);
}

void pairs_print(const struct pairs *pairs, const char *first, const char *second)
{
    struct pairs copy = *pairs;
    double all[PAIRS_MAX], ratio = ratios(pairs, all), a = median_of(copy.first, copy.n),
                           b = median_of(copy.second, copy.n);

    printf("# bench=siege_compared what=%s beside=%s pairs=%d p99_us=%.0f beside_p99_us=%.0f "
           "ratio=%.2f ratio_lowest=%.2f ratio_lower_quartile=%.2f ratio_upper_quartile=%.2f "
           "ratio_highest=%.2f ratio_of_medians=%.2f\n",
           first, second, pairs->n, a, b, ratio, all[0], all[pairs->n / 4],
           all[pairs->n - 1 - pairs->n / 4], all[pairs->n - 1], a / b);
    fflush(stdout);
}
