/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the filter bank share: messages, and what a stage of a pipeline is. */
#ifndef FILTERBANK_H
#define FILTERBANK_H

#include "program.h"

ODEON_ARGUMENTS(filterbank_args, {
    uint32_t sim;
    uint32_t col;
    uint32_t chan;
});

ODEON_SIGNAL(filterbank_start, 1);
ODEON_SIGNAL(filterbank_next, 1);
ODEON_SIGNAL(filterbank_boot, 1);
ODEON_SIGNAL(filterbank_exit, 1);
ODEON_MESSAGE(filterbank_value, 1, { double value; });
ODEON_MESSAGE(filterbank_of_bank, 1, {
    uint64_t bank;
    double value;
});
ODEON_MESSAGE_TAIL(filterbank_row, 1, values, {
    uint64_t number;
    double values[];
});
ODEON_INTERFACE(filterbank_producer, filterbank_next);
ODEON_INTERFACE(filterbank_source, filterbank_start, filterbank_boot, filterbank_exit);
ODEON_INTERFACE(filterbank_branches, filterbank_value, filterbank_exit);
ODEON_INTERFACE(filterbank_stage, filterbank_value, filterbank_exit);
ODEON_INTERFACE(filterbank_integrator, filterbank_of_bank, filterbank_exit);
ODEON_INTERFACE(filterbank_combiner, filterbank_row, filterbank_exit);
ODEON_INTERFACE(filterbank_sink, filterbank_value, filterbank_exit);

/* What comes out of all banks together, added up, by loops: filterbank_sums.c. */
double filterbank_alone(const struct filterbank_args *args);

struct filterbank_end_args {
    odeon_ref next;
    struct filterbank_args args;
};

enum filterbank_kind { FILTERBANK_DELAY, FILTERBANK_FIR, FILTERBANK_SAMPLE, FILTERBANK_TAG };

struct filterbank_stage_args {
    odeon_ref next; /* a stage, or the integrator */
    struct filterbank_args args;
    uint32_t kind, bank, second; /* 1: of the second filter */
};

/* Of the first filter of bank j, and of the second one. */
static inline double filterbank_coefficient(const struct filterbank_args *args, bool second,
                                            uint64_t j, uint64_t i)
{
    return second ? (double)(i * j + j * j + j + i)
                  : (double)(i * args->col + j * args->chan + j + i + j + 1);
}

#endif
